"""Several runs of one command: `assay run` with several models or prompts, and `assay report` of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.markup import escape

from assay.app.allowed_failures import read_allowed_failures
from assay.app.run_groups import GroupResult, read_group, write_group_page
from assay.app.run_plan import plan_runs
from assay.app.settings import Settings
from assay.app.several_runs import FinishedGroup, run_several
from assay.core.errors import AssayError, Problem
from assay.core.run import RunStatus
from assay.faces.cli.answers import build_group_answer
from assay.faces.cli.comparison_screen import show_differences
from assay.faces.cli.console import out
from assay.faces.cli.group_progress import GroupObservers
from assay.faces.cli.json_output import FAULT, Answer
from assay.faces.cli.progress_views import ProgressMode, download_bars
from assay.faces.cli.render import show_error, show_failures, show_notes
from assay.faces.cli.run import get_exit_status
from assay.faces.cli.tables import print_rows
from assay.faces.cli.track import show_tracking
from assay.results.comparison_words import format_side_letter, render_comparison
from assay.results.group_table import build_group_table, describe_counts
from assay.results.rows import markdown_list, markdown_table
from assay.results.run_group import PAGE, StoredGroup


def run_group(
    datasets: tuple[str, ...], settings: Sequence[Settings], progress: ProgressMode, *, is_json: bool
) -> int | Answer:
    """Evaluate several models or prompts, and show their scores and differences; return the exit status.

    2 if a run failed; otherwise the smallest status of a run that is not 0.
    """
    plan = plan_runs(settings)
    if (budget := settings[0].values.budget) is not None and not is_json:
        out.print(f"[bold]budget[/] {escape(budget)} for each of the {len(plan)} runs", soft_wrap=True)
    with download_bars(progress), GroupObservers(progress, plan, shows_plan=not is_json) as observers:
        finished = run_several(datasets, plan, observers.observe)
    result = read_group(StoredGroup(finished.folder))
    page = write_group_page(result)
    status = _get_exit_status(finished)
    if is_json:
        _show_troubles(finished)
        return Answer(build_group_answer(result, page), status)
    if settings[0].values.stage == "infer":
        _show_answers(finished)
    else:
        show_group(result, page)
    _show_notes(finished)
    _show_troubles(finished)
    return status


def _get_exit_status(finished: FinishedGroup) -> int:
    if any(one.error is not None for one in finished.runs):
        return FAULT
    statuses = [get_exit_status(one.finished) for one in finished.runs if one.finished is not None]
    return min((status for status in statuses if status), default=0)


def show_group(result: GroupResult, page: Path | None) -> None:
    """Print the scores of a group's runs, their paired differences, and where the pages are."""
    letters = iter(map(format_side_letter, range(len(result.compared))))
    is_compared = result.comparison is not None
    sides = [next(letters) if is_compared and row.metrics else "" for row in result.rows]
    table = build_group_table(result.rows, sides)
    out.print()
    print_rows(table.headings, table.rows, n_left=table.n_names)
    for line in describe_counts(result.rows):
        out.print(f"[dim]{escape(line)}[/]", soft_wrap=True)
    if result.comparison is not None:
        out.print()
        show_differences(result.comparison)
    for note in result.notes:
        out.print(f"[yellow]not compared: {escape(note)}[/]", soft_wrap=True)
    out.print()
    for row, folder in zip(result.rows, result.group.folders, strict=True):
        if row.manifest is not None and row.metrics:
            title = f"[dim]report[/]  {escape(row.manifest.title)}: {escape(str(folder / 'report.html'))}"
            out.print(title, soft_wrap=True)
    if page is not None:
        out.print(f"[dim]page[/]    {escape(str(page))}", soft_wrap=True)
    out.print(f"[dim]group[/]   {escape(str(result.folder))}", soft_wrap=True)


def report_group(group: StoredGroup, *, is_json: bool, is_markdown: bool) -> Answer | None:
    """Print the results of a stored group; with `is_json`, return them."""
    result = read_group(group)
    page = result.folder / PAGE
    if is_json:
        return Answer(build_group_answer(result, page if page.is_file() else None))
    if is_markdown:
        click.echo(_render_group(result), nl=False)
        return None
    show_group(result, page if page.is_file() else None)
    for member in group.group.runs:
        if member.problems:
            show_error(_name_problems(AssayError(member.problems), member.title))
    return None


def _render_group(result: GroupResult) -> str:
    """Return the scores and the differences as Markdown."""
    table = build_group_table(result.rows, [""] * len(result.rows))
    headings = [heading.replace("\n", " ") for heading in table.headings]
    parts = [markdown_table(headings, table.rows), markdown_list(describe_counts(result.rows))]
    parts += [render_comparison(result.comparison)] if result.comparison is not None else []
    return "\n\n".join(parts).rstrip("\n") + "\n"


def _show_answers(finished: FinishedGroup) -> None:
    out.print()
    for one in finished.runs:
        if one.finished is not None and one.finished.manifest.status is RunStatus.ANSWERED:
            tally = one.finished.tally
            out.print(
                f"{escape(one.planned.title)}: stored answers to {tally.n_requests:,} requests in "
                f"{escape(str(one.finished.folder))}",
                soft_wrap=True,
            )
    out.print("to score the responses without the models, run the same command with --stage score")


def _show_notes(finished: FinishedGroup) -> None:
    """Print the notes of the runs; a note of all runs once."""
    notes: dict[str, list[str]] = {}
    for one in finished.runs:
        for note in () if one.finished is None else one.finished.run_notes:
            notes.setdefault(note, []).append(one.planned.title)
    n_finished = sum(one.finished is not None for one in finished.runs)
    show_notes(
        [note if len(who) == n_finished else f"{', '.join(who)}: {note}" for note, who in notes.items()]
    )


def _show_troubles(finished: FinishedGroup) -> None:
    """Print the failed samples of each run, and the errors of runs that failed."""
    for one in finished.runs:
        if one.finished is not None:
            show_failures(
                one.finished.manifest, read_allowed_failures(one.finished.manifest), who=one.planned.title
            )
            show_tracking(one.finished.tracked)
    for one in finished.runs:
        if one.error is not None:
            show_error(_name_problems(one.error, one.planned.title))


def _name_problems(error: AssayError, title: str) -> AssayError:
    problems: list[Problem] = [
        msgspec.structs.replace(problem, what=f"{title} failed: {problem.what}") for problem in error.problems
    ]
    return AssayError(problems, total=error.total)
