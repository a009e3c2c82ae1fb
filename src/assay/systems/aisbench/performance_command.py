"""`assay as aisbench --mode perf` and `perf_viz`: measure servers, with the original's tables and files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
from rich.markup import escape

from assay.app.bench_page import StoredBench, read_bench
from assay.app.dialects import TABLE, detect_dialect
from assay.app.offline.watch import deferring_seal
from assay.app.settings import RunSettings, resolve_settings
from assay.bench.aisbench_profile import NoResult
from assay.core.errors import AssayError, Problem, StoreError
from assay.core.origin import Origin
from assay.dialects.openicl.performance_summary import PerformanceSummary
from assay.faces.cli.bench import FAILED_CALLS
from assay.faces.cli.bench_screen import BenchScreen
from assay.faces.cli.console import out
from assay.faces.cli.render import show_error
from assay.systems.aisbench.performance import PerfOptions, ReadyLoad, measure_load, perf_notes, prepare_load
from assay.systems.aisbench.performance_files import write_performance
from assay.systems.aisbench.performance_loads import PerfLoad, perf_loads
from assay.systems.command_line import print_notes
from assay.systems.flag_table import usage_error
from assay.systems.opencompass.config_plan import CommandNames, PlannedRun, Planner
from assay.systems.opencompass.config_runs import ERROR_STATUS, search_configs
from assay.systems.opencompass.work_folder import WorkFolder

_READ_SETTINGS = ("meta", "table", "data_root", "fidelity", "method", "offline")
"""Settings of `assay run` that also apply to performance mode."""


class PerformanceCommand(NamedTuple):
    """A command of performance mode."""

    names: CommandNames
    reuse: str | None
    work_dir: Path
    config_dir: Path
    root: Path | None
    """A checkout of the original."""
    perf: PerfOptions
    settings: Mapping[str, Any]
    """How datasets are read, with the names of `assay run`."""
    is_viz: bool = False
    """Whether earlier measurements are reported again, without a server."""
    is_dry: bool = False
    is_search: bool = False
    has_spec_decode: bool = False


def run_performance(command: PerformanceCommand) -> int:
    """Carry out a command; return the exit status."""
    planner = Planner(command.config_dir, command.root)
    if command.is_search:
        return search_configs(planner, command.names)
    summary = planner.performance_summary(command.names)
    if command.is_viz or command.reuse is not None:
        if not command.is_viz:
            note = "mode perf --reuse sends no requests; it reports earlier measurements, like mode perf_viz"
            print_notes([note])
        return _report_again(planner, command, summary)
    plan = planner.plan(command.names, needs_judge=False, is_timed=True)
    print_notes(plan.notes)
    with deferring_seal(planned.model.model for planned in plan.runs):
        ready = [one for planned in plan.runs for one in _prepare_loads(planned, command)]
        if command.is_dry:
            for one in ready:
                _show_load(one)
            return 0
        work = WorkFolder.create(command.work_dir)
        work.write_config(plan.values)
        return _measure_all(ready, command, work, summary)


def _measure_all(
    ready: Sequence[ReadyLoad], command: PerformanceCommand, work: WorkFolder, summary: PerformanceSummary
) -> int:
    """Measure all loads; report a server's errors and continue with the others."""
    status = 0
    for number, one in enumerate(ready, 1):
        try:
            outcome = _measure(one, command, work, summary)
        except AssayError as error:
            show_error(error)
            outcome = _LoadOutcome(ERROR_STATUS, is_ended_early=False)
        status = max(status, outcome.status)
        if outcome.is_ended_early:
            # Whoever stops a load does not want the next one.
            if number < len(ready):
                print_notes([f"{len(ready) - number} more loads were not measured"])
            break
    return status


class _LoadOutcome(NamedTuple):
    """The outcome of one load."""

    status: int
    is_ended_early: bool


def _measure(
    ready: ReadyLoad, command: PerformanceCommand, work: WorkFolder, summary: PerformanceSummary
) -> _LoadOutcome:
    with BenchScreen() as screen:
        finished, counters = measure_load(ready, work, screen, has_spec_decode=command.has_spec_decode)
    status = _report_bench(StoredBench(*finished), work, summary)
    if finished.result.summary is not None:
        for failure in finished.result.summary.failures:
            out.print(f"[red]{failure.n:,} failed[/] ({escape(failure.kind)}): {escape(failure.example)}")
    for note in dict.fromkeys(finished.result.notes):
        out.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
    if counters is not None:
        click.echo(str(counters))
    return _LoadOutcome(max(status, FAILED_CALLS if finished.n_failed else 0), finished.result.is_partial)


