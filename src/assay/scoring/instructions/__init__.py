"""Instructions that code can verify: the 25 kinds of IFEval (Zhou et al., 2023), read strictly or loosely."""

from assay.scoring.instructions.instruction import (
    Instruction,
    Strictness,
    check_instructions,
    is_followed_by_any,
)
from assay.scoring.instructions.registry import INSTRUCTIONS, read_rows

__all__ = [
    "INSTRUCTIONS",
    "Instruction",
    "Strictness",
    "check_instructions",
    "is_followed_by_any",
    "read_rows",
]
