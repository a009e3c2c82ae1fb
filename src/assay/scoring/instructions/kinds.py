"""The 24 kinds of IFEval instructions other than the response language, which is in `language.py`."""

from __future__ import annotations

import json
import re
from typing import Annotated, ClassVar

import msgspec

from assay.scoring.instructions.instruction import Count, Instruction, Relation, Text, compare_count
from assay.scoring.instructions.language import (
    count_capital_words,
    count_words,
    detect_language,
    split_sentences,
)

_STAR_BULLET = re.compile(r"\s*\*[^*]")
_DASH_BULLET = re.compile(r"\s*-")
_HIGHLIGHT = re.compile(r"\*([^*\n]*)\*")
_DOUBLE_HIGHLIGHT = re.compile(r"\*\*([^*\n]*)\*\*")
_FENCE = re.compile(r"\A```(?:json|Json|JSON)?|```\Z")
_FIXED_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


class BulletList(Instruction, frozen=True):
    """Write exactly `num_bullets` bullet points: lines that start with `-`, or with one `*` and some text.

    A line of dashes counts as a bullet point, as in the reference; a line that starts with `**` does not. A
    lone asterisk on a line does not count here; in the reference it counts and takes the next line with it.
    """

    id: ClassVar[str] = "detectable_format:number_bullet_lists"
    num_bullets: Count

    def is_followed(self, response: str) -> bool:
        """Whether the number of bullet points is correct."""
        lines = response.split("\n")
        return sum(1 for line in lines if _is_bullet(line)) == self.num_bullets


class ConstrainedResponse(Instruction, frozen=True):
    """Answer with one of three sentences: "My answer is yes.", "... no.", "... maybe."."""

    id: ClassVar[str] = "detectable_format:constrained_response"

    def is_followed(self, response: str) -> bool:
        """Whether the response contains one of the sentences; other text around it is allowed."""
        return any(answer in response for answer in _FIXED_ANSWERS)


class HighlightedSections(Instruction, frozen=True):
    """Highlight at least `num_highlights` parts with markdown, `*part*` or `**part**`."""

    id: ClassVar[str] = "detectable_format:number_highlighted_sections"
    num_highlights: Count

    def is_followed(self, response: str) -> bool:
        """Whether enough highlighted parts contain text.

        The two kinds are counted separately, so `***part***` counts twice, as in the reference.
        """
        parts = _HIGHLIGHT.findall(response) + _DOUBLE_HIGHLIGHT.findall(response)
        return sum(1 for part in parts if part.strip()) >= self.num_highlights


class Sections(Instruction, frozen=True):
    """Write at least `num_sections` sections, each starting with a word and a number, such as `Section 1`."""

    id: ClassVar[str] = "detectable_format:multiple_sections"
    section_splitter: Text = msgspec.field(name="section_spliter")
    num_sections: Count

    def is_followed(self, response: str) -> bool:
        """Whether there are enough section headings, with any numbers."""
        heading = re.compile(re.escape(self.section_splitter.strip()) + r"\s?\d")
        return len(heading.findall(response)) >= self.num_sections


class JsonFormat(Instruction, frozen=True):
    """Write the whole response as JSON. A code fence around it is allowed; a bare number is JSON too."""

    id: ClassVar[str] = "detectable_format:json_format"

    def is_followed(self, response: str) -> bool:
        """Whether the response parses as JSON."""
        try:
            json.loads(_FENCE.sub("", response.strip()))
        except (ValueError, RecursionError):  # too many nested brackets
            return False
        return True


class Title(Instruction, frozen=True):
    """Give a title in double angular brackets, `<<title>>`."""

    id: ClassVar[str] = "detectable_format:title"

    def is_followed(self, response: str) -> bool:
        """Whether such brackets occur on one line and contain more than brackets and white space."""
        return any(_has_title(line) for line in response.split("\n"))


def _is_bullet(line: str) -> bool:
    return bool(_STAR_BULLET.match(line) or _DASH_BULLET.match(line))


def _has_title(line: str) -> bool:
    start, end = line.find("<<"), line.rfind(">>")
    return 0 <= start < end and bool(line[start:end].lstrip("<").rstrip(">").strip())


class CapitalWordFrequency(Instruction, frozen=True):
    """Use at least, or less than, `capital_frequency` words in all capitals."""

    id: ClassVar[str] = "change_case:capital_word_frequency"
    capital_frequency: Count
    capital_relation: Relation

    def is_followed(self, response: str) -> bool:
        """Whether the number of words in all capitals is correct."""
        return compare_count(count_capital_words(response), self.capital_relation, self.capital_frequency)


