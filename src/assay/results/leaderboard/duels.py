"""Which differences between the models of a column are real.

Two models are compared sample by sample wherever the index has what their samples are worth: McNemar's exact
test for right and wrong, Student's for other means, the delta method for ratios of sums; over subsets, the
mean of the subsets' differences. Else by their standard errors, as if on other samples. Over the pairs of a
column p-values are corrected by Holm's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from assay.core.run_index import SampleValues
from assay.results.leaderboard.board import Rank
from assay.results.leaderboard.entries import Entry
from assay.results.paired import (
    Clusters,
    Difference,
    Numbers,
    holm,
    macro_difference,
    mcnemar,
    mean_difference,
    ratio_difference,
    share_difference,
)

LEVEL = 0.05
_LEAST_SHARED = 0.5
"""Of the fewer samples, how many both must have to be compared sample by sample."""

ValuesOf: TypeAlias = Callable[[Hashable, str, str, str], SampleValues | None]
"""Returns the samples' values of a run, by the run's key, task, method and metric."""


class Duel(NamedTuple):
    """Two rows of a column, compared."""

    difference: Difference | None
    """Of the second over the first; None: nothing can be said."""
    how: Literal["paired", "unpaired", "untested"]


class Verdicts(NamedTuple):
    """What a column's comparisons come to."""

    ranks: list[Rank]
    beats: list[tuple[int, ...]]
    """For each place the places that it is really better than."""


Duels: TypeAlias = dict[tuple[int, int], Duel]
"""By the two places in a list, the lesser first."""


def duels(entries: Sequence[Entry], values_of: ValuesOf) -> Duels:
    """Compare every two entries of a column."""
    samples = [_samples(entry, values_of) for entry in entries]
    return {
        (a, b): _duel(entries[a], entries[b], samples[a], samples[b])
        for a, b in combinations(range(len(entries)), 2)
    }


def verdicts(n: int, found: dict[tuple[int, int], Difference], *, higher_is_better: bool) -> Verdicts:
    """Return the ranks of n places, of which every two may have been compared."""
    tested = [
        (pair, one.p, one.a, one.b)
        for pair, one in found.items()
        if one.p is not None and one.a is not None and one.b is not None
    ]
    better: list[set[int]] = [set() for _ in range(n)]
    worse: list[set[int]] = [set() for _ in range(n)]
    for ((first, second), _, a, b), p in zip(tested, holm([p for _, p, _, _ in tested]), strict=True):
        if p < LEVEL:
            ahead, behind = (second, first) if (b > a) == higher_is_better else (first, second)
            better[ahead].add(behind)
            worse[behind].add(ahead)
    ranks = [Rank(1 + len(worse[place]), n - len(better[place])) for place in range(n)]
    return Verdicts(ranks, [tuple(sorted(one)) for one in better])


def _samples(entry: Entry, values_of: ValuesOf) -> list[SampleValues] | None:
    """Return the samples of an entry by task; None where its value is not made of them."""
    conditions = entry.conditions
    parts = []
    for task in entry.tasks:
        found = values_of(entry.source.key, task.name, conditions.method, entry.sample_metric)
        if found is None:
            return None
        parts.append(found)
    return parts


def _duel(a: Entry, b: Entry, of_a: list[SampleValues] | None, of_b: list[SampleValues] | None) -> Duel:
    if of_a is not None and of_b is not None:
        ordered_b = {task.name: part for task, part in zip(b.tasks, of_b, strict=True)}
        parts = [paired(part, ordered_b[task.name]) for task, part in zip(a.tasks, of_a, strict=True)]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            together = known[0] if not a.is_mean else macro_difference(known)
            if together is not None and together.p is not None:
                return Duel(together, "paired")
    difference = unpaired(a, b)
    return Duel(difference, "untested" if difference is None else "unpaired")


def paired(a: SampleValues, b: SampleValues) -> Difference | None:
    """Compare two models on the samples that both have a value for; None if these are too few."""
    if len(a.ids) == len(b.ids) and np.array_equal(a.ids, b.ids):
        at_a = at_b = np.arange(len(a.ids))
    else:
        _, at_a, at_b = np.intersect1d(a.ids, b.ids, assume_unique=True, return_indices=True)
    if len(at_a) < 2 or len(at_a) < _LEAST_SHARED * min(len(a.ids), len(b.ids)):
        return None
    clusters = None if a.clusters is None else a.clusters[at_a].astype(np.int64)
    x, y = a.values[at_a], b.values[at_b]
    if a.weights is not None and b.weights is not None:
        return ratio_difference(
            (x, a.weights[at_a]), (y, b.weights[at_b]), clusters, is_exponential=a.is_exponential
        )
    return _of_means(x, y, clusters)


def _of_means(x: Numbers, y: Numbers, clusters: Clusters | None) -> Difference:
    is_binary = bool(np.all((x == 0) | (x == 1)) and np.all((y == 0) | (y == 1)))
    if not is_binary:
        return mean_difference(x, y, clusters)
    if clusters is not None:
        return share_difference(x, y, clusters)
    # The interval of a difference of shares is not shown here, and takes most of the time of a large board.
    p = mcnemar(int(np.sum(x > y)), int(np.sum(y > x)))
    return msgspec.structs.replace(mean_difference(x, y), p=p, test="mcnemar")


def unpaired(a: Entry, b: Entry) -> Difference | None:
    """Compare two values by their standard errors, as if they were of other samples; None if one has none."""
    first, second = a.metric, b.metric
    if first.value is None or second.value is None or first.stderr is None or second.stderr is None:
        return None
    stderr = math.hypot(first.stderr, second.stderr)
    gap = second.value - first.value
    if stderr == 0:
        return None
    p = math.erfc(abs(gap) / stderr / math.sqrt(2))
    n = first.n_scored + second.n_scored
    return Difference(n, n, first.value, second.value, gap, None, None, stderr, p, "student")
