"""`assay as leap`: the original's command line, as intended; the original's own does not start."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from assay.backends.registry import BACKENDS
from assay.core.errors import Problem, UsageError
from assay.dialects.leap.compile import DIALECT
from assay.dialects.leap.detect import CHECKOUT_TASKS, find_task_folder
from assay.faces.cli.options import build_settings
from assay.systems.command_line import ForeignParser, foreign_command, parse_flags

_LOCAL = ("hf", "smollm2")
_BY_THE_CLASS = -1
"""The original's value that leaves the number of examples to n_shot()."""
_ORIGINAL_MAX_TOKENS = 16
_NO_TOP_K = (-1, 0)
_TEMPERATURES = {"corrected": 0.0, "faithful": 1.0}
"""Default temperatures."""
_ONE_ENGINE = "the local model runs with transformers on one device, with the same numbers up to rounding"
_IGNORED_FLAGS = {
    "device": "set CUDA_VISIBLE_DEVICES in the environment",
    "infer_backend": _ONE_ENGINE,
    "tensor_parallel_size": _ONE_ENGINE,
    "gpu_memory_utilization": "batches always fit the available memory",
    "write_out": "there is no leaderboard to write to; the run folder contains the results",
}
"""Flags that change no number, and what happens instead."""
_RECORDED = (
    *("model", "task", "model_dir", "task_dir", "infer_backend", "tensor_parallel_size"),
    *("gpu_memory_utilization", "max_model_len", "max_new_tokens", "num_fewshot", "temperature", "top_p"),
    *("top_k", "save_dir"),
)
"""The flags that result.json repeats, in the original's order."""


@foreign_command
def leap(arguments: tuple[str, ...]) -> int:
    """Evaluate Task classes with LEAP's own flags."""
    given = parse_flags(_parser(), arguments)
    if given is None:
        return 0
    from rich.markup import escape

    from assay.dialects.leap.task import LeapTask
    from assay.faces.cli.render import err
    from assay.faces.cli.run import evaluate_and_show, get_exit_status
    from assay.results.output_folder import require_writable
    from assay.results.read import StoredRun
    from assay.systems.leap.result_files import write_results

    _reject_flags(given)
    if given.save_dir is not None:
        require_writable(Path(given.save_dir), "--save_dir")
    model = _model(given)
    settings = build_settings(_flags(given, model))
    for line in _explain_ignored_flags(given, model):
        err.print(f"[dim]{escape(line)}[/]", soft_wrap=True)
    finished = evaluate_and_show((_dataset(given),), settings)
    if given.save_dir is not None:
        folder = Path(given.save_dir) / (given.task_id or finished.manifest.id)
        tasks = [task for task in finished.tasks if isinstance(task, LeapTask)]
        write_results(StoredRun(finished.folder), tasks, folder, _configs(given))
        click.echo(f"\n{folder}")
    return get_exit_status(finished)


def _parser() -> ForeignParser:
    parser = ForeignParser("leap", "--model MODEL --task NAME,NAME [--task_dir DATA] [FLAGS]")
    parser.add_argument("--model", required=True, help="folder in --model_dir, hub name, or an Assay model")
    parser.add_argument("--task", required=True, help="NAME,NAME; with wildcards: klue_*")
    parser.add_argument("--task_dir", help="folder of the data [next to the tasks]")
    parser.add_argument("--model_dir", default="/home", help="folder of models [/home]")
    parser.add_argument("--num_fewshot", type=int, default=_BY_THE_CLASS, help="examples; -1: n_shot() [-1]")
    parser.add_argument(
        "--max_new_tokens", type=int, default=_ORIGINAL_MAX_TOKENS, help="maximum output [16]"
    )
    parser.add_argument("--max_model_len", type=int, help="maximum context length of the model")
    parser.add_argument("--temperature", type=float, help="0 is greedy [0, faithful: 1]")
    parser.add_argument("--top_p", type=float, default=1.0, help="nucleus sampling [1]")
    parser.add_argument("--save_dir", help="also write the original's files to this folder")
    parser.add_argument("--task_id", help="name of their subfolder [the run's]")
    own = parser.add_own_group()
    own.add_argument("--dataset_dir", help="folder of task files, or a checkout of the original [.]")
    own.add_argument("--limit", help="N documents of each task, or first:N")
    own.add_argument("--seed", type=int, help="seed of all random draws [0]")
    own.add_argument("--fidelity", choices=["corrected", "faithful"], help="reproduce the original exactly")
    quiet = parser.add_argument_group("accepted without effect; a note says what happens instead")
    quiet.add_argument("--device", metavar="X")
    quiet.add_argument("--infer_backend", choices=("vllm", "vllm_engine", "transformers"))
    quiet.add_argument("--tensor_parallel_size", type=int, metavar="X")
    quiet.add_argument("--gpu_memory_utilization", type=float, metavar="X")
    quiet.add_argument("--write_out", action="store_true")
    rejected = parser.add_argument_group("rejected, because ignoring it would change the numbers")
    rejected.add_argument("--top_k", type=int, default=_NO_TOP_K[0], metavar="X")
    return parser


