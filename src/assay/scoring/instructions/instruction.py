"""The base class of verifiable instructions, and how strict and loose checks work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal

import msgspec

Relation = Literal["at least", "less than"]
"""How a count is compared with the required number. Never "at most": "less than 3" allows two."""

Count = Annotated[int, msgspec.Meta(ge=0)]
"""A required number of things."""

Text = Annotated[str, msgspec.Meta(min_length=1)]
"""A text to search for. An empty text would be found everywhere, so it is not valid."""


class Instruction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One verifiable instruction; its fields are the arguments in a dataset's row."""

    id: ClassVar[str]
    """The name that datasets use, `family:kind`."""

    def is_followed(self, response: str) -> bool:
        """Whether a non-blank response follows the instruction."""
        raise NotImplementedError(f"{type(self).__name__} must define is_followed(response)")


def compare_count(count: int, relation: Relation, wanted: int) -> bool:
    """Whether a count has the relation to the required number."""
    return count >= wanted if relation == "at least" else count < wanted


Strictness = Literal["strict", "loose"]
"""Strict: the response as it is. Loose: also without its first line, last line or markdown asterisks."""


def check_instructions(instructions: Iterable[Instruction], response: str, reading: Strictness) -> list[bool]:
    """Return whether a response follows each instruction."""
    variants = [response] if reading == "strict" else loose_variants(response)
    return [is_followed_by_any(instruction, variants) for instruction in instructions]


def is_followed_by_any(instruction: Instruction, variants: Sequence[str]) -> bool:
    """Whether any variant of a response follows an instruction; a blank response follows none."""
    return any(instruction.is_followed(variant) for variant in variants if variant.strip())


def loose_variants(response: str) -> list[str]:
    """Return the distinct variants of the loose check, up to eight, the response itself first.

    They drop what models often add around an answer: "Sure, here it is:", "Hope this helps!", bold type.
    """
    lines = response.split("\n")
    cuts = [response, *("\n".join(kept).strip() for kept in (lines[1:], lines[:-1], lines[1:-1]))]
    return list(dict.fromkeys([*cuts, *(cut.replace("*", "") for cut in cuts)]))
