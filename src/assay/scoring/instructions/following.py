"""Whether a response follows its instructions, read strictly or loosely."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from assay.scoring.instructions.instruction import Instruction

Strictness = Literal["strict", "loose"]
"""Strict: the response as it came. Loose: also without its first line, its last line, its markdown stars."""


def check_instructions(instructions: Iterable[Instruction], response: str, reading: Strictness) -> list[bool]:
    """Return for each instruction whether a response follows it."""
    variants = [response] if reading == "strict" else loose_variants(response)
    return [is_followed_by_any(instruction, variants) for instruction in instructions]


def is_followed_by_any(instruction: Instruction, variants: Sequence[str]) -> bool:
    """Whether any variant of a response follows an instruction; a blank one follows not even "no comma"."""
    return any(instruction.is_followed(variant) for variant in variants if variant.strip())


def loose_variants(response: str) -> list[str]:
    """Return the eight variants of the loose reading, each once, the response itself first.

    They drop what models like to put around an answer: "Sure, here it is:", "Hope this helps!", bold type.
    """
    lines = response.split("\n")
    cuts = [response, *("\n".join(kept).strip() for kept in (lines[1:], lines[:-1], lines[1:-1]))]
    return list(dict.fromkeys([*cuts, *(cut.replace("*", "") for cut in cuts)]))
