"""Differences between an original system and Assay, and the tasks that each can affect."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from assay.core.task import OriginalDifference

AS_ORIGINAL = "as the original"

Traits = TypeVar("Traits")
"""The traits of a task that determine which differences can affect it."""


class Difference(NamedTuple, Generic[Traits]):
    """One difference between an original system and Assay."""

    name: str
    touches: Callable[[Traits], bool]
    """Whether it can affect a task."""
    original: str
    """What the original does."""
    corrected: str
    """What Assay does."""
    is_reproduced: bool = True
    """Whether `--fidelity faithful` reproduces the original."""
    faithful: str = AS_ORIGINAL
    """What a faithful run does, if that is not exactly what the original does."""


def touches_every_task(_: object) -> bool:
    """Return True for every task."""
    return True


def select_differences(
    differences: Iterable[Difference[Traits]], traits: Traits, *, is_faithful: bool
) -> tuple[OriginalDifference, ...]:
    """Return the differences that can affect a task, and what was done about each."""
    return tuple(
        OriginalDifference(
            difference.name,
            difference.original,
            difference.faithful if is_faithful and difference.is_reproduced else difference.corrected,
        )
        for difference in differences
        if difference.touches(traits)
    )
