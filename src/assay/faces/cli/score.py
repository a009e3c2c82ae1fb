"""assay score"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.faces.cli.completers import complete_run
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import (
    allow_failures_option,
    is_offline,
    match_option,
    offline_option,
    parse_pairs,
    resolve_runs_folder,
    runs_option,
    several_right_option,
)
from assay.faces.cli.run import FAILED_SAMPLES

if TYPE_CHECKING:
    from assay.app.rescore import RescoreResult
    from assay.app.scorer_selection import ScoringChoices
    from assay.core.score import Score
    from assay.faces.cli.answers import ScoringAnswer
    from assay.results.scoring_changes import ScoringChanges

_SHOWN_CHARS = 40


@click.command()
@click.argument("run", default="last", shell_complete=complete_run)
@click.option(
    "--extract", metavar="NAME|regex:PATTERN", help="Extractor that finds the answer in the output."
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME[,NAME]",
    help="Metrics; the first is the headline. own:NAME is a metric of the dataset's own code.",
)
@click.option(
    "--metric-arg",
    "metric_args",
    multiple=True,
    metavar="KEY=VALUE",
    help="Argument of all metrics; METRIC.KEY=VALUE for one of them.",
)
@click.option(
    "--score-by",
    type=click.Choice(["sum", "per_token", "per_char", "per_byte", "pmi"]),
    help="Normalisation of option likelihoods for the method ppl.",
)
@match_option
@several_right_option
@click.option("--judge", metavar="MODEL", help="Model that grades the answers.")
@click.option("--judge-arg", "judge_args", multiple=True, metavar="KEY=VALUE", help="Argument of the judge.")
@click.option(
    "--judge-prompt",
    metavar="FILE",
    help="Prompt template of the judge, with {answer}, {reference} and fields of the row.",
)
@click.option("--method", "methods", multiple=True, help="Rescore only this method.")
@click.option("--task", "tasks", multiple=True, help="Rescore only this task.")
@click.option("--name", metavar="LABEL", help="Name of the scoring. [derived from the options]")
@click.option("--use", metavar="SCORING", help="Make an earlier scoring current, by number or name.")
@click.option("--list-scorings", is_flag=True, help="List the scorings of the run with their numbers.")
@click.option("--list", "list_names", is_flag=True, help="List the extractors and metrics by name.")
@allow_failures_option
@offline_option
@runs_option
@json_option
def score(
    run: str,
    runs_dir: str | None,
    name: str | None,
    use: str | None,
    list_scorings: bool,
    list_names: bool,
    allow_failures: str | None,
    is_json: bool,
    offline: bool | None,
    **chosen: Any,
) -> int | Answer:
    """Rescore the answers of a run without its model. RUN is a folder, an id or `last`.

    All scorings are kept, including the run's own. Without options, answers are scored in the same way as in
    the run, by this version of Assay.
    """
    if list_names:
        return _build_names_answer() if is_json else _show_names()
    from assay.app.stored_runs import find_run

    folder = find_run(run, resolve_runs_folder(runs_dir)).path
    if list_scorings:
        return _build_scorings_answer(folder) if is_json else _show_scorings(folder)
    if use is not None:
        from assay.app.rescore import show_scoring as show

        entry = show(folder, use)
        if is_json:
            return _build_scorings_answer(folder)
        click.echo(f"current scoring: {entry.name}")
        return 0
    from assay.app.allowed_failures import AllowedFailures, is_failed, read_allowed_failures
    from assay.app.rescore import rescore
    from assay.faces.cli.progress import TerminalObserver
    from assay.faces.cli.render import show_failures

    allowed = None if allow_failures is None else AllowedFailures.parse(allow_failures)
    with TerminalObserver(shows_plan=False) as observer:
        done = rescore(
            folder,
            _choices(**chosen),
            label=name,
            offline=is_offline(offline),
            allowed=allowed,
            observer=observer,
        )
    status = FAILED_SAMPLES if is_failed(done.manifest) else 0
    if not is_json:
        _show_rescored(done)
    show_failures(done.manifest, read_allowed_failures(done.manifest))
    return Answer(_build_scoring_answer(done), status) if is_json else status


def _choices(
    extract: str | None,
    metrics: tuple[str, ...],
    metric_args: tuple[str, ...],
    score_by: str | None,
    match: str | None,
    several_right: str | None,
    judge: str | None,
    judge_args: tuple[str, ...],
    judge_prompt: str | None,
    methods: tuple[str, ...],
    tasks: tuple[str, ...],
) -> ScoringChoices:
    from assay.app.scorer_selection import ScoringChoices

    return ScoringChoices(
        extract=extract,
        metrics=_split_values(metrics),
        metric_args=parse_pairs(metric_args, "--metric-arg n_gram=2"),
        score_by=score_by,
        match=match,
        several_right=several_right,
        judge=judge,
        judge_args=parse_pairs(judge_args, "--judge-arg concurrency=4"),
        judge_prompt=None if judge_prompt is None else _read_prompt_file(judge_prompt),
        methods=_split_values(methods),
        tasks=tasks,
    )


def _split_values(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _read_prompt_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        from assay.core.errors import Problem, UsageError
        from assay.core.origin import Origin

        what = f"the judge's prompt cannot be read: {error}"
        raise UsageError(Problem("RESCORE-008", what, "name a text file", Origin(path))) from error


def _build_names_answer() -> Answer:
    from assay.app.metric_selection import METRICS
    from assay.app.scorer_selection import list_extractors
    from assay.faces.cli.answers import ScorersAnswer

    extractors = list_extractors()
    return Answer(ScorersAnswer((*extractors.own, *extractors.post_processors), tuple(METRICS)))


def _show_names() -> int:
    from assay.app.metric_selection import METRICS, list_metric_arguments
    from assay.app.scorer_selection import list_extractors
    from assay.faces.cli.console import out

    extractors = list_extractors()
    out.print("[bold]extractors[/]")
    for name, description in extractors.own.items():
        out.print(f"  {name:<20} {description}", markup=False)
    names = ", ".join(extractors.post_processors)
    out.print(f"  post-processors of configs: {names}", markup=False, soft_wrap=True)
    out.print("[bold]metrics[/]")
    for name in METRICS:
        out.print(f"  {name:<20} {', '.join(list_metric_arguments(name))}".rstrip(), markup=False)
    out.print("  own:NAME             any metric of the dataset's own code", markup=False)
    return 0


def _build_scoring_answer(done: RescoreResult) -> ScoringAnswer:
    from assay.faces.cli.answers import ScoringAnswer

    return ScoringAnswer(
        run=str(done.folder),
        scoring=done.manifest.scoring,
        judge=done.manifest.judge,
        metrics=done.metrics,
        changes=done.changes,
        n_failed=done.tally.n_failed,
        failures=done.tally.failures,
        notes=done.run_notes,
    )


def _show_rescored(done: RescoreResult) -> None:
    from rich.markup import escape

    from assay.faces.cli.console import out
    from assay.faces.cli.render import show_metrics, show_notes

    show_metrics(done.manifest, done.metrics)
    show_notes(done.run_notes)
    _show_changes(done.changes)
    out.print(
        f"[dim]scoring[/] {escape(str(done.folder))}, stored as {escape(done.entry.name)}", soft_wrap=True
    )


def _show_changes(changes: ScoringChanges) -> None:
    from assay.faces.cli.console import out
    from assay.faces.cli.tables import print_rows

    if not changes.n_changed:
        out.print(f"no changes in {changes.n:,} scores")
        return
    out.print(
        f"{changes.n_changed:,} of {changes.n:,} scores changed: {changes.n_gained:,} higher, "
        f"{changes.n_lost:,} lower"
    )
    rows = [
        (
            one.sample_id,
            one.method,
            one.after.target or "-",
            _format_score(one.before),
            _format_score(one.after),
        )
        for one in changes.first
    ]
    headings = ("sample", "method", "target", "original scoring", "new scoring")
    print_rows(headings, rows, n_left=5, wrapping=(2, 3, 4))


def _format_score(score: Score) -> str:
    """Return the answer, value and rule of a score, shortened."""
    value = str(score.verdict) if score.value is None else f"{score.value:g}"
    answer = score.answer
    if answer is None:
        return value
    short = answer if len(answer) <= _SHOWN_CHARS else answer[: _SHOWN_CHARS - 3] + "..."
    return f"{short!r} {value} ({score.rule or '-'})"


def _build_scorings_answer(folder: Path) -> Answer:
    from assay.app.rescore import list_scorings
    from assay.faces.cli.answers import ListedScoringAnswer, ScoringsAnswer

    listed = (
        ListedScoringAnswer(
            name=one.name,
            is_shown=one.is_shown,
            is_of_older_answers=one.is_of_older_answers,
            scoring=one.manifest.scoring,
            judge=one.manifest.judge,
            metrics=one.heads,
            differences=tuple(one.differences),
        )
        for one in list_scorings(folder)
    )
    return Answer(ScoringsAnswer(tuple(listed)))


def _show_scorings(folder: Path) -> int:
    from assay.app.rescore import list_scorings
    from assay.core.rounding import NOT_KNOWN, format_decimal
    from assay.faces.cli.console import out
    from assay.faces.cli.tables import print_rows
    from assay.results.rows import format_metric_interval, format_metric_value

    rows: list[tuple[str, ...]] = []
    for one in list_scorings(folder):
        marks = [
            *(["current"] if one.is_shown else []),
            *(["older answers"] if one.is_of_older_answers else []),
        ]
        mark = ", ".join(marks)
        for metric, less in zip(one.heads, one.differences, strict=True):
            unit = 100.0 if metric.is_share else 1.0
            difference = NOT_KNOWN if less is None else format_decimal(unit * less, 1, is_signed=True)
            value, interval = format_metric_value(metric), format_metric_interval(metric)
            cells = (metric.task, metric.method, metric.metric, value, interval, difference)
            rows.append((one.name, *cells, mark))
            mark = ""
        if not one.heads:
            rows.append((one.name, "not scored", *[""] * 5, mark))
    headings = ("scoring", "task", "method", "metric", "score", "95 % interval", "difference", "")
    print_rows(headings, rows, n_left=8, wrapping=(1,), n_once=1)
    out.print("[dim]switch with `assay score RUN --use NUMBER`[/]")
    return 0
