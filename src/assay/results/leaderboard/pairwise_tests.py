"""Significance tests between the models of a column.

Two models are compared sample by sample if the index has their sample values: McNemar's exact test for right
and wrong answers, Student's t-test for other means, the delta method for ratios of sums; over subsets, the
mean of the subsets' differences. Otherwise they are compared by their standard errors, as if on other
samples. p-values are corrected over the pairs of a column by Holm's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.run_index import SampleValues
from assay.results.comparison import Fourfold, PairedDifference
from assay.results.leaderboard.board import Rank
from assay.results.leaderboard.entries import BoardEntry
from assay.results.paired import (
    average_differences,
    compare_means,
    compare_ratios,
    compare_shares,
    holm,
    mcnemar,
)

LEVEL = 0.05
_LEAST_SHARED = 0.5
"""The share of the smaller set of samples that both must have for a paired comparison."""

ValuesOf: TypeAlias = Callable[[Hashable, str, str, str], SampleValues | None]
"""Returns sample values by the run's key, task, method and metric."""


class PairwiseTest(NamedTuple):
    """The comparison of two rows of a column."""

    difference: PairedDifference | None
    """Second minus first; None if they cannot be compared."""
    how: Literal["paired", "unpaired", "untested"]


class RankVerdicts(NamedTuple):
    """The ranks that follow from a column's comparisons."""

    ranks: list[Rank]
    beats: list[tuple[int, ...]]
    """For each place, the places that it is significantly better than."""


PairwiseTests: TypeAlias = dict[tuple[int, int], PairwiseTest]
"""By the two places in a list, smaller first."""


class EntrySamples(NamedTuple):
    """The samples of one task of an entry, prepared once for all its comparisons."""

    samples: SampleValues
    right: NDArray[np.bool_] | None
    """If all values are 0 or 1: which are 1."""

    @classmethod
    def of(cls, samples: SampleValues) -> EntrySamples:
        """Prepare the samples of a task for comparisons."""
        right = samples.values == 1
        is_binary = samples.weights is None and bool(np.all(right | (samples.values == 0)))
        return cls(samples, right if is_binary else None)


def run_pairwise_tests(entries: Sequence[BoardEntry], values_of: ValuesOf) -> PairwiseTests:
    """Compare all pairs of entries of a column."""
    samples = [_samples(entry, values_of) for entry in entries]
    return {
        (a, b): _test_pair(entries[a], entries[b], samples[a], samples[b])
        for a, b in combinations(range(len(entries)), 2)
    }


def decide_ranks(
    n: int, differences: dict[tuple[int, int], PairedDifference], *, higher_is_better: bool
) -> RankVerdicts:
    """Return the ranks of n places from their pairwise comparisons."""
    tested = [
        (pair, one.p, one.a, one.b)
        for pair, one in differences.items()
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
    return RankVerdicts(ranks, [tuple(sorted(one)) for one in better])


def _samples(entry: BoardEntry, values_of: ValuesOf) -> list[EntrySamples] | None:
    """Return the samples of an entry by task; None if its value is not an aggregate of them."""
    conditions = entry.conditions
    parts = []
    for task in entry.tasks:
        found = values_of(entry.source.key, task.name, conditions.method, entry.sample_metric)
        if found is None:
            return None
        parts.append(EntrySamples.of(found))
    return parts


def _test_pair(
    a: BoardEntry, b: BoardEntry, of_a: list[EntrySamples] | None, of_b: list[EntrySamples] | None
) -> PairwiseTest:
    if of_a is not None and of_b is not None:
        ordered_b = {task.name: part for task, part in zip(b.tasks, of_b, strict=True)}
        parts = [compare_paired(part, ordered_b[task.name]) for task, part in zip(a.tasks, of_a, strict=True)]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            together = combine_differences(known)
            if together is not None and together.p is not None:
                return PairwiseTest(together, "paired")
    difference = compare_unpaired(a, b)
    return PairwiseTest(difference, "untested" if difference is None else "unpaired")


def compare_paired(one: EntrySamples, other: EntrySamples) -> PairedDifference | None:
    """Compare two models on their shared samples; None if these are too few."""
    a, b = one.samples, other.samples
    at_a: slice | NDArray[np.intp]
    at_b: slice | NDArray[np.intp]
    if np.array_equal(a.ids, b.ids):
        at_a, at_b, n = slice(None), slice(None), len(a.ids)
    else:
        shared, at_a, at_b = np.intersect1d(a.ids, b.ids, assume_unique=True, return_indices=True)
        n = len(shared)
    if n < 2 or n < _LEAST_SHARED * min(len(a.ids), len(b.ids)):
        return None
    if a.clusters is None and one.right is not None and other.right is not None:
        return _compare_shares_quickly(one.right[at_a], other.right[at_b], n)
    clusters = None if a.clusters is None else a.clusters[at_a].astype(np.int64)
    x, y = a.values[at_a], b.values[at_b]
    if a.weights is not None and b.weights is not None:
        sides = ((x, a.weights[at_a]), (y, b.weights[at_b]))
        return compare_ratios(*sides, clusters, is_exponential=a.is_exponential)
    compare = compare_means if one.right is None or other.right is None else compare_shares
    return compare(x, y, clusters)


def combine_differences(parts: Sequence[PairedDifference]) -> PairedDifference | None:
    """Return the unweighted mean of the differences of parts; None if a part has no difference.

    If no part has any spread, the test uses the pooled counts of right and wrong answers.
    """
    if len(parts) == 1:
        return parts[0]
    mean = average_differences(parts)
    tables = [part.fourfold for part in parts if part.fourfold is not None]
    if mean is None or any(part.stderr != 0 for part in parts):
        return mean
    if mean.difference == 0 and all(part.p == 1 for part in parts):
        return msgspec.structs.replace(mean, stderr=0.0, p=1.0)
    if len(tables) < len(parts):
        return mean
    p = mcnemar(sum(one.only_a for one in tables), sum(one.only_b for one in tables))
    return msgspec.structs.replace(mean, stderr=0.0, p=p, test="mcnemar")


def _compare_shares_quickly(x: NDArray[np.bool_], y: NDArray[np.bool_], n: int) -> PairedDifference:
    """Compare right and wrong answers of independent samples.

    Like `compare_shares` without the interval, which is not shown here and takes most of its time.
    """
    right_a, right_b, both = (int(np.count_nonzero(one)) for one in (x, y, x & y))
    only_a, only_b = right_a - both, right_b - both
    gap = (only_b - only_a) / n
    variance = max(0.0, (only_a + only_b) / n - gap * gap) * n / (n - 1)
    stderr = math.sqrt(variance / n)
    return PairedDifference(
        *(n, n, right_a / n, right_b / n, gap, None, None),
        stderr=stderr,
        p=mcnemar(only_a, only_b),
        test="mcnemar",
        fourfold=Fourfold(both, only_a, only_b, n - both - only_a - only_b),
    )


def compare_unpaired(a: BoardEntry, b: BoardEntry) -> PairedDifference | None:
    """Compare two values by their standard errors, as if on other samples; None if one is unknown."""
    first, second = a.metric, b.metric
    if first.value is None or second.value is None or a.stderr is None or b.stderr is None:
        return None
    stderr = math.hypot(a.stderr, b.stderr)
    if stderr == 0:
        return None
    gap = second.value - first.value
    p = math.erfc(abs(gap) / stderr / math.sqrt(2))
    n = first.n_scored + second.n_scored
    return PairedDifference(n, n, first.value, second.value, gap, None, None, stderr, p, "student")
