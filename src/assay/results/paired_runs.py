"""Comparison of several runs: scores as columns, paired by task, method and sample id."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.errors import Problem, UsageError, listing
from assay.core.run import RunStatus
from assay.core.score import HEADLINE, Metric, Score, Verdict
from assay.results.comparison import MetricComparison, RunComparison, Side
from assay.results.comparison_notes import build_comparison_notes
from assay.results.paired import (
    Clusters,
    Numbers,
    average_differences,
    compare_means,
    compare_ratios,
    compare_shares,
    holm,
)
from assay.results.read import StoredRun
from assay.results.sample_join import (
    ProgramJoin,
    SampleJoin,
    are_of_different_programs,
    build_join_error,
    pair_tasks,
)
from assay.results.score_columns import Places, RunColumns, ScoreColumns
from assay.results.scoring_folders import find_parent_run
from assay.results.subset_families import group_by_family


class _Cell:
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


class PairedRuns:
    """Several runs, or methods of runs, loaded for comparison."""

    def __init__(self, runs: Sequence[StoredRun], methods: Sequence[str | None]) -> None:
        """Read the scores of each run; `methods` has the method to compare for each, None for all."""
        for run in runs:
            _require_scores(run)
        self.runs = runs
        self.sides = _name_sides(runs, methods)
        read: dict[str, RunColumns] = {}
        for run in runs:
            if str(run.path) not in read:
                read[str(run.path)] = RunColumns(run.path)
        self._read = [read[str(run.path)] for run in runs]
        self._facts = _collect_metric_facts(runs)
        self._joins = _JoinedRuns(runs)
        self._cells = self._gather_cells(methods)
        if not self._cells:
            self._raise_nothing_shared()
        self._joins.require_enough(self._cells)

    def _gather_cells(self, methods: Sequence[str | None]) -> list[_Cell]:
        cells: dict[tuple[str, str | None], _Cell] = {}
        for side, (read, method) in enumerate(zip(self._read, methods, strict=True)):
            names = self._joins.name_tasks(side)
            for (task, track), columns in read.by_method.items():
                if method in (None, track):
                    name = names.get(task, task)
                    cell = cells.setdefault((name, None if method else track), _Cell(name))
                    cell.tracks[track] = None
                    cell.columns[side] = columns
                    cell.names[side] = task
        return [cell for cell in cells.values() if len(cell.columns) > 1]

    def comparison(self, *, headlines_only: bool = False) -> RunComparison:
        """Compare every metric of every task, pair by pair."""
        found: list[MetricComparison] = []
        for cell in self._cells:
            twos = [two for two in combinations(sorted(cell.columns), 2) if self._joins.is_enough(cell, two)]
            pairs = [self._pair(cell, *two) for two in twos]
            measures = dict.fromkeys(one for pair in pairs for one in pair.measures(headlines_only))
            # Scorings with different headline metrics are one comparison, as runs with the same metric are.
            joint = [(pair, one) for pair in pairs for one in measures if one == pair.main_measure]
            found += self._compare_sides(cell, joint)
            for one in measures:
                found += self._compare_sides(
                    cell,
                    [(pair, one) for pair in pairs if pair.has_measure(one) and one != pair.main_measure],
                )
        notes = dict.fromkeys((*self._notes(), *self._note_unshared_metrics(found)))
        return RunComparison(self.sides, (*self._means(found), *found), tuple(notes))

    def flips(
        self, compared: MetricComparison, at_most: int
    ) -> tuple[list[tuple[Score, Score]], list[tuple[Score, Score]]]:
        """Return the first samples that only the first side has right, and those that only the second has."""
        cell = next(one for one in self._cells if (one.task, one.method) == (compared.task, compared.method))
        pair = self._pair(cell, compared.first, compared.second)
        measure = next(one for one in pair.measures(headlines_only=False) if str(one) == compared.metric)
        both_ways = []
        for rows in pair.flips(measure):
            few = [one[:at_most].tolist() for one in rows]
            scores = [
                self._read[side].scores(cell.columns[side], chosen)
                for side, chosen in zip((compared.first, compared.second), few, strict=True)
            ]
            both_ways.append(list(zip(*scores, strict=True)))
        return both_ways[0], both_ways[1]

    def _compare_sides(
        self, cell: _Cell, pairs: Sequence[tuple[_SidePair, _Measure]]
    ) -> list[MetricComparison]:
        """Compare pairs of sides in one metric, with p-values corrected for the number of pairs."""
        return _correct_p_values(
            [
                pair.compare(one, self._facts.get((cell.task, one.first), _MetricFacts()))
                for pair, one in pairs
            ]
        )

    def _pair(self, cell: _Cell, first: int, second: int) -> _SidePair:
        rows = self._joins.match(cell, first, second)
        return _SidePair(cell, first, second, self._across(cell, first, second), rows)

    def _across(self, cell: _Cell, first: int, second: int) -> _Measure | None:
        """Return the headline metrics of two sides that name them differently, if they are comparable.

        Only scorings of one run, and runs of different programs: between other runs, a difference could have
        any cause. Both metrics must be shares.
        """
        folders = {
            find_parent_run(self.runs[side].path) or self.runs[side].path.resolve()
            for side in (first, second)
        }
        is_across = self._joins.are_of_different_programs(first, second)
        if not is_across and (len(folders) > 1 or len(cell.tracks) > 1):
            return None
        measure = _Measure(*(next(iter(cell.columns[side].deciding)) for side in (first, second)))
        facts = {self._facts.get((cell.task, name), _MetricFacts()) for name in measure}
        return measure if facts == {_MetricFacts(is_share=True)} or facts == {_LOWER_IS_BETTER} else None

    def _note_unshared_metrics(self, comparisons: Sequence[MetricComparison]) -> Iterator[str]:
        """Yield a note for each pair of sides without a shared headline metric."""
        for cell in self._cells:
            compared = {
                (one.first, one.second)
                for one in comparisons
                if (one.task, one.method) == (cell.task, cell.method) and one.is_headline
            }
            for two in combinations(sorted(cell.columns), 2):
                if two not in compared and self._joins.is_enough(cell, two):
                    has = (
                        f"{self.sides[side].name} has {listing(cell.columns[side].deciding)}" for side in two
                    )
                    yield f"{cell.task} {cell.method}: no metric to compare by: {', '.join(has)}"

    def _means(self, comparisons: Sequence[MetricComparison]) -> list[MetricComparison]:
        """Compare datasets with subsets by the mean over the subsets."""
        means: list[MetricComparison] = []
        for family in group_by_family(self.runs[0].manifest.tasks):
            names = {task.name for task in family.tasks}
            # Each subset contributes its own headline metric, as in a run's mean over subsets.
            parts: dict[tuple[str, bool, bool], dict[tuple[int, int], list[MetricComparison]]] = {}
            for one in comparisons:
                if one.task in names and one.is_headline and not one.is_factor:
                    pairs = parts.setdefault((one.method, one.is_share, one.higher_is_better), {})
                    pairs.setdefault((one.first, one.second), []).append(one)
            for pairs in parts.values():
                averages = [
                    _average_subsets(family.name, members) for members in pairs.values() if len(members) > 1
                ]
                means += _correct_p_values([one for one in averages if one is not None])
        return means

    def _notes(self) -> Iterator[str]:
        for other in range(1, len(self.sides)):
            manifests = self.runs[0].manifest, self.runs[other].manifest
            names = (self.sides[0].name, self.sides[other].name)
            tasks = self._joins.name_tasks(other)
            yield from build_comparison_notes(*manifests, names, tasks)
        yield from self._joins.notes()
        for run, read, side in zip(self.runs, self._read, self.sides, strict=True):
            for metric in run.metrics():
                columns = read.by_method.get((metric.task, metric.method))
                if columns is not None and metric.group is None and metric.is_headline:
                    yield from _note_non_mean(metric, columns, side.name)

    def _raise_nothing_shared(self) -> None:
        has = "; ".join(
            f"{side.name} has {listing(f'{task} by {track}' for task, track in read.by_method)}"
            for side, read in zip(self.sides, self._read, strict=True)
        )
        raise UsageError(
            Problem(
                "COMPARE-002",
                f"the runs have no task and method in common: {has}",
                "name runs of the same dataset, or choose the method of each run: --methods ppl,gen",
            )
        )


class _MetricFacts(msgspec.Struct, frozen=True):
    """How to interpret a metric."""

    is_share: bool = True
    higher_is_better: bool = True


_LOWER_IS_BETTER = _MetricFacts(is_share=True, higher_is_better=False)


class _Measure(NamedTuple):
    """The metric of each of two sides; usually the same."""

    first: str
    second: str

    def __str__(self) -> str:
        return self.first if self.first == self.second else f"{self.first} / {self.second}"


class _SidePair:
    """Two sides of a cell, with their shared samples."""

    def __init__(
        self, cell: _Cell, first: int, second: int, across: _Measure | None, rows: tuple[Places, Places]
    ) -> None:
        """`across`: the measure if both sides have different headline metrics; `rows`: the paired scores."""
        self.cell = cell
        self._across = across
        self.first, self.second = first, second
        self.a, self.b = cell.columns[first], cell.columns[second]
        self.rows_a, self.rows_b = rows
        failed = (one.mask_verdict(Verdict.FAILED) for one in (self.a, self.b))
        self.n_failed = int(np.sum(next(failed)[self.rows_a] | next(failed)[self.rows_b]))

    def measures(self, headlines_only: bool) -> Iterator[_Measure]:
        """Yield the measures that both sides have, headlines first."""
        others = () if headlines_only else (*self.a.means, *self.a.ratios)
        found = [_Measure(name, name) for name in dict.fromkeys((*self.a.deciding, *others))]
        shared = [one for one in found if self.has_measure(one)]
        decides = any(one.first in self.a.deciding for one in shared)
        if not decides and self._across is not None and self.has_measure(self._across):
            yield self._across
        yield from shared

    @property
    def main_measure(self) -> _Measure | None:
        """The first headline measure that both sides have."""
        return next(self.measures(headlines_only=True), None)

    def has_measure(self, measure: _Measure) -> bool:
        """Whether both sides have a measure, as a mean or as a ratio; two metrics must be comparable."""
        if measure.first != measure.second and measure != self._across:
            return False
        return (measure.first in self.a.means and measure.second in self.b.means) or (
            measure.first in self.a.ratios and measure.second in self.b.ratios
        )

    def compare(self, measure: _Measure, facts: _MetricFacts) -> MetricComparison:
        """Compare one metric over the samples that have a value on both sides."""
        metric = measure.first
        values_a = _values(self.a, metric)[self.rows_a]
        values_b = _values(self.b, measure.second)[self.rows_b]
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
            n_only_first=len(self.a) - n_shared,
            n_only_second=len(self.b) - n_shared,
            n_failed=self.n_failed,
            n_ungraded=n_shared - len(values_a) - self.n_failed,
        )

    def flips(self, measure: _Measure) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows that only the first side has right, then those that only the second has."""
        a, b = _values(self.a, measure.first)[self.rows_a], _values(self.b, measure.second)[self.rows_b]
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


