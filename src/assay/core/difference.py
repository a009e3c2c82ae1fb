"""How an original system and Assay differ, and what a run did about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

AS_ORIGINAL = "as the original"

TraitsT = TypeVar("TraitsT", contravariant=True)
"""The traits of a task that determine which differences affect it."""


def affects_every_task(_: object) -> bool:
    """Return True for every task."""
    return True


class Difference(NamedTuple, Generic[TraitsT]):
    """One difference between an original system and Assay. Tables of differences have their names as keys."""

    original: str
    """What the original does."""
    corrected: str
    """What Assay does by default."""
    affects: Callable[[TraitsT], bool] = affects_every_task
    """Whether it can affect a task with these traits."""
    is_reproduced: bool = True
    """Whether `--fidelity faithful` reproduces the original."""
    faithful: str = AS_ORIGINAL
    """What a faithful run does, if that is not exactly what the original does."""


class AppliedDifference(msgspec.Struct, frozen=True, omit_defaults=True):
    """A difference that affects a task, as stored in the manifest. Its words may change, not its name."""

    name: str
    original: str
    """What the original does."""
    here: str
    """What this run did."""
    is_reproduced: bool = False
    """Whether this run reproduced the original."""

    def __post_init__(self) -> None:
        # Manifests of earlier versions say it in words only.
        if self.here.startswith(AS_ORIGINAL):
            msgspec.structs.force_setattr(self, "is_reproduced", True)


def select_differences(
    differences: Mapping[str, Difference[TraitsT]], traits: TraitsT
) -> dict[str, Difference[Any]]:
    """Return the differences that can affect a task with these traits, by name."""
    return {name: one for name, one in differences.items() if one.affects(traits)}


def apply_differences(
    differences: Mapping[str, Difference[Any]], *, is_faithful: bool
) -> tuple[AppliedDifference, ...]:
    """Return what a run does about each difference."""
    return tuple(
        AppliedDifference(name, one.original, one.faithful, is_reproduced=True)
        if is_faithful and one.is_reproduced
        else AppliedDifference(name, one.original, one.corrected)
        for name, one in differences.items()
    )
