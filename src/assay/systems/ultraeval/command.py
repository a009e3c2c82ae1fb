"""`assay as ultraeval`: the original's command lines for choosing tasks and for running them, in one."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from assay.backends.registry import BACKENDS
from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.dialects.ultraeval.arguments import TransformArguments, read_transform_arguments
from assay.dialects.ultraeval.collect import collect_tasks
from assay.dialects.ultraeval.compile import DIALECT
from assay.dialects.ultraeval.config import format_task_part
from assay.dialects.ultraeval.detect import DATASETS, find_dataset_folders
from assay.faces.cli.options import build_settings
from assay.systems.command_line import ForeignParser, foreign_command, parse_flags

GENERAL = "general"
"""The original's name for any model behind one of its servers."""
_API_MODELS = ("gpt3_5", "gpt-3.5-turbo", "gpt4", "gpt-4")
_SERVER = "ultraeval"
"""The backend for these servers."""
_BATCH_ARGUMENTS = {_SERVER: "batch_size", "hf": "max_batch", "smollm2": "max_batch"}
"""Each backend's name for the batch size."""
_OF_THE_CLIENT = ("url", "concurrency")
"""Arguments that only the original's client uses."""


@foreign_command
def ultraeval(arguments: tuple[str, ...]) -> int:
    """Evaluate transforms and task configs with UltraEval's own flags."""
    given = parse_flags(_parser(), arguments)
    if given is None:
        return 0
    from rich.markup import escape

    from assay.faces.cli.render import err
    from assay.faces.cli.run import evaluate_and_show, get_exit_status
    from assay.results.output_folder import require_writable
    from assay.results.read import StoredRun
    from assay.systems.ultraeval.result_files import RecordedFlags, result_tables, write_logs

    require_writable(Path(given.output_base_path), "--output_base_path")
    model, model_args = _model(given)
    datasets = _datasets(given)
    dataset_args = _dataset_args(given)
    settings = build_settings(_flags(given, model, model_args, dataset_args))
    for line in _explain_ignored_flags(given, model):
        err.print(f"[dim]{escape(line)}[/]", soft_wrap=True)
    finished = evaluate_and_show(datasets, settings)
    written = [
        one for name in datasets for one in collect_tasks(name, read_transform_arguments(dataset_args))
    ]
    folder = Path(given.output_base_path) / time.strftime("%Y-%m-%d_%H-%M-%S")
    recorded = RecordedFlags(given.batch_size or 1, given.postprocess, given.params)
    run = StoredRun(finished.folder)
    results = write_logs(run, written, finished.tasks, folder, recorded, with_instances=given.write_out)
    for table in result_tables(results):
        click.echo(f"\n{table}")
    click.echo(f"\n{folder}")
    return get_exit_status(finished)


def _parser() -> ForeignParser:
    parser = ForeignParser(
        "ultraeval", "--model MODEL (--datasets NAME,... | --config_path FILE) [--model_args X=Y,...] [FLAGS]"
    )
    parser.add_argument(
        "--model", required=True, help=f"{GENERAL}: a server of the original, by its url; or an Assay model"
    )
    parser.add_argument("--model_args", default="", help="url=URL,concurrency=N; or arguments of the model")
    parser.add_argument("--datasets", help="NAME,NAME or all: folders of ./datasets")
    parser.add_argument("--tasks", default="", help="TASK,TASK of a single dataset")
    parser.add_argument("--method", type=str.lower, choices=("gen", "ppl"), help="which configs [gen]")
    parser.add_argument("--config_path", help="a task config, or a list of them")
    parser.add_argument("--output_base_path", default="logs", help="folder for the original's files [logs]")
    parser.add_argument("--batch_size", type=int, help="batch size")
    parser.add_argument("--num_fewshot", type=int, help="number of examples, instead of the configs' numbers")
    parser.add_argument("--postprocess", default="", help="post-processor, if the configs name none")
    parser.add_argument("--params", default="", help="sampling parameters, if the configs name none")
    parser.add_argument("--limit", type=int, help="use the first N rows of each task")
    parser.add_argument("--write_out", action="store_true", help="also write each row with its prompt")
    own = parser.add_own_group()
    own.add_argument("--dataset_dir", help="folder of datasets, or a checkout of the original")
    own.add_argument("--seed", type=int, help="seed of all random draws [0]")
    own.add_argument("--fidelity", choices=["corrected", "faithful"], help="reproduce the original exactly")
    quiet = parser.add_argument_group("accepted without effect; a note says what happens instead")
    quiet.add_argument("--save", metavar="FILE")
    return parser


