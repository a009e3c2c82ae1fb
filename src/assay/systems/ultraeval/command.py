"""`assay as ultraeval`: the original's command lines for choosing tasks and for running them, in one."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import click

from assay.backends.registry import BACKENDS
from assay.core.errors import listing, suggest_name
from assay.dialects.ultraeval.arguments import TransformArguments, read_transform_arguments
from assay.dialects.ultraeval.collect import collect_tasks
from assay.dialects.ultraeval.compile import DIALECT
from assay.dialects.ultraeval.config import format_task_part
from assay.dialects.ultraeval.detect import DATASETS, find_dataset_folders
from assay.systems.command_line import foreign_command, print_notes
from assay.systems.flag_table import CommandLine, usage_error
from assay.systems.ultraeval.flags import FLAGS, GENERAL

_API_MODELS = ("gpt3_5", "gpt-3.5-turbo", "gpt4", "gpt-4")
_SERVER = "ultraeval"
"""The backend for these servers."""
_BATCH_ARGUMENTS = {_SERVER: "batch_size", "hf": "max_batch", "smollm2": "max_batch"}
"""Each backend's name for the batch size."""
_OF_THE_CLIENT = ("url", "concurrency")
"""Arguments that only the original's client uses."""


@foreign_command(FLAGS)
def ultraeval(line: CommandLine) -> int:
    """Evaluate transforms and task configs with UltraEval's own flags."""
    from assay.faces.cli.run import evaluate_and_show, get_exit_status
    from assay.results.output_folder import require_writable
    from assay.results.read import StoredRun
    from assay.systems.ultraeval.result_files import RecordedFlags, result_tables, write_logs

    flags = line.flags
    require_writable(Path(flags.output_base_path), "--output_base_path")
    model, model_args = _resolve_model(flags)
    datasets = _find_datasets(flags)
    # A list of configs defines the method of each task.
    methods = ("gen", "ppl") if flags.config_path else (flags.method or "gen",)
    settings = line.build_settings(
        {"dialect": DIALECT, "model": model, "model_args": model_args, "method": methods}
    )
    print_notes((*line.notes, *_explain_ignored_flags(flags, model)))
    finished = evaluate_and_show(datasets, settings)
    arguments = read_transform_arguments(line.settings.get("dataset_args", {}))
    tasks = [task for name in datasets for task in collect_tasks(name, arguments)]
    folder = Path(flags.output_base_path) / time.strftime("%Y-%m-%d_%H-%M-%S")
    recorded = RecordedFlags(flags.batch_size or 1, flags.postprocess or "", flags.params or "")
    run = StoredRun(finished.folder)
    results = write_logs(run, tasks, finished.tasks, folder, recorded, with_instances=flags.write_out)
    for table in result_tables(results):
        click.echo(f"\n{table}")
    click.echo(f"\n{folder}")
    return get_exit_status(finished)


def _resolve_model(flags: argparse.Namespace) -> tuple[str, dict[str, str]]:
    """Return a model as Assay names it, and its arguments."""
    name: str = flags.model
    args = _parse_pairs(flags.model_args)
    if name in _API_MODELS:
        what = f"{name!r} is a model behind an API, which is not supported"
        raise usage_error(what, f"use a local model, or --model {GENERAL} with a url")
    if name == GENERAL:
        if not args.get("url"):
            what = f"--model {GENERAL} is a server, but --model_args has no url"
            raise usage_error(what, "add --model_args url=http://127.0.0.1:5002/infer")
        model = f"{_SERVER}:{args.pop('url')}"
    else:
        model = name if name.partition(":")[0] in BACKENDS else f"hf:{name}"
        args = {key: value for key, value in args.items() if key not in _OF_THE_CLIENT}
    batches = _BATCH_ARGUMENTS.get(model.partition(":")[0])
    if batches is not None and flags.batch_size is not None:
        args.setdefault(batches, str(flags.batch_size))
    return model, args


def _parse_pairs(text: str) -> dict[str, str]:
    """Parse `key=value,key=value`."""
    args = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            what = f"--model_args: found {pair!r}, expected key=value"
            raise usage_error(what, "write --model_args url=URL,concurrency=4")
        args[key.strip()] = value.strip()
    return args


def _explain_ignored_flags(flags: argparse.Namespace, model: str) -> Iterator[str]:
    """Yield a note for each flag that has no effect with these other flags."""
    if flags.method is not None and flags.config_path:
        yield "--method: the configs define the method of each task"
    if flags.batch_size is not None and model.partition(":")[0] not in _BATCH_ARGUMENTS:
        yield f"--batch_size: {model} does not support it"
    if flags.model != GENERAL:
        for name in _OF_THE_CLIENT:
            if name in _parse_pairs(flags.model_args):
                yield f"--model_args {name}: {model} is not a server"


def _find_datasets(flags: argparse.Namespace) -> tuple[str, ...]:
    """Return what is evaluated: the config file, or the named folders."""
    if flags.config_path and flags.datasets:
        what = "--config_path and --datasets are both set, but each selects what to evaluate"
        raise usage_error(what, "remove one of them")
    if flags.config_path:
        if flags.tasks:
            what = "--tasks selects tasks of one dataset and cannot be combined with --config_path"
            raise usage_error(what, "write --datasets NAME --tasks TASK,TASK")
        return (flags.config_path,)
    names = _split_names(flags.datasets or "")
    tasks = _split_names(flags.tasks)
    if not names:
        raise usage_error("no dataset is named", "add --datasets NAME or --config_path FILE")
    if tasks and len(names) != 1:
        what = f"--tasks selects tasks of one dataset, but {len(names)} are named"
        raise usage_error(what, "name one dataset")
    place = Path(flags.dataset_dir or ".")
    folders = {folder.resolve().name.lower(): folder for folder in find_dataset_folders(place)}
    if "all" in names:
        return (str(place),)
    for name in names:
        if name not in folders:
            hint = suggest_name(name, folders)
            what = f"there is no dataset {name!r}{hint}; {_describe_folders(place, folders)}"
            fix = "give the folder of the datasets, such as a checkout of the original: --dataset_dir DIR"
            raise usage_error(what, fix)
    if not tasks:
        return tuple(str(folders[name]) for name in names)
    known = _list_task_names(folders[names[0]])
    return (f"{folders[names[0]]}:{','.join(known.get(task, task) for task in tasks)}",)


def _list_task_names(folder: Path) -> dict[str, str]:
    """Return the tasks of a dataset by the original's names: its config files, in lower case."""
    names: dict[str, str] = {}
    for one in collect_tasks(str(folder), TransformArguments()):
        names.setdefault(one.task.lower(), one.task)
        for method, recipe in one.recipes.items():
            if recipe.config_path is not None:
                names[format_task_part(recipe.config_path.stem.removesuffix(f"_{method}")).lower()] = one.task
    return names


def _describe_folders(place: Path, folders: dict[str, Path]) -> str:
    if not folders:
        return f"there is no dataset folder in {str(place)!r} or {str(place / DATASETS)!r}"
    return f"there are {listing(folders)}"


def _split_names(text: str) -> list[str]:
    return [part.strip().lower() for part in text.split(",") if part.strip()]
