"""Compare runs: the data of `assay compare` and of comparison pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from assay.app.baselines import align_with_baseline
from assay.core.errors import Problem, UsageError, format_count, listing, suggest_name
from assay.core.score import Score
from assay.results.baseline_changes import Accepted
from assay.results.baseline_run import ScoredRun
from assay.results.comparison import Flip, Flips, MetricComparison, RunComparison
from assay.results.history import ScoringHistory
from assay.results.pages.compare_page import CompareView, write_compare_page
from assay.results.pages.file_blocks import MOST_ROWS as MOST_ROWS_IN_FILE
from assay.results.pages.sample_columns import QUESTION_CHARS, SampleLine, find_question, truncate_line
from assay.results.paired_runs import PairedRuns
from assay.results.read import StoredRun
from assay.results.run_view import MOST_ROWS, RunView
from assay.results.scoring_folders import find_parent_run
from assay.results.store import SAMPLES

RunT = TypeVar("RunT", StoredRun, ScoredRun)


class ComparisonWithFlips(msgspec.Struct, frozen=True):
    """A comparison with sample pairs to look at."""

    comparison: RunComparison
    flips: tuple[Flips, ...]


def compare(
    runs: Sequence[ScoredRun],
    methods: Sequence[str] = (),
    metric: str | None = None,
    n_flips: int = 0,
    *,
    by_group: bool = False,
) -> ComparisonWithFlips:
    """Compare runs, or the methods of one run, with up to `n_flips` differing samples in each direction."""
    paired = PairedRuns(*pair_runs_with_methods(runs, methods))
    comparison = paired.comparison(by_group=by_group)
    if metric is not None:
        comparison = _select_metric(comparison, metric)
    flips = tuple(
        _flips(paired, one, n_flips)
        for one in comparison.headlines
        if one.result.fourfold and one.group is None and n_flips
    )
    return ComparisonWithFlips(comparison, flips)


def compare_sides(
    sides: Sequence[ScoredRun],
    methods: Sequence[str] = (),
    metric: str | None = None,
    n_flips: int = 0,
    *,
    accept: Sequence[Accepted] = (),
    by_group: bool = False,
) -> ComparisonWithFlips:
    """Compare runs of which the first can be a baseline; differences in `accept` become notes."""
    aligned, accepted = align_with_baseline(sides, accept)
    found = compare(aligned, methods, metric, n_flips, by_group=by_group)
    notes = tuple(dict.fromkeys((*accepted, *found.comparison.notes)))
    return msgspec.structs.replace(found, comparison=msgspec.structs.replace(found.comparison, notes=notes))


def compare_view(
    runs: Sequence[StoredRun],
    methods: Sequence[str] = (),
    metric: str | None = None,
    *,
    most: int = MOST_ROWS,
    names: Sequence[str] = (),
) -> CompareView:
    """Compare runs as a page shows them, with the first `most` samples of each.

    `names`: the names by which a page requests the runs from a server.
    """
    chosen, _ = pair_runs_with_methods(runs, methods)
    called = {run.path: name for run, name in zip(runs, names, strict=True)} if names else {}
    comparison = compare(runs, methods, metric).comparison
    return CompareView(comparison, _open_views(chosen, most), [called[run.path] for run in chosen if called])


def _open_views(sides: Sequence[StoredRun], most: int) -> list[RunView]:
    """Return the view of each side; sides of one run share it."""
    views: dict[Path, RunView] = {}
    for run in sides:
        if run.path not in views:
            views[run.path] = RunView(run.path, most)
            views[run.path].refresh()
    return [views[run.path] for run in sides]


def write_comparison(
    runs: Sequence[StoredRun], methods: Sequence[str], metric: str | None, path: Path
) -> None:
    """Write a comparison as a self-contained HTML page with the samples side by side."""
    write_compare_page(compare_view(runs, methods, metric, most=MOST_ROWS_IN_FILE), path)


def write_known_comparison(comparison: RunComparison, runs: Sequence[StoredRun], path: Path) -> None:
    """Write a comparison of whole runs, which is known already, as such a page."""
    write_compare_page(CompareView(comparison, _open_views(runs, MOST_ROWS_IN_FILE)), path)


def find_scorings(runs: Sequence[StoredRun], wanted: Sequence[str]) -> list[StoredRun]:
    """Return scorings of one run, by number or name, as runs to compare."""
    if len(runs) != 1:
        what = f"--scorings compares scorings of one run; the command names {format_count(len(runs), 'run')}"
        fix = "name one run; to compare scorings of several runs, name their folders: RUN/scorings/002-number"
        raise UsageError(Problem("COMPARE-003", what, fix))
    history = ScoringHistory(find_parent_run(runs[0].path) or runs[0].path)
    return [StoredRun(history.find(one).path) for one in wanted]


def pair_runs_with_methods(
    runs: Sequence[RunT], methods: Sequence[str]
) -> tuple[Sequence[RunT], list[str | None]]:
    """Return the sides of the comparison: each a run and one of its methods, or None for all methods."""
    if len(runs) > 1 and len(methods) <= 1:
        return runs, [methods[0] if methods else None] * len(runs)
    if len(runs) == 1 and len(methods) > 1:
        return [runs[0]] * len(methods), list(methods)
    if len(runs) == len(methods) and methods:
        return runs, list(methods)
    raise UsageError(
        Problem(
            "COMPARE-003",
            f"a comparison needs two sides, but the command names {format_count(len(runs), 'run')} and "
            f"{format_count(len(methods), 'method')}",
            "name at least two runs, with one method for all or one for each; or one run and its methods "
            "(--methods ppl,gen) or its scorings (--scorings 1,2)",
        )
    )


def _select_metric(comparison: RunComparison, metric: str) -> RunComparison:
    """Return the comparison by one metric instead of the tasks' headline metrics."""
    chosen = [one for one in comparison.metrics if one.metric == metric]
    if not chosen:
        names = list(dict.fromkeys(one.metric for one in comparison.metrics))
        raise UsageError(
            Problem(
                "COMPARE-004",
                f"no two of the runs share a metric {metric!r}{suggest_name(metric, names)}",
                f"choose one of {listing(names)}",
            )
        )
    heads = tuple(msgspec.structs.replace(one, is_headline=True) for one in chosen)
    return msgspec.structs.replace(comparison, metrics=heads)


