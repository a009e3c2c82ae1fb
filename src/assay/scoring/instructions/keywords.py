"""Instructions about words and letters that must or must not appear.

Words are looked for as they are written. The reference reads them as regular expressions, which is the same
for letters and digits, and a mistake for a word such as "C++".
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

import msgspec

from assay.scoring.instructions.instruction import Count, Instruction, Relation, Text, compare_count

Words = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
Letter = Annotated[str, msgspec.Meta(min_length=1, max_length=1)]


class KeywordsExist(Instruction, frozen=True):
    """Use each of these keywords, in any case; a part of a longer word counts."""

    id: ClassVar[str] = "keywords:existence"
    keywords: Words

    def is_followed(self, response: str) -> bool:
        """Whether every keyword is there."""
        return all(_occurrences(keyword, response) for keyword in self.keywords)


class KeywordFrequency(Instruction, frozen=True):
    """Use a keyword at least, or less than, so many times, in any case; a part of a longer word counts."""

    id: ClassVar[str] = "keywords:frequency"
    keyword: Text
    frequency: Count
    relation: Relation

    def is_followed(self, response: str) -> bool:
        """Whether the keyword is there as often as wanted."""
        return compare_count(_occurrences(self.keyword.strip(), response), self.relation, self.frequency)


class ForbiddenWords(Instruction, frozen=True):
    """Use none of these words, in any case; a part of a longer word is allowed."""

    id: ClassVar[str] = "keywords:forbidden_words"
    forbidden_words: Words

    def is_followed(self, response: str) -> bool:
        """Whether no forbidden word stands in the response."""
        return not any(
            re.search(rf"(?<!\w){re.escape(word)}(?!\w)", response, re.IGNORECASE)
            for word in self.forbidden_words
        )


class LetterFrequency(Instruction, frozen=True):
    """Use a letter at least, or less than, so many times, in any case.

    Any character is counted. For one that is no letter from a to z ("#", "!") the reference draws a letter at
    random and counts that.
    """

    id: ClassVar[str] = "keywords:letter_frequency"
    letter: Letter
    let_frequency: Count
    let_relation: Relation

    def is_followed(self, response: str) -> bool:
        """Whether the letter is there as often as wanted."""
        count = response.lower().count(self.letter.lower())
        return compare_count(count, self.let_relation, self.let_frequency)


def _occurrences(keyword: str, text: str) -> int:
    return len(re.findall(re.escape(keyword), text, re.IGNORECASE))