class AllCapitals(Instruction, frozen=True):
    """Write in English, in capital letters only."""

    id: ClassVar[str] = "change_case:english_capital"

    def is_followed(self, response: str) -> bool:
        """Whether there is no lowercase letter and the language is English."""
        return response.isupper() and detect_language(response) in ("en", None)


class AllLowercase(Instruction, frozen=True):
    """Write in English, in lowercase letters only."""

    id: ClassVar[str] = "change_case:english_lowercase"

    def is_followed(self, response: str) -> bool:
        """Whether there is no uppercase letter and the language is English."""
        return response.islower() and detect_language(response) in ("en", None)


class TwoResponses(Instruction, frozen=True):
    """Give two different answers, separated by six asterisks."""

    id: ClassVar[str] = "combination:two_responses"

    def is_followed(self, response: str) -> bool:
        """Whether there are two different answers. Asterisks may also surround both."""
        first, *others = (part.strip() for part in response.split("******"))
        if not others:
            return False
        *inner, last = others
        answers = [answer for answer in (first, *inner, last) if answer]
        return all(inner) and len(answers) == 2 and answers[0] != answers[1]


class RepeatPrompt(Instruction, frozen=True):
    """Repeat the request word for word, ignoring case, and then answer it."""

    id: ClassVar[str] = "combination:repeat_prompt"
    prompt_to_repeat: Text

    def is_followed(self, response: str) -> bool:
        """Whether the response starts with the request. An answer after it is not required."""
        return response.strip().lower().startswith(self.prompt_to_repeat.strip().lower())


# Match the innermost pair: `[[name]` gives the same placeholder, and many opening brackets are scanned once.
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]*\]")
# Models put spaces between the letters of these two; any other marker is searched as it is.
_SPACED_MARKERS = {
    "P.S.": re.compile(r"p\.\s?s\.", re.IGNORECASE),
    "P.P.S": re.compile(r"p\.\s?p\.\s?s", re.IGNORECASE),
}


class Placeholders(Instruction, frozen=True):
    """Use at least `num_placeholders` placeholders in square brackets, such as `[address]`."""

    id: ClassVar[str] = "detectable_content:number_placeholders"
    num_placeholders: Count

    def is_followed(self, response: str) -> bool:
        """Whether there are enough pairs of brackets, each on one line."""
        return len(_PLACEHOLDER.findall(response)) >= self.num_placeholders


class Postscript(Instruction, frozen=True):
    """Add a postscript that starts with a marker, ignoring case. It need not be at the end."""

    id: ClassVar[str] = "detectable_content:postscript"
    postscript_marker: Text

    def is_followed(self, response: str) -> bool:
        """Whether the response contains the marker."""
        marker = self.postscript_marker.strip()
        if spaced := _SPACED_MARKERS.get(marker):
            return spaced.search(response) is not None
        return marker.lower() in response.lower()


class EndPhrase(Instruction, frozen=True):
    """End with an exact phrase, ignoring case; double quotes may follow it."""

    id: ClassVar[str] = "startend:end_checker"
    end_phrase: Text

    def is_followed(self, response: str) -> bool:
        """Whether only white space and quotes follow the phrase."""
        return response.strip().strip('"').lower().endswith(self.end_phrase.strip().lower())


class Quotation(Instruction, frozen=True):
    """Wrap the whole response in double quotes; curly quotes do not count."""

    id: ClassVar[str] = "startend:quotation"

    def is_followed(self, response: str) -> bool:
        """Whether the response starts and ends with two separate double quotes."""
        text = response.strip()
        return len(text) > 1 and text[0] == text[-1] == '"'


class NoComma(Instruction, frozen=True):
    """Use no commas. Commas of other scripts are allowed."""

    id: ClassVar[str] = "punctuation:no_comma"

    def is_followed(self, response: str) -> bool:
        """Whether there is no comma."""
        return "," not in response


Words = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
Letter = Annotated[str, msgspec.Meta(min_length=1, max_length=1)]


class KeywordsExist(Instruction, frozen=True):
    """Use each of these keywords, ignoring case; part of a longer word counts."""

    id: ClassVar[str] = "keywords:existence"
    keywords: Words

    def is_followed(self, response: str) -> bool:
        """Whether every keyword occurs."""
        return all(_occurrences(keyword, response) for keyword in self.keywords)