class _JoinedRuns:
    """How the samples of each two sides are paired: by their ids, or across programs by their questions."""

    def __init__(self, runs: Sequence[StoredRun]) -> None:
        self._runs = runs
        self._joins: dict[tuple[Path, Path], ProgramJoin] = {}
        self._described: dict[str, None] = {}

    def are_of_different_programs(self, first: int, second: int) -> bool:
        """Whether two sides were evaluated by different programs, as far as their runs say."""
        return are_of_different_programs(self._runs[first], self._runs[second])

    def name_tasks(self, side: int) -> dict[str, str]:
        """Map the tasks of a side to those of the first side."""
        if self.are_of_different_programs(0, side):
            return self._open(0, side).names
        return pair_tasks(*([task.name for task in self._runs[one].manifest.tasks] for one in (0, side)))

    def find(self, cell: _Cell, two: tuple[int, int]) -> SampleJoin | None:
        """Return the join of a task; None for runs of one program, whose ids are enough."""
        if not self.are_of_different_programs(*two):
            return None
        join = self._open(*two).join(*(cell.names[side] for side in two))
        self._described[f"{cell.task}: {join.describe() if join.is_enough else join.describe_refusal()}"] = (
            None
        )
        return join

    def is_enough(self, cell: _Cell, two: tuple[int, int]) -> bool:
        """Whether enough samples are paired for a verdict."""
        join = self.find(cell, two)
        return join is None or join.is_enough

    def require_enough(self, cells: Sequence[_Cell]) -> None:
        """Raise COMPARE-008 if no task of no two sides has enough paired samples."""
        refused: dict[str, SampleJoin] = {}
        for cell in cells:
            for two in combinations(sorted(cell.columns), 2):
                join = self.find(cell, two)
                if join is None or join.is_enough:
                    return
                refused[cell.task] = join
        raise build_join_error(refused)

    def match(self, cell: _Cell, first: int, second: int) -> tuple[Places, Places]:
        """Return the rows of the paired scores of two sides, in the first side's order."""
        a, b = cell.columns[first].keys, cell.columns[second].keys
        join = self.find(cell, (first, second))
        if join is None:
            return a.match(b)
        opened = self._open(first, second)
        own = (opened.keys_a[cell.names[first]], opened.keys_b[cell.names[second]])
        rows = []
        for keys, samples, places in ((a, own[0], join.a), (b, own[1], join.b)):
            of_score, of_sample = keys.match(samples.ids)
            row = np.full(len(samples), -1, dtype=np.int64)
            row[of_sample] = of_score
            rows.append(row[places])
        is_scored = (rows[0] >= 0) & (rows[1] >= 0)
        return rows[0][is_scored], rows[1][is_scored]

    def notes(self) -> Iterator[str]:
        """Yield how the samples of each task were paired."""
        yield from self._described

    def _open(self, first: int, second: int) -> ProgramJoin:
        a, b = self._runs[first], self._runs[second]
        if (a.path, b.path) not in self._joins:
            self._joins[a.path, b.path] = ProgramJoin(a, b)
        return self._joins[a.path, b.path]