def _flags(given: argparse.Namespace, model: str) -> dict[str, Any]:
    """Return the flags with the names of `assay run`."""
    has_length = given.max_model_len is not None and _is_local(model)
    return {
        "dialect": DIALECT,
        "model": model,
        "model_args": (f"context_length={given.max_model_len}",) if has_length else (),
        "shots": None if given.num_fewshot == _BY_THE_CLASS else given.num_fewshot,
        # The original parses the flag but never uses it; the dialect knows what its engine does then.
        "max_tokens": None if given.fidelity == "faithful" else given.max_new_tokens,
        "temperature": given.temperature,
        "top_p": given.top_p,
        "limit": given.limit,
        "seed": given.seed,
        "fidelity": given.fidelity,
        "fresh": given.fresh,
        "data_root": given.task_dir,
    }


def _configs(given: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments for result.json."""
    named = {name: getattr(given, name) for name in _RECORDED}
    usual = _TEMPERATURES[given.fidelity or "corrected"]
    return named | {"temperature": usual if given.temperature is None else given.temperature}


def _model(given: argparse.Namespace) -> str:
    """Return a model as Assay names it: a folder in --model_dir, else a name of Assay's or of the hub."""
    name: str = given.model
    folder = Path(given.model_dir) / name
    if folder.is_dir():
        return f"hf:{folder}"
    return name if name.partition(":")[0] in BACKENDS else f"hf:{name}"


def _is_local(model: str) -> bool:
    return model.partition(":")[0] in _LOCAL


def _reject_flags(given: argparse.Namespace) -> None:
    if given.top_k not in _NO_TOP_K:
        what = "--top_k is not supported: it is not sent to the model, so the texts would not be as requested"
        raise UsageError(Problem("USAGE-006", what, "remove the flag"))


def _explain_ignored_flags(given: argparse.Namespace, model: str) -> Iterator[str]:
    """Yield a note for each given flag without effect."""
    for name, instead in _IGNORED_FLAGS.items():
        if getattr(given, name):
            yield f"--{name}: {instead}"
    if given.max_model_len is not None and not _is_local(model):
        yield f"--max_model_len: {model} does not support it"
    if given.fidelity == "faithful" and given.max_new_tokens != _ORIGINAL_MAX_TOKENS:
        yield f"--max_new_tokens: the original ignores it and generates {_ORIGINAL_MAX_TOKENS} tokens"


def _dataset(given: argparse.Namespace) -> str:
    """Return the tasks as Assay names them: their folder and the selected tasks."""
    place = Path(given.dataset_dir or ".")
    if find_task_folder(place) is None:
        looked = ", ".join(repr(str(place / inside)) for inside in ("", *CHECKOUT_TASKS))
        fix = "give the folder of the task files, such as a checkout of the original: --dataset_dir DIR"
        raise UsageError(Problem("USAGE-006", f"there is no Task class in any of {looked}", fix))
    return f"{place}:{given.task}"
