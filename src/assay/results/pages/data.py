"""What the pages of a run show: the contract between Python, which fills it, and the pages' script.

Stored nouns (manifest, records, scores, responses) travel as they are stored; what is here stands beside
them. Long lists of samples travel by columns, as that is small and quick to read.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from assay.core.run import RunManifest

Role: TypeAlias = Literal["task", "mean", "group"]
"""What a number is about. `mean`: over subsets or over several tasks. `group`: a part of a task."""


class ScoreRow(msgspec.Struct, frozen=True):
    """One number with its company, and the words for it."""

    label: str
    """What a person reads: the task, or the mean that it is, or the group."""
    task: str
    method: str
    metric: str
    group: str | None
    role: Role
    value: float | None
    low: float | None
    high: float | None
    shown: str
    """The value as all faces write it."""
    interval: str
    n: int
    n_scored: int
    n_unanswered: int
    n_truncated: int
    n_failed: int
    is_share: bool
    higher_is_better: bool
    is_headline: bool
    is_listed: bool
    """Whether the table of results shows it."""
    why: str | None = None
    """Why there is no value, or why the first of the failed rows failed."""


class Bin(msgspec.Struct, frozen=True):
    """Samples of which the model was about equally sure."""

    n: int
    confidence: float
    """What the model gave its answer, on average."""
    right: float
    """How many of the answers were right."""
    low: float
    high: float
    """95 % interval of `right`."""


class Calibration(msgspec.Struct, frozen=True):
    """Whether the model is as often right as it says."""

    task: str
    """The dataset, with all of its subsets."""
    method: str
    n: int
    error: float
    """Expected calibration error: the mean distance between confidence and truth, weighted by samples."""
    bins: tuple[Bin, ...]


class Distribution(msgspec.Struct, frozen=True):
    """How a number is spread over requests or samples."""

    name: str
    """What is counted, such as `prompt tokens`."""
    unit: str
    task: str | None
    """None: over all tasks."""
    method: str
    n: int
    mean: float
    p50: float
    p90: float
    p99: float
    greatest: float
    edges: tuple[float, ...]
    """Borders of the bins: one more than there are counts."""
    counts: tuple[int, ...]
    is_log: bool = False


class InFile(msgspec.Struct, frozen=True):
    """What a page of one file holds of a run that may be larger."""

    n_rows: int
    """Samples of the table."""
    blocks: tuple[tuple[int, ...], ...]
    """For each block of details, the places of its samples, in order; a sample in none was left out."""


class RunPage(msgspec.Struct, frozen=True):
    """A run as its page begins, without its samples."""

    name: str
    """Of its folder."""
    manifest: RunManifest
    rows: tuple[ScoreRow, ...]
    calibrations: tuple[Calibration, ...]
    distributions: tuple[Distribution, ...]
    n_samples: int
    """Samples that are there."""
    n_rows: int
    """Those of them that can be shown: the first; plots count them alone."""
    n_planned: int
    """Samples that the run will have."""
    revision: str
    """Another one: what was read before no longer holds, as the run began anew or is looked at anew."""
    work: str | None = None
    """What the model did, in words."""
    speed: str | None = None
    """How fast its server was, in words."""
    in_file: InFile | None = None
    """None: a server is asked for samples."""


class TrackColumns(msgspec.Struct, frozen=True):
    """What one method made of each sample; every list is as long as the table."""

    name: str
    outcomes: str
    """A letter for each sample: R right, P partly right, W wrong, V a value on a scale of its own,
    U unanswered, F failed, G the dataset gives no right answer, N answered and not scored, `.` not asked by
    this method."""
    truncated: str
    """1 where an answer was cut off, else 0."""
    values: list[float | None]
    answers: list[str]
    margins: list[float | None]
    tokens: list[int]
    """Tokens read, scored and written."""
    seconds: list[float]


class SampleTable(msgspec.Struct, frozen=True):
    """Samples by columns, in the dataset's order, from one place on."""

    first: int
    """The place of the first of them."""
    n: int
    revision: str
    """As in `RunPage`."""
    changes: int
    """How often the run was found changed; who tells it gets only what is new or other since."""
    tasks: list[str]
    """Names that `task` counts in."""
    groups: list[str]
    task: list[int]
    group: list[int]
    """-1: none."""
    ids: list[str]
    questions: list[str]
    """The beginning of what was asked."""
    targets: list[str]
    disagree: str
    """1 where methods gave different answers, else 0."""
    tracks: list[TrackColumns]