def _require_scores(run: StoredRun) -> None:
    if not run.metrics():
        status = run.manifest.status
        what = f"the run {run.path.name!r} has no scores to compare: its status is {status}"
        if status is RunStatus.ANSWERED:
            what += ", not scored yet"
            fix = "score its answers: repeat the `assay run` command with --stage score"
        else:
            fix = "complete it: the same `assay run` command resumes where it stopped"
        raise UsageError(Problem("COMPARE-001", what, fix))


def _name_sides(runs: Sequence[StoredRun], methods: Sequence[str | None]) -> tuple[Side, ...]:
    """Name the sides by the first of these that is unique: models, prompts, methods, two of them, folders."""
    models = [run.manifest.model_title for run in runs]
    prompts = [run.manifest.prompt or "" for run in runs]
    titles = [run.manifest.title for run in runs]
    folders = [run.path.resolve().name for run in runs]
    chosen = [method or "" for method in methods]
    both = [f"{model} {method}".strip() for model, method in zip(models, chosen, strict=True)]
    numbered = [f"{folder} ({nth})" for nth, folder in enumerate(folders, 1)]
    choices = (models, prompts, chosen, titles, both, folders, numbered)
    names = next(names for names in choices if len(set(names)) == len(names))
    return tuple(
        Side(name, run.manifest.id, str(run.path), run.manifest.model_title, method, run.manifest.prompt)
        for name, run, method in zip(names, runs, methods, strict=True)
    )


