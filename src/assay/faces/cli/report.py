"""assay report, assay ls"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.faces.cli.completers import complete_run
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.lazy import Command, LazyGroup
from assay.faces.cli.options import resolve_runs_folder, runs_option

if TYPE_CHECKING:
    from assay.faces.cli.answers import RunsAnswer

_LISTS = {
    "benchmarks": Command(
        "assay.faces.cli.benchmarks:benchmarks",
        "List the benchmarks of lm-eval, OpenCompass, AISBench and others by name.",
    ),
    "datasets": Command(
        "assay.faces.cli.datasets:datasets",
        "List datasets in folders or on the hub.",
    ),
}


@click.command()
@click.argument("run", default="last", shell_complete=complete_run)
@runs_option
@click.option("--markdown", is_flag=True, help="Print the report as Markdown.")
@json_option
def report(run: str, runs_dir: str | None, markdown: bool, is_json: bool) -> Answer | None:
    """Print the results of a run, or of a group of runs. RUN is a folder, an id or a prefix of one.

    `last` is the latest command: its run, or its runs if it had several models or prompts. For the folder of
    a benchmark, prints the same as `assay bench FOLDER`.
    """
    from assay.app.bench_page import is_bench, read_bench
    from assay.app.run_groups import find_group
    from assay.app.stored_runs import find_run
    from assay.core.run import RunStatus
    from assay.faces.cli.console import out
    from assay.faces.cli.render import show_metrics, show_notes
    from assay.results.report import Highlights, render_report

    if is_bench(Path(run)) and not markdown:
        from assay.faces.cli.bench_screen import read_bench_answer, show_bench

        if is_json:
            return read_bench_answer(Path(run))
        show_bench(read_bench(Path(run)), profile="assay")
        return None
    root = resolve_runs_folder(runs_dir)
    if (group := find_group(run, root)) is not None:
        from assay.faces.cli.run_group import report_group

        return report_group(group, is_json=is_json, is_markdown=markdown)
    stored = find_run(run, root)
    if is_json:
        from assay.faces.cli.answers import build_run_answer

        return Answer(build_run_answer(stored.path, stored.manifest, stored.metrics()))
    if markdown:
        click.echo(render_report(stored.manifest, stored.metrics(), Highlights(stored.scores())), nl=False)
        return None
    manifest = stored.manifest
    out.print(
        f"[bold]{manifest.id}[/]  {manifest.status}, started {manifest.started}, model {manifest.title}"
    )
    if manifest.status is RunStatus.ANSWERED:
        out.print("[yellow]answered, not scored yet: score it with the same `assay run` and --stage score[/]")
        return None
    if manifest.status is RunStatus.STOPPED:
        show_notes(manifest.notes)
        return None
    if not manifest.status.is_finished:
        n = sum(1 for _ in stored.responses())
        out.print(f"[yellow]not complete: {n:,} responses so far; the same `assay run` resumes it[/]")
        return None
    show_metrics(manifest, stored.metrics())
    show_notes(manifest.notes)
    return None


@click.command(cls=LazyGroup, table=_LISTS, invoke_without_command=True)
@runs_option
@json_option
@click.pass_context
def ls(context: click.Context, runs_dir: str | None, is_json: bool) -> Answer | None:
    """List runs, latest last. The commands below list benchmarks and datasets."""
    if context.invoked_subcommand is not None:
        if is_json:
            raise click.UsageError(
                f"put --json at the end: assay ls {context.invoked_subcommand} --json", context
            )
        return None
    root = resolve_runs_folder(runs_dir)
    if is_json:
        return Answer(_build_runs_answer(root))
    _show_list(root)
    return None


def _build_runs_answer(root: Path) -> RunsAnswer:
    """Return the JSON answer: the runs and benchmarks in a folder."""
    from assay.app.stored_runs import list_results
    from assay.faces.cli.answers import RunsAnswer, build_run_answer
    from assay.results.run_group import list_group_folders

    found = list_results(root)
    answers = (build_run_answer(*run) for run in found.runs)
    groups = tuple(map(str, list_group_folders(root)))
    return RunsAnswer(tuple(answers), tuple(map(str, found.benches)), found.problems, groups)


def _show_list(root: Path) -> None:
    from rich.markup import escape

    from assay.app.stored_runs import list_results
    from assay.core.errors import StoreError
    from assay.faces.cli.console import out
    from assay.faces.cli.render import show_error
    from assay.faces.cli.tables import print_rows
    from assay.results.rows import format_metric_interval, format_metric_value, is_perplexity
    from assay.results.run_group import list_group_folders
    from assay.results.subset_families import group_by_family, is_subset_mean

    runs, benches, problems = list_results(root)
    if problems:
        show_error(StoreError(problems))
    if not runs and not benches and not problems:
        out.print(f"no runs under {root}/; create one with `assay run data.csv`")
        return
    rows: list[tuple[str, ...]] = []
    for folder, manifest, headlines in runs:
        head = (
            folder.name,
            str(manifest.status),
            manifest.started[:16].replace("T", " "),
            manifest.title,
        )
        for metric in headlines:
            method = f"{metric.method} (perplexity)" if is_perplexity(metric) else metric.method
            task = metric.task + (" (mean of subsets)" if is_subset_mean(metric, manifest) else "")
            cells = (task, method, format_metric_value(metric), format_metric_interval(metric))
            rows.append((*head, *cells))
        if not headlines:
            titles = ", ".join(family.title for family in group_by_family(manifest.tasks))
            rows.append((*head, titles, "", "", ""))
    if runs:
        headings = ("run", "status", "started", "model", "task", "method", "score", "95 %\ninterval")
        print_rows(headings, rows, n_left=8, wrapping=(4,), optional=((2,),), n_once=4)
    if runs and (benches or list_group_folders(root)):
        out.print()
    for group in list_group_folders(root):
        out.print(f"[bold]group[/]  {escape(str(group))}", soft_wrap=True)
    for bench in benches:
        out.print(f"[bold]benchmark[/]  {escape(str(bench))}", soft_wrap=True)
