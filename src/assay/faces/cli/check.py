"""assay check"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from assay.app.dataset_state import DatasetState
from assay.core.errors import format_count
from assay.faces.cli.completers import complete_dataset
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.option_groups import GroupedCommand
from assay.faces.cli.options import build_settings, dataset_options

if TYPE_CHECKING:
    from assay.app.check import CheckedDataset, Finding
    from assay.app.check_files import FileCheckResult, NamedDatasets
    from assay.app.settings import Settings
    from assay.core.errors import Problem

HAS_ERRORS = 1
"""Exit status when a dataset has errors."""


@click.command(cls=GroupedCommand, shared_from="assay run")
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...", shell_complete=complete_dataset)
@dataset_options
@click.option("--prompts", type=int, default=2, metavar="N", help="Number of prompts to show. [2]")
@click.option(
    "--estimate",
    "is_estimated",
    is_flag=True,
    help="Also estimate the requests, tokens, time and cost of the run. [off]",
)
@json_option
def check(
    datasets: tuple[str, ...], prompts: int, is_estimated: bool, is_json: bool, **flags: Any
) -> int | Answer:
    """Check a dataset without running a model.

    Shows what each column means and the prompts as they will be sent. Reports wrong answers, broken,
    duplicate and empty rows, examples that leak answers, and the balance of labels. With --model, also
    checks that the model supports the methods and that prompts fit its context. For a config, also
    compares it with the README next to it and with the prompt hash in its name.

    With several datasets or a folder, prints one line for each dataset, from its first 50 rows. The exit
    status is 1 if there are errors.
    """
    from assay.app.benchmarks import resolve_benchmarks
    from assay.app.check_files import expand_datasets

    with_model = bool(flags.get("model"))
    settings = build_settings(flags)
    resolved = resolve_benchmarks(datasets, settings.values)
    settings = settings.with_values(resolved.values)
    named = expand_datasets(resolved.names, settings.values.dialect)
    is_one = len(named.datasets) == 1 and named.datasets == resolved.names
    if is_json:
        from assay.faces.cli.check_answer import check_one, check_several

        answer = (
            check_one(datasets, settings, with_model=with_model, n_prompts=prompts)
            if is_one
            else check_several(named, resolved.benchmarks, settings, with_model=with_model)
        )
        # Among many datasets, one whose data is missing is not an error.
        fine = {DatasetState.OK} if is_one else {DatasetState.OK, DatasetState.NEEDS_DATA}
        is_fine = all(one.state in fine for one in answer.datasets)
        if is_estimated and is_fine:
            from assay.app.estimate import estimate_run

            answer = msgspec.structs.replace(answer, estimate=estimate_run(datasets, settings))
        return Answer(answer, 0 if is_fine else HAS_ERRORS)
    if is_one:
        status = show_dataset_check(datasets, settings, with_model=with_model, n_prompts=prompts)
    else:
        status = show_dataset_checks(named, resolved.benchmarks, settings, with_model=with_model)
    if is_estimated and not status:
        from assay.app.estimate import estimate_run
        from assay.faces.cli.estimate import show_estimate

        show_estimate(estimate_run(datasets, settings))
    return status


def show_dataset_check(
    datasets: tuple[str, ...], settings: Settings, *, with_model: bool, n_prompts: int
) -> int:
    """Check one dataset and print the result; return the exit status."""
    from assay.app.benchmarks import resolve_benchmarks
    from assay.app.check import check as look
    from assay.app.check_files import collect_file_findings
    from assay.core.errors import AssayError
    from assay.faces.cli.console import out
    from assay.faces.cli.progress_views import download_bars
    from assay.faces.cli.render import show_all_compiled, show_error

    try:
        with download_bars():
            checked = look(datasets, settings, with_model=with_model)
    except AssayError as error:
        show_error(error)
        return HAS_ERRORS
    if not with_model:
        out.print("[dim]prompts as plain text; add --model to see them in that model's chat template[/]")
    n_warnings = 0
    for name, members in _group_by_dataset(checked).items():
        compiled = [one.compiled for one in members]
        show_all_compiled(compiled, [one.task for one in compiled], n_prompts=n_prompts, every_method=True)
        for one in members:
            task = one.compiled.task.spec.name
            place = "" if len(members) == 1 else f"{task.removeprefix(f'{name}:')}: "
            for finding in one.findings:
                n_warnings += finding.is_warning
                _show_finding(finding, place)
    for about in collect_file_findings(resolve_benchmarks(datasets, settings.values).names, settings.values):
        n_warnings += about.finding.is_warning
        _show_finding(about.finding)
    out.print(f"[bold green]no errors[/], {format_count(n_warnings, 'warning')}")
    return 0


def _show_finding(finding: Finding, place: str = "") -> None:
    from rich.markup import escape

    from assay.faces.cli.console import out

    mark = "[yellow]warning[/]" if finding.is_warning else "[dim]fact   [/]"
    out.print(f"  {mark}   {escape(place)}{escape(finding.text)}", soft_wrap=True)


def _group_by_dataset(checked: Sequence[CheckedDataset]) -> dict[str, list[CheckedDataset]]:
    found: dict[str, list[CheckedDataset]] = {}
    for one in checked:
        spec = one.compiled.task.spec
        found.setdefault(spec.family or spec.name, []).append(one)
    return found


def show_dataset_checks(
    named: NamedDatasets, benchmarks: Mapping[str, str], settings: Settings, *, with_model: bool
) -> int:
    """Check many datasets and print a line for each; return the exit status.

    `benchmarks`: the benchmark's name for each dataset that stands for one.
    """
    from rich.markup import escape

    from assay.app.check_files import check_files, collect_file_findings
    from assay.faces.cli.console import out
    from assay.faces.cli.dataset_states import show_counts, show_states

    found = check_files(named.datasets, settings, with_model=with_model)
    counts = show_states(
        [benchmarks.get(name) or _format_name(name) for name in named.datasets],
        ((one.state, _format_result(one)) for one in found),
    )
    if named.skipped:
        out.print(
            f"[dim]not datasets: {escape(', '.join(map(_format_name, named.skipped)))}[/]", soft_wrap=True
        )
    for about in collect_file_findings(named.datasets, settings.values):
        if about.finding.is_warning:
            _show_finding(about.finding, about.place)
    show_counts(counts, "`assay check FILE` shows all problems of one file, each with its fix")
    return HAS_ERRORS if counts[DatasetState.ERROR] else 0


def _format_name(name: str) -> str:
    """Return a dataset's name for a list: its file name, with the selected parts."""
    path, colon, selected = name.partition(":")
    return f"{Path(path).name}{colon}{selected}"


def _format_result(one: FileCheckResult) -> str:
    if one.problem is not None:
        return _format_problem(one.problem, one.n_problems)
    parts = [
        *([f"class {one.class_name}"] if one.class_name else []),
        *([f"{one.n_tasks} subsets"] if one.n_tasks > 1 else []),
        "1 row" if one.n_rows == 1 else f"{one.n_rows:,} rows",
        f"by {', '.join(one.methods)}",
    ]
    return ", ".join(parts)


def _format_problem(problem: Problem, n: int) -> str:
    line = problem.where.line if problem.where is not None and problem.where.row is None else None
    place = "" if line is None else f"line {line}: "
    more = "" if n <= 1 else f" (and {n - 1:,} more)"
    return f"{place}{problem.what} ({problem.code}){more}"
