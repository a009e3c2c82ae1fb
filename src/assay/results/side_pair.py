"""Two sides of a comparison in one task and method: their paired scores, compared by a metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.score import Verdict
from assay.results.comparison import MetricComparison
from assay.results.paired import Clusters, Numbers, compare_means, compare_ratios, compare_shares
from assay.results.score_columns import Places, ScoreColumns


class Cell:
    """The scores of one task by one method, for each side that has them."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.tracks: dict[str, None] = {}
        self.columns: dict[int, ScoreColumns] = {}
        self.names: dict[int, str] = {}
        """The task's own name on each side."""

    @property
    def method(self) -> str:
        """Return the method; if the sides are methods, all of them."""
        return " / ".join(self.tracks)


class MetricFacts(msgspec.Struct, frozen=True):
    """How to interpret a metric."""

    is_share: bool = True
    higher_is_better: bool = True


LOWER_IS_BETTER = MetricFacts(is_share=True, higher_is_better=False)


class Measure(NamedTuple):
    """The metric of each of two sides; usually the same."""

    first: str
    second: str

    def __str__(self) -> str:
        return self.first if self.first == self.second else f"{self.first} / {self.second}"


class SidePair:
    """Two sides of a cell, with their shared samples."""

    def __init__(
        self,
        cell: Cell,
        first: int,
        second: int,
        across: Measure | None,
        rows: tuple[Places, Places],
        group: str | None = None,
    ) -> None:
        """`across`: the measure if both sides have different headline metrics; `rows`: the paired scores.

        `group`: the group that the rows belong to; None: all samples.
        """
        self.cell = cell
        self._group = group
        self._across = across
        self.first, self.second = first, second
        self.a, self.b = cell.columns[first], cell.columns[second]
        self.rows_a, self.rows_b = rows
        failed = (one.mask_verdict(Verdict.FAILED) for one in (self.a, self.b))
        self.n_failed = int(np.sum(next(failed)[self.rows_a] | next(failed)[self.rows_b]))

    def measures(self, headlines_only: bool) -> Iterator[Measure]:
        """Yield the measures that both sides have, headlines first."""
        others = () if headlines_only else (*self.a.means, *self.a.ratios)
        found = [Measure(name, name) for name in dict.fromkeys((*self.a.deciding, *others))]
        shared = [one for one in found if self.has_measure(one)]
        decides = any(one.first in self.a.deciding for one in shared)
        if not decides and self._across is not None and self.has_measure(self._across):
            yield self._across
        yield from shared

    @property
    def main_measure(self) -> Measure | None:
        """The first headline measure that both sides have."""
        return next(self.measures(headlines_only=True), None)

    def has_measure(self, measure: Measure) -> bool:
        """Whether both sides have a measure, as a mean or as a ratio; two metrics must be comparable."""
        if measure.first != measure.second and measure != self._across:
            return False
        return (measure.first in self.a.means and measure.second in self.b.means) or (
            measure.first in self.a.ratios and measure.second in self.b.ratios
        )

    def compare(self, measure: Measure, facts: MetricFacts, group: str | None = None) -> MetricComparison:
        """Compare one metric over the samples, or those of a group, that have a value on both sides."""
        if group is not None:
            return self._select_group(group).compare(measure, facts)
        metric = measure.first
        values_a = read_values(self.a, metric)[self.rows_a]
        values_b = read_values(self.b, measure.second)[self.rows_b]
        known = ~(np.isnan(values_a) | np.isnan(values_b))
        values_a, values_b = values_a[known], values_b[known]
        clusters = self._clusters(known)
        is_factor = False
        if metric in self.a.ratios:
            is_factor = self.a.ratios[metric].is_exponential
            x_a, x_b = _denominators(self.a, metric)[self.rows_a], _denominators(self.b, metric)[self.rows_b]
            result = compare_ratios(
                (values_a, x_a[known]), (values_b, x_b[known]), clusters, is_exponential=is_factor
            )
        elif facts.is_share and _is_binary(values_a) and _is_binary(values_b):
            result = compare_shares(values_a, values_b, clusters)
        else:
            result = compare_means(values_a, values_b, clusters)
        n_shared = len(self.rows_a)
        return MetricComparison(
            self.cell.task,
            self.cell.method,
            str(measure),
            self.first,
            self.second,
            result,
            is_headline=metric in self.a.deciding,
            is_share=facts.is_share and not is_factor,
            is_factor=is_factor,
            higher_is_better=facts.higher_is_better,
            n_only_first=len(self.a) - n_shared if self._group is None else 0,
            n_only_second=len(self.b) - n_shared if self._group is None else 0,
            n_failed=self.n_failed,
            n_ungraded=n_shared - len(values_a) - self.n_failed,
            group=self._group,
        )

    def _select_group(self, group: str) -> SidePair:
        """Return these sides with only the samples of one group of the first side."""
        groups = np.frombuffer(self.a.groups, dtype=np.int32)[self.rows_a]
        chosen = groups == self.a.group_names[group]
        rows = self.rows_a[chosen], self.rows_b[chosen]
        return SidePair(self.cell, self.first, self.second, self._across, rows, group)

    def flips(self, measure: Measure) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows that only the first side has right, then those that only the second has."""
        a, b = (
            read_values(self.a, measure.first)[self.rows_a],
            read_values(self.b, measure.second)[self.rows_b],
        )
        for chosen in ((a == 1) & (b == 0), (a == 0) & (b == 1)):
            yield self.rows_a[chosen], self.rows_b[chosen]

    def _clusters(self, known: NDArray[np.bool_]) -> Clusters | None:
        """Return the clusters of samples with a value on both sides; None if no sample has a cluster."""
        clusters = np.frombuffer(self.a.clusters, dtype=np.int64)[self.rows_a][known]
        alone = np.flatnonzero(clusters < 0)
        if len(alone) == len(clusters):
            return None
        # A sample without a cluster is its own cluster; hashes of names are not negative.
        clusters[alone] = -1 - alone
        return clusters


def read_values(columns: ScoreColumns, metric: str) -> Numbers:
    """Return a metric's values; for a ratio, its numerators."""
    column = columns.ratios[metric].numerators if metric in columns.ratios else columns.means[metric]
    return np.frombuffer(column, dtype=np.float64)


def _denominators(columns: ScoreColumns, metric: str) -> Numbers:
    return np.frombuffer(columns.ratios[metric].denominators, dtype=np.float64)


def _is_binary(values: Numbers) -> bool:
    return bool(np.all((values == 0) | (values == 1)))
