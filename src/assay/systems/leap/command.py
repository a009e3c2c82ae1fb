"""`assay as leap`: the original's command line, as intended; the original's own does not start."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from assay.backends.registry import BACKENDS
from assay.dialects.leap.compile import DIALECT
from assay.dialects.leap.detect import CHECKOUT_TASKS, find_task_folder
from assay.systems.command_line import foreign_command, print_notes
from assay.systems.flag_table import CommandLine, usage_error
from assay.systems.leap.flags import FLAGS, ORIGINAL_MAX_TOKENS

_LOCAL = ("hf", "smollm2")
_TEMPERATURES = {"corrected": 0.0, "faithful": 1.0}
"""Default temperatures."""
_RECORDED = (
    *("model", "task", "model_dir", "task_dir", "infer_backend", "tensor_parallel_size"),
    *("gpu_memory_utilization", "max_model_len", "max_new_tokens", "num_fewshot", "temperature", "top_p"),
    *("top_k", "save_dir"),
)
"""The flags that result.json repeats, in the original's order."""


@foreign_command(FLAGS)
def leap(line: CommandLine) -> int:
    """Evaluate Task classes with LEAP's own flags."""
    from assay.dialects.leap.task import LeapTask
    from assay.faces.cli.run import evaluate_and_show, get_exit_status
    from assay.results.output_folder import require_writable
    from assay.results.read import StoredRun
    from assay.systems.leap.result_files import write_results

    flags = line.flags
    if flags.save_dir is not None:
        require_writable(Path(flags.save_dir), "--save_dir")
    model = _resolve_model(flags)
    settings = line.build_settings(_build_own_settings(flags, model))
    print_notes((*line.notes, *_explain_ignored_flags(flags, model)))
    finished = evaluate_and_show((_find_dataset(flags),), settings)
    if flags.save_dir is not None:
        folder = Path(flags.save_dir) / (flags.task_id or finished.manifest.id)
        tasks = [task for task in finished.tasks if isinstance(task, LeapTask)]
        write_results(StoredRun(finished.folder), tasks, folder, _record_flags(flags))
        click.echo(f"\n{folder}")
    return get_exit_status(finished)


def _build_own_settings(flags: argparse.Namespace, model: str) -> dict[str, Any]:
    """Return the settings that depend on more than one flag."""
    has_length = flags.max_model_len is not None and _is_local(model)
    return {
        "dialect": DIALECT,
        "model": model,
        "model_args": {"context_length": flags.max_model_len} if has_length else {},
        # The original parses the flag but never uses it; the dialect knows what its engine does then.
        "max_tokens": None if flags.fidelity == "faithful" else flags.max_new_tokens,
    }


def _record_flags(flags: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments for result.json."""
    values = {name: getattr(flags, name) for name in _RECORDED}
    usual = _TEMPERATURES[flags.fidelity or "corrected"]
    return values | {"temperature": usual if flags.temperature is None else flags.temperature}


def _resolve_model(flags: argparse.Namespace) -> str:
    """Return a model as Assay names it: a folder in --model_dir, else a name of Assay's or of the hub."""
    name: str = flags.model
    folder = Path(flags.model_dir) / name
    if folder.is_dir():
        return f"hf:{folder}"
    return name if name.partition(":")[0] in BACKENDS else f"hf:{name}"


def _is_local(model: str) -> bool:
    return model.partition(":")[0] in _LOCAL


def _explain_ignored_flags(flags: argparse.Namespace, model: str) -> Iterator[str]:
    """Yield a note for each flag that has no effect with these other flags."""
    if flags.max_model_len is not None and not _is_local(model):
        yield f"--max_model_len: {model} does not support it"
    if flags.fidelity == "faithful" and flags.max_new_tokens != ORIGINAL_MAX_TOKENS:
        yield f"--max_new_tokens: the original ignores it and generates {ORIGINAL_MAX_TOKENS} tokens"


def _find_dataset(flags: argparse.Namespace) -> str:
    """Return the tasks as Assay names them: their folder and the selected tasks."""
    place = Path(flags.dataset_dir or ".")
    if find_task_folder(place) is None:
        places = ", ".join(repr(str(place / inside)) for inside in ("", *CHECKOUT_TASKS))
        fix = "give the folder of the task files, such as a checkout of the original: --dataset_dir DIR"
        raise usage_error(f"there is no Task class in any of {places}", fix)
    return f"{place}:{flags.task}"
