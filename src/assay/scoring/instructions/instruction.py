"""What an instruction is: typed arguments and one question to a response. Knows no particular one."""

from __future__ import annotations

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
