"""What the command lines of OpenCompass and AISBench share: run each model and print one summary."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import click
from rich.markup import escape

from assay.app.config_declarations import export_model_key
from assay.app.offline.watch import deferring_seal
from assay.app.settings import Settings, resolve_settings
from assay.backends.registry import BACKENDS
from assay.core.errors import AssayError, Problem, StoreError
from assay.core.method import Method
from assay.core.origin import Origin
from assay.dialects.openicl.arguments import NO_META_TEMPLATE
from assay.dialects.openicl.config_search import ConfigKind
from assay.dialects.openicl.models import ModelConfig
from assay.faces.cli.console import out
from assay.faces.cli.render import show_error
from assay.faces.cli.run import evaluate_and_show, get_exit_status
from assay.faces.cli.tables import print_table
from assay.results.read import StoredRun
from assay.systems.aisbench import result_files
from assay.systems.aisbench.custom_config import write_custom_config
from assay.systems.command_line import print_notes
from assay.systems.flag_table import usage_error
from assay.systems.opencompass.config_plan import CommandNames, ConfigPlan, PlannedRun, Planner
from assay.systems.opencompass.result_files import DetailOptions, System, write_predictions, write_results
from assay.systems.opencompass.summary_table import (
    ModelColumn,
    list_failed_rows,
    plain_table,
    summary_table,
    write_summary,
)
from assay.systems.opencompass.work_folder import WorkFolder

Stage: TypeAlias = Literal["all", "infer", "score", "viz"]

ERROR_STATUS = 2
"""Exit status if an error kept a model from being evaluated."""
_OF_TABLES = ("table", "meta", "method")
"""Settings that define how a table is read."""
_MODEL_FIELDS = ("url", "model_name", "host_ip", "host_port", "path", "batch_size", "request_rate")
"""Flags that set a field of the named models."""
_KINDS: Sequence[ConfigKind] = ("models", "datasets", "summarizers")


class ConfigCommand(NamedTuple):
    """A command of either system."""

    system: System
    names: CommandNames
    stage: Stage
    reuse: str | None
    work_dir: Path
    config_dir: Path | None
    root: Path | None
    """A checkout of the original."""
    details: DetailOptions
    settings: Mapping[str, Any]
    """Settings for every run, with the names of `assay run`."""
    is_dry: bool = False
    is_search: bool = False


def read_names(flags: argparse.Namespace, entries: Sequence[Mapping[str, Any]] = ()) -> CommandNames:
    """Return the names on the command line of either system."""
    if flags.config and flags.custom_dataset_path:
        what = "a config and --custom-dataset-path are both set; the original would ignore the second"
        raise usage_error(what, "remove one of them")
    if flags.datasets and flags.custom_dataset_path:
        what = "--datasets and --custom-dataset-path are both set; the original would ignore the second"
        raise usage_error(what, "remove one of them")
    meta = flags.custom_dataset_meta_path
    if meta is not None and not Path(meta).is_file():
        what = f"--custom-dataset-meta-path: the file {meta!r} does not exist"
        raise usage_error(what, "give the path of a JSON file")
    fields = {name: getattr(flags, name, None) for name in _MODEL_FIELDS}
    return CommandNames(
        flags.config,
        flags.models or (),
        flags.datasets or (),
        flags.summarizer,
        flags.custom_dataset_path,
        entries,
        fields,
    )


def run_configs(command: ConfigCommand) -> int:
    """Carry out a command; return the exit status."""
    planner = Planner(command.config_dir, command.root)
    if command.is_search:
        return search_configs(planner, command.names)
    if command.stage in ("score", "viz") and command.reuse is None:
        what = f"mode {'eval' if command.stage == 'score' else 'viz'} needs the answers of an earlier run"
        raise usage_error(what, "add --reuse TIME, or --reuse alone for the latest run")
    if command.stage == "viz" and not (
        command.names.config or command.names.models or command.names.datasets
    ):
        work = _open_work_folder(command)
        return _report_summary(work, [(name, name) for name in work.models()], None, command)
    has_judge = command.settings.get("judge") is not None or command.stage in ("infer", "viz")
    plan = planner.plan(command.names, needs_model=command.stage != "viz", needs_judge=not has_judge)
    print_notes((*plan.notes, *plan.summary.notes))
    if command.is_dry:
        return _show_plan(plan, command)
    work = _open_work_folder(command)
    status = 0
    if command.stage != "viz":
        work.write_config(plan.values)
        with deferring_seal(planned.model.model for planned in plan.runs):
            for planned in plan.runs:
                status = max(status, _run_safely(planned, plan, command, work))
    models = [(planned.model.abbr, planned.model.column) for planned in plan.runs]
    if command.stage == "infer":
        again = "the same command with --mode eval --reuse " + work.stamp
        if work.models():
            click.echo(f"\n{work.path}\nanswers are stored but not scored; to score them: {again}")
        return status
    return max(
        status, _report_summary(work, models or [(name, name) for name in work.models()], plan, command)
    )


def _open_work_folder(command: ConfigCommand) -> WorkFolder:
    if command.reuse is None:
        return WorkFolder.create(command.work_dir)
    return WorkFolder.earlier(command.work_dir, command.reuse)


def _run_safely(planned: PlannedRun, plan: ConfigPlan, command: ConfigCommand, work: WorkFolder) -> int:
    """Run one model; report its errors and continue with the other models."""
    try:
        return _run_model(planned, plan, command, work)
    except AssayError as error:
        show_error(error)
        return ERROR_STATUS


def _run_model(planned: PlannedRun, plan: ConfigPlan, command: ConfigCommand, work: WorkFolder) -> int:
    model = planned.model
    print_notes(f"{model.abbr}: {note}" for note in model.notes)
    planned, command = _apply_custom_config(planned, command, plan, work.path / "configs")
    settings = _build_settings(planned, command, plan, work)
    retry = "--reuse" if command.system == "aisbench" else "--retry-failed"
    finished = evaluate_and_show(planned.datasets, settings, plan.summary.groups, retry=retry)
    stored = StoredRun(finished.folder)
    name = model.abbr.replace("/", "_")
    # OpenCompass repeats rows if a dataset requests several answers, and lists the answers of one request.
    _write_files(stored, command, work.path, name, lists_answers=model.drawing.samples is not None)
    return get_exit_status(finished)


def _write_files(
    stored: StoredRun, command: ConfigCommand, folder: Path, model: str, *, lists_answers: bool
) -> None:
    """Write the original's files for one model's run."""
    if command.system == "opencompass":
        write_predictions(stored, folder, model, lists_answers=lists_answers)
        if command.stage != "infer":
            write_results(stored, folder, model, command.details)
        return
    for one in result_files.write_predictions(stored, folder, model):
        counted = "they count as wrong, as in the original" if one.is_counted else "they are not in the score"
        print_notes([f"{model}: {one.n_failed:,} of {one.n:,} {one.noun} of {one.task} failed; {counted}"])
    if command.stage != "infer":
        result_files.write_results(stored, folder, model, command.details)


def _apply_custom_config(
    planned: PlannedRun, command: ConfigCommand, plan: ConfigPlan, folder: Path
) -> tuple[PlannedRun, ConfigCommand]:
    """Return the run of a custom dataset with the config that AISBench would generate.

    By default Assay's own rules read a table, unless each row has several answers.
    """
    settings = _build_settings(planned, command, plan, None).values
    is_faithful = settings.fidelity == "faithful"
    is_generated = is_faithful or (planned.model.drawing.samples or 1) > 1
    if command.system != "aisbench" or command.names.table is None or not is_generated:
        return planned, command
    if settings.method not in (None, (Method.GEN,)):
        return planned, command
    data_type = settings.table.get("data_type")
    config = write_custom_config(
        command.names.table, settings.meta, data_type, folder, is_faithful=is_faithful
    )
    if config is None:
        return planned, command
    remaining = {name: value for name, value in command.settings.items() if name not in _OF_TABLES}
    return planned._replace(datasets=(str(config),)), command._replace(settings=remaining)


def _build_settings(
    planned: PlannedRun, command: ConfigCommand, plan: ConfigPlan, work: WorkFolder | None
) -> Settings:
    """Return the settings of one run: the model's config, overridden by the command."""
    model = planned.model
    drawing = model.drawing
    dataset_args = {
        "openicl_root": None if command.root is None else str(command.root),
        "meta_template": _read_meta_template(model, command.system),
        "pred_postprocessor": model.postprocessor,
        "max_out_len": None if model.max_tokens is None else str(model.max_tokens),
        "stop_words": json.dumps(drawing.stop) if drawing.stop else None,
    }
    flags: dict[str, Any] = {
        "model": model.model,
        "model_args": export_model_key(model) or None,
        "chat": {None: None, True: "on", False: "off"}[model.is_chat],
        "temperature": drawing.temperature,
        "top_p": drawing.top_p,
        "samples": drawing.samples,
        "seed": drawing.seed,
        **_read_judge(plan),
        **{name: value for name, value in command.settings.items() if value is not None},
        "dataset_args": {name: value for name, value in dataset_args.items() if value is not None} or None,
    }
    if command.system == "aisbench" and command.reuse is not None:
        flags["retry_failed"] = True  # As in the original: --reuse retries failed rows.
    if work is not None:
        flags["runs_dir"] = str(work.get_runs_folder(model.abbr))
        flags["stage"] = command.stage if command.stage != "viz" else None
        if command.stage == "score":
            flags["answers_from"] = str(_require_answers(work, model.abbr).path)
    settings = resolve_settings(flags, os.environ, Path.cwd())
    is_faithful = settings.values.fidelity == "faithful"
    if is_faithful and work is not None and "retry_failed" in flags and command.stage != "score":
        earlier = work.last_run(model.abbr)
        # AISBench continues with the answers stored under the model's abbr, wherever it is served now.
        flags["answers_from"] = None if earlier is None else str(earlier.path)
        settings = resolve_settings(flags, os.environ, Path.cwd())
    if is_faithful and model.faithful_args:
        flags["model_args"] = {**(flags["model_args"] or {}), **model.faithful_args}
        if model.faithful_temperature is not None:
            flags["temperature"] = model.faithful_temperature
        if model.is_service:
            flags["stop"] = drawing.stop  # OpenCompass sends services no stop texts of datasets.
        settings = resolve_settings(flags, os.environ, Path.cwd())
    return settings