def _flags(
    given: argparse.Namespace, model: str, model_args: dict[str, str], dataset_args: dict[str, str]
) -> dict[str, Any]:
    """Return the flags with the names of `assay run`."""
    # A list of configs defines the method of each task.
    methods = ("gen", "ppl") if given.config_path else (given.method or "gen",)
    return {
        "dialect": DIALECT,
        "model": model,
        "model_args": tuple(f"{key}={value}" for key, value in model_args.items()),
        "dataset_args": tuple(f"{key}={value}" for key, value in dataset_args.items()),
        "method": methods,
        "shots": given.num_fewshot,
        "limit": None if given.limit is None else f"first:{given.limit}",
        "seed": given.seed,
        "fidelity": given.fidelity,
        "fresh": given.fresh,
    }


def _dataset_args(given: argparse.Namespace) -> dict[str, str]:
    return {name: value for name in ("params", "postprocess") if (value := getattr(given, name))}


def _model(given: argparse.Namespace) -> tuple[str, dict[str, str]]:
    """Return a model as Assay names it, and its arguments."""
    name: str = given.model
    args = _pairs(given.model_args)
    if name in _API_MODELS:
        what = f"{name!r} is a model behind an API, which is not supported"
        raise UsageError(Problem("USAGE-006", what, f"use a local model, or --model {GENERAL} with a url"))
    if name == GENERAL:
        if not args.get("url"):
            what = f"--model {GENERAL} is a server, but --model_args has no url"
            raise UsageError(Problem("USAGE-006", what, "add --model_args url=http://127.0.0.1:5002/infer"))
        model = f"{_SERVER}:{args.pop('url')}"
    else:
        model = name if name.partition(":")[0] in BACKENDS else f"hf:{name}"
        args = {key: value for key, value in args.items() if key not in _OF_THE_CLIENT}
    batches = _BATCH_ARGUMENTS.get(model.partition(":")[0])
    if batches is not None and given.batch_size is not None:
        args.setdefault(batches, str(given.batch_size))
    return model, args


def _pairs(text: str) -> dict[str, str]:
    """Parse `key=value,key=value`."""
    args = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            what = f"--model_args: found {pair!r}, expected key=value"
            raise UsageError(Problem("USAGE-006", what, "write --model_args url=URL,concurrency=4"))
        args[key.strip()] = value.strip()
    return args


def _explain_ignored_flags(given: argparse.Namespace, model: str) -> Iterator[str]:
    """Yield a note for each given flag without effect."""
    if given.save is not None:
        yield "--save: no list of configs is written; the datasets are evaluated directly"
    if given.method is not None and given.config_path:
        yield "--method: the configs define the method of each task"
    if given.batch_size is not None and model.partition(":")[0] not in _BATCH_ARGUMENTS:
        yield f"--batch_size: {model} does not support it"
    if given.model != GENERAL:
        for name in _OF_THE_CLIENT:
            if name in _pairs(given.model_args):
                yield f"--model_args {name}: {model} is not a server"


def _datasets(given: argparse.Namespace) -> tuple[str, ...]:
    """Return what is evaluated: the config file, or the named folders."""
    if given.config_path and given.datasets:
        what = "--config_path and --datasets are both set, but each selects what to evaluate"
        raise UsageError(Problem("USAGE-006", what, "remove one of them"))
    if given.config_path:
        if given.tasks:
            what = "--tasks selects tasks of one dataset and cannot be combined with --config_path"
            raise UsageError(Problem("USAGE-006", what, "write --datasets NAME --tasks TASK,TASK"))
        return (given.config_path,)
    names = _split_names(given.datasets or "")
    tasks = _split_names(given.tasks)
    if not names:
        raise UsageError(
            Problem("USAGE-006", "no dataset is named", "add --datasets NAME or --config_path FILE")
        )
    if tasks and len(names) != 1:
        what = f"--tasks selects tasks of one dataset, but {len(names)} are named"
        raise UsageError(Problem("USAGE-006", what, "name one dataset"))
    place = Path(given.dataset_dir or ".")
    folders = {folder.resolve().name.lower(): folder for folder in find_dataset_folders(place)}
    if "all" in names:
        return (str(place),)
    for name in names:
        if name not in folders:
            hint = suggest_name(name, folders)
            what = f"there is no dataset {name!r}{hint}; {_describe_folders(place, folders)}"
            fix = "give the folder of the datasets, such as a checkout of the original: --dataset_dir DIR"
            raise UsageError(Problem("USAGE-006", what, fix))
    if not tasks:
        return tuple(str(folders[name]) for name in names)
    known = _task_names(folders[names[0]])
    return (f"{folders[names[0]]}:{','.join(known.get(task, task) for task in tasks)}",)


def _task_names(folder: Path) -> dict[str, str]:
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
