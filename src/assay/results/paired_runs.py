"""Comparison of several runs: scores as columns, paired by task, method and sample id."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np

from assay.core.errors import Problem, UsageError, listing
from assay.core.run import RunStatus
from assay.core.score import HEADLINE, Metric, Score
from assay.results.baseline_run import BaselineColumns, BaselineRun, ScoredRun
from assay.results.charges import compute_total_usd
from assay.results.comparison import MetricComparison, RunComparison, Side
from assay.results.comparison_notes import build_comparison_notes
from assay.results.paired import (
    average_differences,
    holm,
)
from assay.results.sample_join import (
    ProgramJoin,
    SampleJoin,
    are_of_different_programs,
    build_join_error,
    pair_tasks,
)
from assay.results.score_columns import Places, RunColumns, ScoreColumns
from assay.results.scoring_folders import find_parent_run
from assay.results.side_pair import LOWER_IS_BETTER, Cell, Measure, MetricFacts, SidePair, read_values
from assay.results.subset_families import group_by_family


class PairedRuns:
    """Several runs, or methods of runs, loaded for comparison."""

    def __init__(self, runs: Sequence[ScoredRun], methods: Sequence[str | None]) -> None:
        """Read the scores of each run; `methods` has the method to compare for each, None for all."""
        for run in runs:
            _require_scores(run)
        self.runs = runs
        self.sides = _name_sides(runs, methods)
        read: dict[str, RunColumns | BaselineColumns] = {}
        for run in runs:
            if str(run.path) not in read:
                read[str(run.path)] = _read_columns(run)
        self._read = [read[str(run.path)] for run in runs]
        self._facts = _collect_metric_facts(runs)
        self._joins = _JoinedRuns(runs)
        self._cells = self._gather_cells(methods)
        if not self._cells:
            self._raise_nothing_shared()
        self._joins.require_enough(self._cells)

    def _gather_cells(self, methods: Sequence[str | None]) -> list[Cell]:
        cells: dict[tuple[str, str | None], Cell] = {}
        for side, (read, method) in enumerate(zip(self._read, methods, strict=True)):
            names = self._joins.name_tasks(side)
            for (task, track), columns in read.by_method.items():
                if method in (None, track):
                    name = names.get(task, task)
                    cell = cells.setdefault((name, None if method else track), Cell(name))
                    cell.tracks[track] = None
                    cell.columns[side] = columns
                    cell.names[side] = task
        return [cell for cell in cells.values() if len(cell.columns) > 1]

    def comparison(self, *, headlines_only: bool = False, by_group: bool = False) -> RunComparison:
        """Compare every metric of every task, and with `by_group` of every group of samples, pair by pair."""
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
        groups = self._compare_groups(found) if by_group else []
        return RunComparison(self.sides, (*self._means(found), *found, *groups), tuple(notes))

    def _compare_groups(self, comparisons: Sequence[MetricComparison]) -> list[MetricComparison]:
        """Compare the groups of samples of each comparison of a whole task."""
        found: dict[tuple[str, str, str, str], list[MetricComparison]] = {}
        for one in comparisons:
            pair, measure = self._find_pair(one)
            facts = self._facts.get((one.task, measure.first), MetricFacts())
            for group in pair.a.group_names:
                key = (one.task, one.method, one.metric, group)
                found.setdefault(key, []).append(pair.compare(measure, facts, group))
        return [one for pairs in found.values() for one in _correct_p_values(pairs)]

    def _find_pair(self, compared: MetricComparison) -> tuple[SidePair, Measure]:
        """Return the sides and the measure of a comparison of a whole task."""
        cell = self._find_cell(compared)
        pair = self._pair(cell, compared.first, compared.second)
        return pair, next(one for one in pair.measures(headlines_only=False) if str(one) == compared.metric)

    def _find_cell(self, compared: MetricComparison) -> Cell:
        return next(one for one in self._cells if (one.task, one.method) == (compared.task, compared.method))

    def find_task_name(self, compared: MetricComparison, side: int) -> str:
        """Return a side's own name of the task of a comparison."""
        return self._find_cell(compared).names[side]

    def flips(
        self, compared: MetricComparison, at_most: int
    ) -> tuple[list[tuple[Score, Score]], list[tuple[Score, Score]]]:
        """Return the first samples that only the first side has right, and those that only the second has."""
        cell = self._find_cell(compared)
        pair, measure = self._find_pair(compared)
        both_ways = []
        for rows in pair.flips(measure):
            few = [one[:at_most].tolist() for one in rows]
            scores = [
                self._read[side].scores(cell.columns[side], chosen)
                for side, chosen in zip((compared.first, compared.second), few, strict=True)
            ]
            both_ways.append(list(zip(*scores, strict=True)))
        return both_ways[0], both_ways[1]

    def _compare_sides(self, cell: Cell, pairs: Sequence[tuple[SidePair, Measure]]) -> list[MetricComparison]:
        """Compare pairs of sides in one metric, with p-values corrected for the number of pairs."""
        return _correct_p_values(
            [pair.compare(one, self._facts.get((cell.task, one.first), MetricFacts())) for pair, one in pairs]
        )

    def _pair(self, cell: Cell, first: int, second: int) -> SidePair:
        rows = self._joins.match(cell, first, second)
        return SidePair(cell, first, second, self._across(cell, first, second), rows)

    def _across(self, cell: Cell, first: int, second: int) -> Measure | None:
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
        measure = Measure(*(next(iter(cell.columns[side].deciding)) for side in (first, second)))
        facts = {self._facts.get((cell.task, name), MetricFacts()) for name in measure}
        return measure if facts == {MetricFacts(is_share=True)} or facts == {LOWER_IS_BETTER} else None

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
            # A baseline reports its differences itself.
            if not isinstance(self.runs[0], BaselineRun):
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