def _read_meta_template(model: ModelConfig, system: System) -> str | None:
    """Return the model's role marks, for the datasets."""
    if model.meta_template is not None:
        return json.dumps(model.meta_template)
    return NO_META_TEMPLATE if system == "opencompass" and model.is_service else None


def _read_judge(plan: ConfigPlan) -> dict[str, Any]:
    """Return the judge that the configs name, if one is needed."""
    if plan.judge is None:
        return {}
    return {"judge": plan.judge.model, "judge_args": export_model_key(plan.judge) or None}


def _require_answers(work: WorkFolder, model: str) -> StoredRun:
    run = work.last_run(model)
    if run is None:
        what = f"there are no answers of {model!r} in this folder"
        fix = "query the model first (--mode infer), or name another run (--reuse TIME)"
        raise StoreError(Problem("STORE-007", what, fix, Origin(str(work.path))))
    return run


def _report_summary(
    work: WorkFolder, models: Sequence[tuple[str, str]], plan: ConfigPlan | None, command: ConfigCommand
) -> int:
    """Write and print the summary of complete runs; return the exit status."""
    columns = []
    without: list[str] = []
    for abbr, name in models:
        run = work.last_run(abbr, is_complete=True)
        if run is None:
            without.append(abbr)
        else:
            is_aisbench = command.system == "aisbench"
            results = result_files.read_results(work.path, abbr, run) if is_aisbench else {}
            columns.append(ModelColumn(name, run, results))
    if columns or command.stage == "viz":
        print_notes(
            f"{abbr}: not in the summary, because {work.path} has no scores of it" for abbr in without
        )
    if not columns:
        return ERROR_STATUS  # Without the errors of the runs again: they are above.
    rows = None if plan is None else plan.summary.rows
    path = write_summary(summary_table(columns, rows), columns, work.path / "summary", work.stamp)
    marked = "".join(f"{line}\n" for line in list_failed_rows(columns))
    table = plain_table(summary_table(columns, rows, marks_failed=True))
    click.echo(f"\n{table}\n{marked}\n{path}")
    return ERROR_STATUS if len(columns) < len(models) else 0


