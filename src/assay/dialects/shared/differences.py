"""Where an original system and Assay differ: each difference in words, and the tasks that it can touch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from assay.core.task import OriginalDifference

AS_ORIGINAL = "as the original"

Traits = TypeVar("Traits")
"""What a dialect knows of a task, as far as a difference may touch it."""


class Difference(NamedTuple, Generic[Traits]):
    """One difference."""

    name: str
    touches: Callable[[Traits], bool]
    """Whether it can touch a task."""
    original: str
    """What the original does."""
    corrected: str
    """What is done here."""
    is_reproduced: bool = True
    """Whether `--fidelity faithful` does as the original."""
    faithful: str = AS_ORIGINAL
    """What it then does, where that is not quite the same."""


def touches_every_task(_: object) -> bool:
    """Touch every task."""
    return True


def select_differences(
    differences: Iterable[Difference[Traits]], traits: Traits, *, is_faithful: bool
) -> tuple[OriginalDifference, ...]:
    """Return the differences that can touch a task, and what was done about each."""
    return tuple(
        OriginalDifference(
            one.name,
            one.original,
            one.faithful if is_faithful and one.is_reproduced else one.corrected,
        )
        for one in differences
        if one.touches(traits)
    )
