"""Instructions about how long a response is: words, sentences, paragraphs."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

import msgspec

from assay.scoring.instructions.instruction import Count, Instruction, Relation, Text, compare_count
from assay.scoring.instructions.sentences import split_sentences
from assay.scoring.instructions.words import count_words

# What ends the first word of a paragraph, beside white space.
_FIRST_WORD_END = re.compile(r"""[.,?!'"]""")


class WordCount(Instruction, frozen=True):
    """Write at least, or less than, so many words."""

    id: ClassVar[str] = "length_constraints:number_words"
    num_words: Count
    relation: Relation

    def is_followed(self, response: str) -> bool:
        """Whether the number of words is as wanted."""
        return compare_count(count_words(response), self.relation, self.num_words)


class SentenceCount(Instruction, frozen=True):
    """Write at least, or less than, so many sentences."""

    id: ClassVar[str] = "length_constraints:number_sentences"
    num_sentences: Count
    relation: Relation

    def is_followed(self, response: str) -> bool:
        """Whether the number of sentences is as wanted."""
        return compare_count(len(split_sentences(response)), self.relation, self.num_sentences)


class ParagraphCount(Instruction, frozen=True):
    """Write exactly so many paragraphs, parted by the divider `***`.

    A divider at the very beginning or end parts nothing. Two dividers with nothing between are a mistake.
    """

    id: ClassVar[str] = "length_constraints:number_paragraphs"
    num_paragraphs: Count

    def is_followed(self, response: str) -> bool:
        """Whether dividers part the wanted number of paragraphs."""
        first, *others = (part.strip() for part in response.split("***"))
        if not others:
            return self.num_paragraphs == 1
        *inner, last = others
        return all(inner) and bool(first) + len(inner) + bool(last) == self.num_paragraphs


class NthParagraphFirstWord(Instruction, frozen=True):
    """Write exactly so many paragraphs, parted by an empty line, and begin one of them with a given word.

    Empty paragraphs are not counted, but they take a place when the wanted one is looked up, as in the
    reference: after four line breaks in a row the next paragraphs each stand one place later.
    """

    id: ClassVar[str] = "length_constraints:nth_paragraph_first_word"
    num_paragraphs: Count
    nth_paragraph: Annotated[int, msgspec.Meta(ge=1)]
    first_word: Text

    def is_followed(self, response: str) -> bool:
        """Whether there are so many paragraphs, and the wanted one begins as wanted."""
        paragraphs = [part.strip() for part in response.split("\n\n")]
        count = sum(1 for paragraph in paragraphs if paragraph)
        if count != self.num_paragraphs or self.nth_paragraph > count:
            return False
        return _first_word(paragraphs[self.nth_paragraph - 1]) == self.first_word.lower()


def _first_word(paragraph: str) -> str:
    """Return the first word in small letters, without quotes before it and marks after it."""
    opening = paragraph.split(maxsplit=1)[:1]
    if not opening:
        return ""
    word = opening[0].lstrip("'").lstrip('"')
    return _FIRST_WORD_END.split(word, maxsplit=1)[0].lower()
