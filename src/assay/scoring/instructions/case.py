"""Instructions about capital and small letters."""

from __future__ import annotations

from typing import ClassVar

from assay.scoring.instructions.instruction import Count, Instruction, Relation, compare_count
from assay.scoring.instructions.language import detect_language
from assay.scoring.instructions.words import count_capital_words


class CapitalWordFrequency(Instruction, frozen=True):
    """Use at least, or less than, so many words in capitals."""

    id: ClassVar[str] = "change_case:capital_word_frequency"
    capital_frequency: Count
    capital_relation: Relation

    def is_followed(self, response: str) -> bool:
        """Whether the number of words in capitals is as wanted."""
        return compare_count(count_capital_words(response), self.capital_relation, self.capital_frequency)


class AllCapitals(Instruction, frozen=True):
    """Write in English, and in capital letters only."""

    id: ClassVar[str] = "change_case:english_capital"

    def is_followed(self, response: str) -> bool:
        """Whether no letter is small and the language is English."""
        return response.isupper() and detect_language(response) in ("en", None)


class AllLowercase(Instruction, frozen=True):
    """Write in English, and in small letters only."""

    id: ClassVar[str] = "change_case:english_lowercase"

    def is_followed(self, response: str) -> bool:
        """Whether no letter is a capital and the language is English."""
        return response.islower() and detect_language(response) in ("en", None)