def _flips(paired: PairedRuns, compared: MetricComparison, n: int) -> Flips:
    pairs = paired.flips(compared, n)
    wanted = {score.sample_id for way in pairs for score, _ in way}
    questions = _find_questions(paired, compared, wanted)
    only_first, only_second = (tuple(_flip(*scores, questions) for scores in way) for way in pairs)
    sides = (compared.first, compared.second)
    return Flips(compared.task, compared.method, compared.metric, sides, only_first, only_second)


def _flip(first: Score, second: Score, questions: dict[str, str]) -> Flip:
    return Flip(first.sample_id, questions.get(first.sample_id, ""), first, second)


def _find_questions(paired: PairedRuns, compared: MetricComparison, wanted: set[str]) -> dict[str, str]:
    """Return the beginnings of the questions of some samples, by sample id; a baseline has none."""
    for side in (compared.first, compared.second):
        run = paired.runs[side]
        if isinstance(run, StoredRun) and wanted:
            return _read_questions(run, paired.find_task_name(compared, side), wanted)
    return {}


def _read_questions(run: StoredRun, task: str, wanted: set[str]) -> dict[str, str]:
    questions: dict[str, str] = {}
    decode = msgspec.json.Decoder(SampleLine).decode
    with open(run.path / SAMPLES, "rb") as lines:
        for raw in lines:
            line = decode(raw)
            if line.task == task and line.sample.id in wanted:
                questions[line.sample.id] = truncate_line(find_question(line), QUESTION_CHARS)
                if len(questions) == len(wanted):
                    break
    return questions
