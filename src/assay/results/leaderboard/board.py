"""What a leaderboard is made of: states that are stored, sent and exported as they are.

Rows are models, columns are datasets, and means over columns stand beside them. Nothing here computes.
"""

from __future__ import annotations

import msgspec


class BoardModel(msgspec.Struct, frozen=True):
    """A row: one model, exactly."""

    name: str
    """As it was called; with what sets it apart where several are called so."""
    digest: str
    """Of all that decides what it answers."""
    facts: dict[str, str]
    """Its identity in words: backend, weights, dtype, template, arguments."""


class Rank(msgspec.Struct, frozen=True):
    """Where a value stands among those beside it."""

    best: int
    """One more than the number of models that are really better."""
    worst: int
    """All models, less those that are really worse."""

    def __str__(self) -> str:
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


class BoardCell(msgspec.Struct, frozen=True):
    """One model on one dataset: a value with its company."""

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
    """Rows of the models that are really worse."""
    run: str
    """The run's folder, by its name."""
    host: str
    root: str
    started: str
    n_earlier: int
    """Earlier runs of the same, which the latest stands for."""


class BoardColumn(msgspec.Struct, frozen=True):
    """A dataset under one set of conditions; a value under others is in another column."""

    dataset: str
    part: str | None
    """A category of the dataset's subsets; None: all of it."""
    label: str
    """The dataset, with what sets the column apart: no two columns have the same."""
    apart: tuple[str, ...]
    """What that is: the method, shots, samples, whatever other columns of the dataset do not share."""
    method: str
    metric: str
    conditions: dict[str, str]
    """In words: shots, samples, fidelity, data, windows, judge."""
    about: str
    """The ability that it evaluates, in its registry's words."""
    is_share: bool
    higher_is_better: bool
    counts: bool
    """Whether it stands for its dataset in means: one column of a dataset does."""
    n_models: int
    n_paired: int
    """Pairs of models that were compared sample by sample."""
    n_unpaired: int
    """Pairs that were compared by their standard errors, as they share no samples."""
    n_untested: int
    """Pairs of which nothing can be said: the metric has no values of samples and no standard error."""
    notes: tuple[str, ...]


class BoardMean(msgspec.Struct, frozen=True):
    """A mean over columns, each counting once."""

    name: str
    kind: str
    """`shared`: the datasets that every model has. `all`: every dataset. `ability`: those of an ability."""
    columns: tuple[int, ...]


class MeanCell(msgspec.Struct, frozen=True):
    """One model's mean over those of the columns that it has."""

    value: float
    low: float | None
    high: float | None
    stderr: float | None
    n_columns: int
    lacks: tuple[int, ...]
    """Columns that it has no value in. A mean that lacks some is not ranked with those that lack none."""
    rank: Rank | None
    beats: tuple[int, ...]


class Standing(msgspec.Struct, frozen=True):
    """One model against each of the others, over the datasets that both have."""

    mean_rank: float | None
    """The mean of its ranks by value over the datasets that every model has, 1 being best."""
    win_rate: float | None
    """The share of duels won by value, a draw counting half; a duel is one other model on one dataset."""
    n_duels: int
    n_won: int
    """Duels with a real difference in its favour."""
    n_lost: int


class Board(msgspec.Struct, frozen=True):
    """The leaderboard; the best models first."""

    models: tuple[BoardModel, ...]
    columns: tuple[BoardColumn, ...]
    cells: tuple[tuple[BoardCell | None, ...], ...]
    """By model, then column; None: the model has no value there."""
    means: tuple[BoardMean, ...]
    mean_cells: tuple[tuple[MeanCell | None, ...], ...]
    """By model, then mean; None: it has none of the columns."""
    standings: tuple[Standing, ...]
    """By model."""
    notes: tuple[str, ...]
    """What a reader must know before comparing numbers."""
    level: float = 0.05
    """How often chance alone may make any difference of a column real (Holm's correction over its pairs)."""
