"""Instructions about how a response begins and ends."""

from __future__ import annotations

from typing import ClassVar

from assay.scoring.instructions.instruction import Instruction, Text


class EndPhrase(Instruction, frozen=True):
    """End with an exact phrase, in any case; double quotes after it are allowed."""

    id: ClassVar[str] = "startend:end_checker"
    end_phrase: Text

    def is_followed(self, response: str) -> bool:
        """Whether nothing but white space and quotes follows the phrase."""
        return response.strip().strip('"').lower().endswith(self.end_phrase.strip().lower())


class Quotation(Instruction, frozen=True):
    """Wrap the whole response in double quotes; curly ones are none."""

    id: ClassVar[str] = "startend:quotation"

    def is_followed(self, response: str) -> bool:
        """Whether the response begins and ends with a double quote of its own."""
        text = response.strip()
        return len(text) > 1 and text[0] == text[-1] == '"'
