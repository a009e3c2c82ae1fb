"""The data of a run's pages: the contract between Python, which fills it, and the pages' script.

Stored data (manifest, records, scores, responses) is sent as it is stored, in addition to what is defined
here. Long lists of samples are sent as columns, which are small and fast to read.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from assay.core.run import RunManifest

Role: TypeAlias = Literal["task", "mean", "group"]
"""The scope of a number. `mean`: over subsets or several tasks. `group`: a part of a task."""


class ScoreRow(msgspec.Struct, frozen=True):
    """One number with error bars, counts and texts."""

    label: str
    """The displayed name: the task, the mean or the group."""
    task: str
    method: str
    metric: str
    group: str | None
    role: Role
    value: float | None
    low: float | None
    high: float | None
    shown: str
    """The formatted value."""
    interval: str
    n: int
    n_counted: int
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
    """Why there is no value, or why the first failed row failed."""


class Bin(msgspec.Struct, frozen=True):
    """Samples with similar confidence."""

    n: int
    confidence: float
    """The mean probability of the model's answers."""
    right: float
    """The share of right answers."""
    low: float
    high: float
    """95 % interval of `right`."""


class Calibration(msgspec.Struct, frozen=True):
    """Confidence against accuracy."""

    task: str
    """The dataset with all its subsets."""
    method: str
    n: int
    error: float
    """Expected calibration error: the mean distance between confidence and accuracy, weighted by samples."""
    bins: tuple[Bin, ...]


class Distribution(msgspec.Struct, frozen=True):
    """The distribution of a number over requests or samples."""

    name: str
    """The name of the number, such as `prompt`."""
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
    """Edges of the bins: one more than counts."""
    counts: tuple[int, ...]
    is_log: bool = False


class ThinkingBin(msgspec.Struct, frozen=True):
    """Samples with thoughts of similar length."""

    n: int
    least: int
    most: int
    """The fewest and the most thinking tokens of a sample."""
    tokens: float
    """The mean number of thinking tokens."""
    right: float
    """The share of right answers."""
    low: float
    high: float
    """95 % interval of `right`."""


class ThinkingCurve(msgspec.Struct, frozen=True):
    """Accuracy by thinking tokens."""

    task: str
    """The dataset with all its subsets."""
    method: str
    n: int
    bins: tuple[ThinkingBin, ...]
    """With the same number of samples each, as far as possible; the shortest thoughts first."""


class InFile(msgspec.Struct, frozen=True):
    """The part of a run that a single-file page contains."""

    n_rows: int
    """Samples in the table."""
    blocks: tuple[tuple[int, ...], ...]
    """For each block of details, the places of its samples in order; a sample in no block is omitted."""


class RunPage(msgspec.Struct, frozen=True):
    """A run without its samples."""

    name: str
    """The name of its folder."""
    title: str
    """The model, and the prompt if it has a name."""
    manifest: RunManifest
    rows: tuple[ScoreRow, ...]
    calibrations: tuple[Calibration, ...]
    distributions: tuple[Distribution, ...]
    thinking_curves: tuple[ThinkingCurve, ...]
    n_samples: int
    """Samples written so far."""
    n_rows: int
    """Samples in the table: the first ones; plots include only these."""
    n_planned: int
    """Samples that the run will have."""
    revision: str
    """Changes when the run or the view is restarted, and earlier data is invalid."""
    work: str | None = None
    """The model's work as one line."""
    speed: str | None = None
    """The server's speed as one line."""
    thinking: tuple[str, ...] = ()
    """How much the model thought, a line for each task and method."""
    charges: tuple[str, ...] = ()
    """What the run cost, in lines."""
    in_file: InFile | None = None
    """None: the page requests samples from a server."""


class TrackColumns(msgspec.Struct, frozen=True):
    """The results of one method on each sample; every list is as long as the table."""

    name: str
    outcomes: str
    """A letter for each sample: R right, P partly right, W wrong, V a value on a scale of its own,
    U unanswered, F failed, G no reference answer, N answered and not scored, `.` no request by this
    method."""
    truncated: str
    """1 if an answer was truncated, otherwise 0."""
    values: list[float | None]
    answers: list[str]
    margins: list[float | None]
    tokens: list[int]
    """Prompt, scored and generated tokens."""
    seconds: list[float]
    rule: list[int]
    """The rule that found the answer, as an index into `rules` of the table; -1: none."""


class SampleTable(msgspec.Struct, frozen=True):
    """Samples as columns, in the dataset's order, starting at one place."""

    first: int
    """The place of the first sample."""
    n: int
    revision: str
    """As in `RunPage`."""
    changes: int
    """Number of changes so far; a client that sends it gets only new and changed samples."""
    tasks: list[str]
    """The names that `task` indexes."""
    groups: list[str]
    rules: list[str]
    task: list[int]
    group: list[int]
    """-1: no group."""
    ids: list[str]
    questions: list[str]
    """The beginning of each question."""
    targets: list[str]
    disagree: str
    """1 if methods gave different answers, otherwise 0."""
    tracks: list[TrackColumns]