def _prepare_loads(planned: PlannedRun, command: PerformanceCommand) -> list[ReadyLoad]:
    """Return all loads of a model; raise all errors before any request is sent."""
    model = planned.model
    run = _build_read_settings(planned, command)
    loads = [prepare_load(model, load, run, command.perf) for load in _list_loads(planned, command, run)]
    notes = [
        note
        for ready in loads
        for note in (
            *perf_notes(model, command.perf, has_times=ready.has_times),
            *_list_part_notes(ready.load),
        )
    ]
    print_notes(f"{model.abbr}: {note}" for note in dict.fromkeys((*model.notes, *notes)))
    return loads


def _list_loads(planned: PlannedRun, command: PerformanceCommand, run: RunSettings) -> list[PerfLoad]:
    return perf_loads(planned.datasets, command.root, None if run.data_root is None else Path(run.data_root))


def _list_part_notes(load: PerfLoad) -> list[str]:
    return [note for part in load.parts for note in part.notes]


def _build_read_settings(planned: PlannedRun, command: PerformanceCommand) -> RunSettings:
    """Return the settings for reading the datasets of a run."""
    model = planned.model
    dataset_args = {
        "openicl_root": None if command.root is None else str(command.root),
        "meta_template": None if model.meta_template is None else json.dumps(model.meta_template),
        "max_out_len": None if model.max_tokens is None else str(model.max_tokens),
        "unscored": "true",
    }
    is_table = all(detect_dialect(name, None, {}) == TABLE for name in planned.datasets)
    flags: dict[str, Any] = {
        **{name: command.settings.get(name) for name in _READ_SETTINGS},
        "model": model.model,
        "max_tokens": command.perf.max_out_len or (model.max_tokens if is_table else None),
    }
    if not is_table:
        flags["dataset_args"] = {name: value for name, value in dataset_args.items() if value is not None}
    return resolve_settings(flags, os.environ, Path.cwd()).values


def _show_load(ready: ReadyLoad) -> None:
    """Show what would be sent."""
    names, shape = ready.names, ready.plan.load.shape
    model = ready.model
    args = " ".join(f"{name}={value}" for name, value in model.model_args.items())
    out.print(f"[bold]{escape(names.model)}[/]  {escape(model.model)} {escape(args)}", soft_wrap=True)
    out.print(f"  {escape(names.load)}: {ready.items.n:,} requests of {escape(', '.join(names.datasets))}")
    out.print(f"  {escape(json.dumps(msgspec.to_builtins(shape)))}", soft_wrap=True)
    for note in ready.items.notes:
        out.print(f"  [yellow]note[/]      {escape(note)}", soft_wrap=True)


# --- reporting ---


def _report_bench(bench: StoredBench, work: WorkFolder, summary: PerformanceSummary) -> int:
    """Write and print the results of a benchmark; return the exit status."""
    names, numbers, page = write_performance(bench, work.path, summary)
    name = f"{names.model}/{names.load}"
    click.echo(f"\nPerformance Results of task [{name}]:")
    if isinstance(numbers, NoResult):
        what = f"there are no results for {name}: {numbers.reason}"
        fix = "check the failed requests; a stable stage needs more requests than batch_size, and time"
        show_error(StoreError(Problem("BENCH-032", what, fix, Origin(str(bench.folder)))))
        status = ERROR_STATUS
    else:
        for table in numbers.tables():
            click.echo(table.draw())
        status = 0
    click.echo(str(page))
    return status


def _report_again(planner: Planner, command: PerformanceCommand, summary: PerformanceSummary) -> int:
    """Report earlier measurements again, from the stored requests."""
    if command.reuse is None:
        what = "mode perf_viz needs an earlier run"
        fix = "add --reuse TIME, or --reuse alone for the latest run"
        raise usage_error(what, fix)
    work = WorkFolder.earlier(command.work_dir, command.reuse, is_timed=True)
    wanted = _find_wanted_loads(planner, command)
    folders = work.benches() if wanted is None else [work.get_bench_folder(*names) for names in wanted]
    if not folders:
        what, fix = (
            "there is no benchmark in this folder",
            "measure first (--mode perf), or name another run (--reuse TIME)",
        )
        raise StoreError(Problem("STORE-005", what, fix, Origin(str(work.path))))
    status = 0
    for folder in folders:
        try:
            status = max(status, _report_bench(read_bench(folder), work, summary))
        except AssayError as error:
            show_error(error)
            status = ERROR_STATUS
    return status


def _find_wanted_loads(planner: Planner, command: PerformanceCommand) -> list[tuple[str, str]] | None:
    """Return the models and loads that a command names; None if it names none."""
    names = command.names
    if not (names.config or names.models or names.datasets or names.table):
        return None
    plan = planner.plan(names, needs_judge=False, is_timed=True)
    return [
        (planned.model.abbr, load.name)
        for planned in plan.runs
        for load in _list_loads(planned, command, _build_read_settings(planned, command))
    ]
