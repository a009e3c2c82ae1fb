"""Instructions about punctuation marks."""

from __future__ import annotations

from typing import ClassVar

from assay.scoring.instructions.instruction import Instruction


class NoComma(Instruction, frozen=True):
    """Use no commas. Those of other scripts are not meant."""

    id: ClassVar[str] = "punctuation:no_comma"

    def is_followed(self, response: str) -> bool:
        """Whether there is no comma."""
        return "," not in response