def _collect_metric_facts(runs: Sequence[StoredRun]) -> dict[tuple[str, str], _MetricFacts]:
    """Return how to interpret each metric of a task; the first run decides."""
    every = [metric for run in runs for metric in run.metrics()]
    return {
        (metric.task, metric.metric): _MetricFacts(metric.is_share, metric.higher_is_better)
        for metric in reversed(every)
    }


def _values(columns: ScoreColumns, metric: str) -> Numbers:
    """Return a metric's values; for a ratio, its numerators."""
    column = columns.ratios[metric].numerators if metric in columns.ratios else columns.means[metric]
    return np.frombuffer(column, dtype=np.float64)


def _denominators(columns: ScoreColumns, metric: str) -> Numbers:
    return np.frombuffer(columns.ratios[metric].denominators, dtype=np.float64)


def _is_binary(values: Numbers) -> bool:
    return bool(np.all((values == 0) | (values == 1)))


def _average_subsets(family: str, members: Sequence[MetricComparison]) -> MetricComparison | None:
    result = average_differences([one.result for one in members])
    if result is None:
        return None
    metrics = {one.metric for one in members}
    return msgspec.structs.replace(
        members[0],
        task=family,
        metric=metrics.pop() if len(metrics) == 1 else HEADLINE,
        result=result,
        n_subsets=len(members),
        **{
            name: sum(getattr(one, name) for one in members)
            for name in ("n_only_first", "n_only_second", "n_failed", "n_ungraded")
        },
    )


def _correct_p_values(pairs: list[MetricComparison]) -> list[MetricComparison]:
    """Return comparisons of one metric with p-values corrected for their number."""
    known = [one.result.p for one in pairs if one.result.p is not None]
    if len(pairs) < 2:
        return pairs
    corrected = iter(holm(known))
    return [
        one if one.result.p is None else msgspec.structs.replace(one, p_corrected=next(corrected))
        for one in pairs
    ]


def _note_non_mean(metric: Metric, columns: ScoreColumns, side: str) -> Iterator[str]:
    """Yield a note if a metric is not a mean over samples, such as corpus BLEU."""
    if metric.value is None:
        return
    what = f"{metric.task} {metric.method}: {metric.metric} of {side}"
    if metric.metric not in columns.means and metric.metric not in columns.ratios:
        yield f"{what} has no values per sample, so it cannot be compared"
    elif metric.metric in columns.means:
        values = _values(columns, metric.metric)
        known = values[~np.isnan(values)]
        mean = float(known.mean()) if len(known) else 0.0
        if not _is_rounded(metric.value, mean):
            yield f"{what} is not a mean over samples; Assay compares its samples' values (mean {mean:.4g})"


def _is_rounded(value: float, exact: float) -> bool:
    """Whether a value equals the exact one, possibly rounded to fewer decimals."""
    return math.isclose(value, exact, rel_tol=1e-9, abs_tol=1e-9) or any(
        math.isclose(value, round(exact, digits), abs_tol=1e-12) for digits in range(1, 8)
    )
