"""What the page of a comparison shows: the contract between Python, which fills it, and the page's script."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.results.comparison import Fourfold, Side
from assay.results.pages.data import InFile


class CompareRow(msgspec.Struct, frozen=True):
    """One metric of two sides, and the words for it."""

    task: str
    label: str
    """What a person reads: the task, or the mean that it is."""
    method: str
    """The method, as columns of samples name it."""
    title: str
    """The method as a person reads it, with the metric where that is no accuracy."""
    first: int
    second: int
    """Which of the sides."""
    is_mean: bool
    """Whether it is over several subsets."""
    is_headline: bool
    is_real: bool
    better: int | None
    """The side with the better value."""
    unit: Literal["points", "percent", "own"]
    """What `at`, `low` and `high` are in: points of a share, change in percent, or the metric's own."""
    at: float | None
    """The second's value less the first's."""
    low: float | None
    high: float | None
    first_value: str
    second_value: str
    difference: str
    interval: str
    p: str
    """As it is said: `= 0.03`."""
    test: Literal["mcnemar", "student"]
    sentence: str
    n: int
    fourfold: Fourfold | None
    higher_is_better: bool


class ComparePage(msgspec.Struct, frozen=True):
    """A comparison as its page begins, without its samples."""

    sides: tuple[Side, ...]
    letters: tuple[str, ...]
    rows: tuple[CompareRow, ...]
    summary: str | None
    """How many differences of many tasks are real."""
    told: tuple[int, ...]
    """The rows that are worth a sentence."""
    notes: tuple[str, ...]
    """What makes the comparison less than fair, and what is left out of it."""
    n_samples: int
    in_file: InFile | None = None
    """None: a server is asked for samples."""


class SideColumns(msgspec.Struct, frozen=True):
    """What one side made of each sample by one method; see `TrackColumns`."""

    outcomes: str
    values: list[float | None]
    answers: list[str]


class MethodColumns(msgspec.Struct, frozen=True):
    """One method, or those that are compared with each other, side by side."""

    name: str
    tracks: list[str]
    """For each side, the method of its run."""
    sides: list[SideColumns | None]
    """None: the side does not have it."""


class CompareTable(msgspec.Struct, frozen=True):
    """Samples of all sides by columns: those of the first in its order, then those that only others have."""

    n: int
    tasks: list[str]
    task: list[int]
    ids: list[str]
    questions: list[str]
    targets: list[str]
    places: list[list[int]]
    """For each side, where each sample stands in its run's own table; -1: it does not have it."""
    methods: list[MethodColumns]
