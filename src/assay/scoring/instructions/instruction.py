"""What an instruction is: typed arguments and one question to a response. Knows no particular one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal

import msgspec

Relation = Literal["at least", "less than"]
"""How a count is compared with the wanted number. Never "at most": "less than 3" allows two."""

Count = Annotated[int, msgspec.Meta(ge=0)]
"""A wanted number of things."""

Text = Annotated[str, msgspec.Meta(min_length=1)]
"""A text to look for. An empty one is found everywhere, so it is no instruction."""


class Instruction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One verifiable instruction; its fields are the arguments that a dataset's row gives it."""

    id: ClassVar[str]
    """The name that datasets use, `family:kind`."""

    def is_followed(self, response: str) -> bool:
        """Whether a response, which is not blank, does what the instruction asks."""
        raise NotImplementedError(f"{type(self).__name__} must define is_followed(response)")


def compare_count(count: int, relation: Relation, wanted: int) -> bool:
    """Whether a count stands in the relation to the wanted number."""
    return count >= wanted if relation == "at least" else count < wanted


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
