"""The data of a leaderboard, as it is sent and exported.

Rows are models, columns are datasets, plus means over columns. Nothing here computes.
"""

from __future__ import annotations

import msgspec


class BoardModel(msgspec.Struct, frozen=True):
    """A row: one model, exactly."""

    name: str
    """Its name; with distinguishing facts if several models have the same name."""
    digest: str
    """Of everything that determines its answers."""
    facts: dict[str, str]
    """Its identity: backend, weights, dtype, template, arguments."""
    usd: float | None = None
    """Cost of its runs on this board in US dollars; None: not known for any of them."""


class Rank(msgspec.Struct, frozen=True):
    """The range of ranks that a value may have in its column."""

    best: int
    """One more than the number of models that are significantly better."""
    worst: int
    """The number of models minus those that are significantly worse."""

    def __str__(self) -> str:
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


class BoardCell(msgspec.Struct, frozen=True):
    """One model on one dataset: a value with error bars and counts."""

    value: float
    low: float | None
    high: float | None
    stderr: float | None
    n: int
    n_scored: int
    n_unanswered: int
    n_truncated: int
    n_failed: int
    rank: Rank
    beats: tuple[int, ...]
    """Rows of the models that are significantly worse."""
    run: str
    """The name of the run's folder."""
    host: str
    root: str
    started: str
    n_earlier: int
    """Earlier runs with the same conditions, replaced by the latest."""


class BoardColumn(msgspec.Struct, frozen=True):
    """A dataset under one set of conditions; values under other conditions are in another column."""

    dataset: str
    part: str | None
    """A category of the dataset's subsets; None: the whole dataset."""
    label: str
    """The dataset with distinguishing conditions; unique among columns."""
    apart: tuple[str, ...]
    """Those conditions: method, shots, samples and others that differ between the dataset's columns."""
    method: str
    metric: str
    conditions: dict[str, str]
    """Shots, samples, fidelity, data, windows, judge."""
    about: str
    """The ability that it evaluates, as described in its registry."""
    is_share: bool
    higher_is_better: bool
    counts: bool
    """Whether it represents its dataset in means: exactly one column of a dataset does."""
    n_models: int
    n_paired: int
    """Pairs of models compared sample by sample."""
    n_unpaired: int
    """Pairs compared by their standard errors, since they share no samples."""
    n_untested: int
    """Pairs that cannot be compared: the metric has no sample values and no standard error."""
    notes: tuple[str, ...]


class BoardMean(msgspec.Struct, frozen=True):
    """An unweighted mean over columns."""

    name: str
    kind: str
    """`shared`: the datasets that every model has. `all`: every dataset. `ability`: those of an ability."""
    columns: tuple[int, ...]


class MeanCell(msgspec.Struct, frozen=True):
    """One model's mean over the columns that it has values in."""

    value: float
    low: float | None
    high: float | None
    stderr: float | None
    n_columns: int
    lacks: tuple[int, ...]
    """Columns without a value. An incomplete mean is not ranked."""
    rank: Rank | None
    beats: tuple[int, ...]


class Standing(msgspec.Struct, frozen=True):
    """One model against all others, over the datasets that both have."""

    mean_rank: float | None
    """The mean of its ranks by value over the datasets that every model has; 1 is best."""
    win_rate: float | None
    """The share of pairwise comparisons won by value, ties counting half.

    A pairwise comparison is one other model on one dataset.
    """
    n_duels: int
    n_won: int
    """Pairwise comparisons with a significant difference in its favour."""
    n_lost: int


class Board(msgspec.Struct, frozen=True):
    """The leaderboard, best models first."""

    models: tuple[BoardModel, ...]
    columns: tuple[BoardColumn, ...]
    cells: tuple[tuple[BoardCell | None, ...], ...]
    """By model, then column; None without a value."""
    means: tuple[BoardMean, ...]
    mean_cells: tuple[tuple[MeanCell | None, ...], ...]
    """By model, then mean; None without a value in any of the columns."""
    standings: tuple[Standing, ...]
    """By model."""
    notes: tuple[str, ...]
    """Caveats for comparing the numbers."""
    level: float = 0.05
    """The significance level of each column, with Holm's correction over its pairs."""