class KeywordFrequency(Instruction, frozen=True):
    """Use a keyword at least, or less than, `frequency` times, ignoring case; parts of words count."""

    id: ClassVar[str] = "keywords:frequency"
    keyword: Text
    frequency: Count
    relation: Relation

    def is_followed(self, response: str) -> bool:
        """Whether the keyword occurs as often as required."""
        return compare_count(_occurrences(self.keyword.strip(), response), self.relation, self.frequency)


class ForbiddenWords(Instruction, frozen=True):
    """Use none of these words, ignoring case; part of a longer word is allowed."""

    id: ClassVar[str] = "keywords:forbidden_words"
    forbidden_words: Words

    def is_followed(self, response: str) -> bool:
        """Whether no forbidden word occurs in the response."""
        return not any(
            re.search(rf"(?<!\w){re.escape(word)}(?!\w)", response, re.IGNORECASE)
            for word in self.forbidden_words
        )


class LetterFrequency(Instruction, frozen=True):
    """Use a letter at least, or less than, `let_frequency` times, ignoring case.

    Any character is counted. For a character other than a to z ("#", "!"), the reference draws a random
    letter and counts that one.
    """

    id: ClassVar[str] = "keywords:letter_frequency"
    letter: Letter
    let_frequency: Count
    let_relation: Relation

    def is_followed(self, response: str) -> bool:
        """Whether the letter occurs as often as required."""
        count = response.lower().count(self.letter.lower())
        return compare_count(count, self.let_relation, self.let_frequency)


def _occurrences(keyword: str, text: str) -> int:
    return len(re.findall(re.escape(keyword), text, re.IGNORECASE))


# Characters that end the first word of a paragraph, in addition to white space.
_FIRST_WORD_END = re.compile(r"""[.,?!'"]""")


class WordCount(Instruction, frozen=True):
    """Write at least, or less than, `num_words` words."""

    id: ClassVar[str] = "length_constraints:number_words"
    num_words: Count
    relation: Relation

    def is_followed(self, response: str) -> bool:
        """Whether the number of words is correct."""
        return compare_count(count_words(response), self.relation, self.num_words)


class SentenceCount(Instruction, frozen=True):
    """Write at least, or less than, `num_sentences` sentences."""

    id: ClassVar[str] = "length_constraints:number_sentences"
    num_sentences: Count
    relation: Relation

    def is_followed(self, response: str) -> bool:
        """Whether the number of sentences is correct."""
        return compare_count(len(split_sentences(response)), self.relation, self.num_sentences)


class ParagraphCount(Instruction, frozen=True):
    """Write exactly `num_paragraphs` paragraphs, separated by the divider `***`.

    A divider at the very start or end separates nothing. Two dividers with nothing between them are an error.
    """

    id: ClassVar[str] = "length_constraints:number_paragraphs"
    num_paragraphs: Count

    def is_followed(self, response: str) -> bool:
        """Whether dividers separate the required number of paragraphs."""
        first, *others = (part.strip() for part in response.split("***"))
        if not others:
            return self.num_paragraphs == 1
        *inner, last = others
        return all(inner) and bool(first) + len(inner) + bool(last) == self.num_paragraphs


class NthParagraphFirstWord(Instruction, frozen=True):
    """Write exactly `num_paragraphs` paragraphs, separated by a blank line; start one with a given word.

    Empty paragraphs are not counted, but they shift the index of the required paragraph, as in the reference:
    after four newlines in a row, the following paragraphs are one position later.
    """

    id: ClassVar[str] = "length_constraints:nth_paragraph_first_word"
    num_paragraphs: Count
    nth_paragraph: Annotated[int, msgspec.Meta(ge=1)]
    first_word: Text

    def is_followed(self, response: str) -> bool:
        """Whether the number of paragraphs is correct and the required one starts with the word."""
        paragraphs = [part.strip() for part in response.split("\n\n")]
        count = sum(1 for paragraph in paragraphs if paragraph)
        if count != self.num_paragraphs or self.nth_paragraph > count:
            return False
        return _first_word(paragraphs[self.nth_paragraph - 1]) == self.first_word.lower()


def _first_word(paragraph: str) -> str:
    """Return the first word in lower case, without quotes before it and punctuation after it."""
    opening = paragraph.split(maxsplit=1)[:1]
    if not opening:
        return ""
    word = opening[0].lstrip("'").lstrip('"')
    return _FIRST_WORD_END.split(word, maxsplit=1)[0].lower()
