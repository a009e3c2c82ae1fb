"""Means over columns, and pairwise wins of models.

Each dataset counts once. A model without a value in some column of a mean still gets a mean over the others,
marked as incomplete. It is not ranked, since means over different datasets are not comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from assay.results.comparison import Fourfold, PairedDifference
from assay.results.leaderboard.board import BoardMean, MeanCell, Standing
from assay.results.leaderboard.columns import ComputedColumn
from assay.results.leaderboard.entries import BoardEntry
from assay.results.leaderboard.pairwise_tests import combine_differences, decide_ranks
from assay.scoring.statistics import Estimate, clip_estimate, macro, wilson


def build_mean_cells(
    mean: BoardMean, models: Sequence[str], columns: Sequence[ComputedColumn]
) -> list[MeanCell | None]:
    """Return each model's mean; ranks are among the models with a value in every column."""
    complete = [model for model in models if all(model in columns[at].entries for at in mean.columns)]
    decided = decide_ranks(len(complete), _differences(mean, complete, columns), higher_is_better=True)
    row = {model: place for place, model in enumerate(models)}
    cells: list[MeanCell | None] = []
    for model in models:
        there = [at for at in mean.columns if model in columns[at].entries]
        estimate = _mean(columns[at].entries[model] for at in there)
        if estimate.value is None:
            cells.append(None)
            continue
        place = complete.index(model) if model in complete else None
        cells.append(
            MeanCell(
                estimate.value,
                estimate.low,
                estimate.high,
                estimate.stderr,
                len(there),
                tuple(at for at in mean.columns if at not in there),
                None if place is None else decided.ranks[place],
                () if place is None else tuple(sorted(row[complete[at]] for at in decided.beats[place])),
            )
        )
    return cells


def compute_standings(models: Sequence[str], columns: Sequence[ComputedColumn]) -> list[Standing]:
    """Return each model's pairwise wins over the columns that count."""
    counting = [column for column in columns if column.column.counts and column.column.part is None]
    shared = [column for column in counting if len(column.entries) == len(models)]
    ranks: dict[str, list[float]] = {model: [] for model in models}
    for column in shared:
        for model, rank in _ranks_by_value(column).items():
            ranks[model].append(rank)
    won: dict[str, float] = dict.fromkeys(models, 0.0)
    n_pairs = dict.fromkeys(models, 0)
    significant_wins, significant_losses = dict.fromkeys(models, 0), dict.fromkeys(models, 0)
    for column in counting:
        own = list(column.entries)
        for model in own:
            n_pairs[model] += len(own) - 1
            won[model] += sum(_score_win(column, model, other) for other in own if other != model)
        for model, beaten in zip(own, column.verdicts.beats, strict=True):
            significant_wins[model] += len(beaten)
            for place in beaten:
                significant_losses[own[place]] += 1
    return [
        Standing(
            sum(ranks[model]) / len(shared) if shared else None,
            won[model] / n_pairs[model] if n_pairs[model] else None,
            n_pairs[model],
            significant_wins[model],
            significant_losses[model],
        )
        for model in models
    ]


def _differences(
    mean: BoardMean, models: Sequence[str], columns: Sequence[ComputedColumn]
) -> dict[tuple[int, int], PairedDifference]:
    """Return the differences of the models' means; a pair that some column cannot compare is omitted."""
    found = {}
    for first, second in combinations(range(len(models)), 2):
        parts = [_difference(columns[at], models[first], models[second]) for at in mean.columns]
        known = [part for part in parts if part is not None]
        if known and len(known) == len(parts):
            together = combine_differences(known)
            if together is not None:
                found[first, second] = together
    return found


def _difference(column: ComputedColumn, model: str, other: str) -> PairedDifference | None:
    """Return the other model's difference from a model, in whichever order the column compared them."""
    order = list(column.entries)
    a, b = order.index(model), order.index(other)
    found = column.compared[min(a, b), max(a, b)].difference
    if found is None or found.difference is None or a < b:
        return found
    table = found.fourfold
    return PairedDifference(
        found.n,
        found.n_units,
        found.b,
        found.a,
        -found.difference,
        None if found.high is None else -found.high,
        None if found.low is None else -found.low,
        found.stderr,
        found.p,
        found.test,
        fourfold=None if table is None else Fourfold(table.both, table.only_b, table.only_a, table.neither),
    )


def _mean(entries: Iterable[BoardEntry]) -> Estimate:
    """Return the unweighted mean of shares with its interval."""
    parts = [
        Estimate(one.metric.value, one.metric.low, one.metric.high, one.stderr, one.metric.n)
        for one in entries
    ]
    if len(parts) == 1:
        return parts[0]
    estimate = macro(parts)
    if estimate.value is None or estimate.stderr != 0:
        return clip_estimate(estimate)
    # Datasets that are all right or all wrong have no spread; use the interval of the counts.
    low, high = wilson(estimate.value * estimate.n, estimate.n)
    return estimate._replace(low=low, high=high)


def _score_win(column: ComputedColumn, model: str, other: str) -> float:
    """Return 1 if a model's value is better, 0.5 if both are equal, otherwise 0."""
    mine, theirs = column.entries[model].metric.value, column.entries[other].metric.value
    if mine is None or theirs is None or mine == theirs:
        return 0.5
    return float((mine > theirs) == column.column.higher_is_better)


def _ranks_by_value(column: ComputedColumn) -> dict[str, float]:
    """Return the ranks by value, 1 is best; equal values share the mean of their ranks."""
    return {
        model: 1 + sum(1 - _score_win(column, model, other) for other in column.entries if other != model)
        for model in column.entries
    }