class _JoinedRuns:
    """How the samples of each two sides are paired: by their ids, or across programs by their questions."""

    def __init__(self, runs: Sequence[ScoredRun]) -> None:
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

    def find(self, cell: Cell, two: tuple[int, int]) -> SampleJoin | None:
        """Return the join of a task; None for runs of one program, whose ids are enough."""
        if not self.are_of_different_programs(*two):
            return None
        join = self._open(*two).join(*(cell.names[side] for side in two))
        self._described[f"{cell.task}: {join.describe() if join.is_enough else join.describe_refusal()}"] = (
            None
        )
        return join

    def is_enough(self, cell: Cell, two: tuple[int, int]) -> bool:
        """Whether enough samples are paired for a verdict."""
        join = self.find(cell, two)
        return join is None or join.is_enough

    def require_enough(self, cells: Sequence[Cell]) -> None:
        """Raise COMPARE-008 if no task of no two sides has enough paired samples."""
        refused: dict[str, SampleJoin] = {}
        for cell in cells:
            for two in combinations(sorted(cell.columns), 2):
                join = self.find(cell, two)
                if join is None or join.is_enough:
                    return
                refused[cell.task] = join
        raise build_join_error(refused)

    def match(self, cell: Cell, first: int, second: int) -> tuple[Places, Places]:
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


def _read_columns(run: ScoredRun) -> RunColumns | BaselineColumns:
    return BaselineColumns(run) if isinstance(run, BaselineRun) else RunColumns(run.path)


def _require_scores(run: ScoredRun) -> None:
    if not run.metrics():
        status = run.manifest.status
        what = f"the run {run.path.name!r} has no scores to compare: its status is {status}"
        if status is RunStatus.ANSWERED:
            what += ", not scored yet"
            fix = "score its answers: repeat the `assay run` command with --stage score"
        else:
            fix = "complete it: the same `assay run` command resumes where it stopped"
        raise UsageError(Problem("COMPARE-001", what, fix))


def _name_sides(runs: Sequence[ScoredRun], methods: Sequence[str | None]) -> tuple[Side, ...]:
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
        Side(
            name,
            run.manifest.id,
            str(run.path),
            run.manifest.model_title,
            method,
            compute_total_usd(run.manifest),
            run.manifest.prompt,
        )
        for name, run, method in zip(names, runs, methods, strict=True)
    )


def _collect_metric_facts(runs: Sequence[ScoredRun]) -> dict[tuple[str, str], MetricFacts]:
    """Return how to interpret each metric of a task; the first run decides."""
    every = [metric for run in runs for metric in run.metrics()]
    return {
        (metric.task, metric.metric): MetricFacts(metric.is_share, metric.higher_is_better)
        for metric in reversed(every)
    }


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
        subsets=tuple(one.task for one in members),
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
        values = read_values(columns, metric.metric)
        known = values[~np.isnan(values)]
        mean = float(known.mean()) if len(known) else 0.0
        if not _is_rounded(metric.value, mean):
            yield f"{what} is not a mean over samples; Assay compares its samples' values (mean {mean:.4g})"


def _is_rounded(value: float, exact: float) -> bool:
    """Whether a value equals the exact one, possibly rounded to fewer decimals."""
    return math.isclose(value, exact, rel_tol=1e-9, abs_tol=1e-9) or any(
        math.isclose(value, round(exact, digits), abs_tol=1e-12) for digits in range(1, 8)
    )