def _show_plan(plan: ConfigPlan, command: ConfigCommand) -> int:
    """Show what would run, as far as it can be known without a model."""
    from assay.app.check import check
    from assay.faces.cli.render import show_all_compiled

    for planned in plan.runs:
        model = planned.model
        args = " ".join(f"{name}={value}" for name, value in model.model_args.items())
        out.print(f"[bold]{escape(model.abbr)}[/]  {escape(model.model)} {escape(args)}", soft_wrap=True)
        for note in model.notes:
            out.print(f"  [yellow]note[/]      {escape(note)}", soft_wrap=True)
        compiled = [
            one.compiled
            for one in check(
                planned.datasets, _build_settings(planned, command, plan, None), with_model=False
            )
        ]
        show_all_compiled(compiled, [one.task for one in compiled])
    return 0


def search_configs(planner: Planner, names: CommandNames) -> int:
    """Print the configs with the given names; without names, all configs."""
    from rich.table import Table

    wanted = {"models": names.models, "datasets": names.datasets}
    wanted["summarizers"] = [names.summarizer] if names.summarizer else ()
    has_names = any(wanted.values())
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("Task Type", "Task Name", "Config File Path"):
        table.add_column(heading, overflow="fold")
    for kind in _KINDS:
        for row in _find_configs(planner, kind, wanted[kind], has_names=has_names):
            table.add_row(f"--{kind.removesuffix('s') if kind == 'summarizers' else kind}", *map(escape, row))
    print_table(table)
    return 0


def _find_configs(
    planner: Planner, kind: ConfigKind, names: Sequence[str], *, has_names: bool
) -> Iterator[tuple[str, str]]:
    from assay.dialects.openicl.model_presets import MODEL_PRESETS

    presets = [*MODEL_PRESETS, *BACKENDS] if kind == "models" else []
    if has_names:
        for name in names:
            if planner.places.find(name, kind) is None and name.partition(":")[0] in presets:
                yield name, "(Assay's own)"
            else:
                yield name, str(planner.places.require(name, kind, presets).path)
        return
    files = planner.places.files(kind)
    yield from ((name, "(Assay's own)") for name in presets if name not in files)
    yield from ((paths[0].stem, str(paths[0])) for _, paths in sorted(files.items()))
