"""`assay as lm_eval`: the original's commands run, ls and validate."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import listing, suggest_name
from assay.dialects.lm_eval.config import LOGLIKELIHOOD, MULTIPLE_CHOICE
from assay.dialects.lm_eval.selection import Selection, select_tasks
from assay.dialects.lm_eval.task_compilation import DIALECT
from assay.systems.command_line import Subcommand, foreign_command, print_notes
from assay.systems.flag_table import CommandLine, usage_error
from assay.systems.lm_eval.config_file import expand_arguments
from assay.systems.lm_eval.flags import FLAGS, LIST_FLAGS, VALIDATE_FLAGS
from assay.systems.lm_eval.listing import list_tasks, open_index, validate_tasks
from assay.systems.lm_eval.local_tokenizer import open_tokenizer
from assay.systems.lm_eval.names import name_datasets, split_tasks
from assay.systems.lm_eval.used_flags import UsedFlags, read_flags


@foreign_command(
    FLAGS,
    subcommands={
        "ls": Subcommand(LIST_FLAGS, list_tasks),
        "validate": Subcommand(VALIDATE_FLAGS, validate_tasks),
    },
    prepare=expand_arguments,
)
def lm_eval(line: CommandLine) -> int:
    """Evaluate task files with the flags of lm-evaluation-harness (lm-eval).

    `assay as lm_eval ls` lists tasks, groups and tags, and `assay as lm_eval validate` checks task files.
    """
    from assay.faces.cli.run import evaluate_and_show, get_exit_status
    from assay.results.output_folder import require_writable
    from assay.systems.lm_eval.result_files import report_results

    flags = line.flags
    used = read_flags(flags)
    if flags.output_path is not None:
        require_writable(Path(flags.output_path), "--output_path")
    names = split_tasks(flags.tasks)
    index = open_index(flags.include_path, names)
    selection = select_tasks(names, index)
    _check_unsafe(selection, is_confirmed=flags.confirm_run_unsafe_code)
    _check_thinking(selection, used)
    settings = line.build_settings(_build_own_settings(used, selection))
    print_notes((*line.notes, *used.model.notes, *_explain_seed(flags)))
    finished = evaluate_and_show(name_datasets(names, set(index.names)), settings)
    report_results(finished, used, selection)
    return get_exit_status(finished)


def _build_own_settings(used: UsedFlags, selection: Selection) -> dict[str, Any]:
    """Return the settings that a flag does not set by itself."""
    flags, model = used.flags, used.model
    return {
        "dialect": DIALECT,
        "model": model.name,
        "model_args": model.args,
        "chat": "on" if used.applies_template else "off",
        "include_path": tuple(flags.include_path or ()) or None,
        "dataset_args": _build_dataset_args(used, selection),
        "stage": "infer" if flags.predict_only else None,
        "limit": None if flags.limit is None or flags.limit < 1 else f"first:{int(flags.limit)}",
        "seed": None if flags.seed is None else flags.seed[-1],
        **model.settings,
    }


def _check_unsafe(selection: Selection, *, is_confirmed: bool) -> None:
    unsafe = [task.name for task in selection.tasks if task.config.get("unsafe_code")]
    if unsafe and not is_confirmed:
        what = f"the task {unsafe[0]!r} runs code that the model writes"
        raise usage_error(what, "add --confirm_run_unsafe_code if that is acceptable")


def _check_thinking(selection: Selection, used: UsedFlags) -> None:
    if not used.model.thinks:
        return
    kinds = (MULTIPLE_CHOICE, LOGLIKELIHOOD)
    scored = [task.name for task in selection.tasks if task.config.get("output_type") in kinds]
    if scored:
        what = f"--model_args enable_thinking=True: {listing(scored, at_most=3)} score given answers"
        raise usage_error(what, "remove enable_thinking, or name only tasks that generate replies")


def _read_think_end(used: UsedFlags) -> str | None:
    """Return the text after which an answer begins; a number is that of a token."""
    end = used.model.think_end_token
    if not isinstance(end, int):
        return end
    tokenizer = open_tokenizer(used.model)
    text = None if tokenizer is None else tokenizer.find_text(end)
    if not text:
        what = f"--model_args think_end_token={end}: no token with this number is part of a reply's text"
        raise usage_error(what, "give the text: --model_args think_end_token='</think>'")
    return text


def _build_dataset_args(used: UsedFlags, selection: Selection) -> dict[str, str]:
    """Return the arguments of task files that the flags set."""
    flags, length = used.flags, used.model.max_gen_toks
    # Functions that load data can read the model's arguments, such as its tokenizer.
    loads_data = any("custom_dataset" in task.config for task in selection.tasks)
    metadata = used.task_metadata if loads_data else used.metadata
    values: dict[str, Any] = {
        "apply_chat_template": str(used.applies_template).lower(),
        "fewshot_as_multiturn": "false" if flags.fewshot_as_multiturn is False else None,
        "system_instruction": flags.system_instruction,
        "gen_kwargs": json.dumps(used.generation) if used.generation else None,
        "think_end_token": _read_think_end(used),
        "max_gen_toks": None if length is None else str(length),
        "samples": None if flags.samples is None else json.dumps(_read_samples(flags.samples, selection)),
        "limit_share": str(flags.limit) if flags.limit is not None and flags.limit < 1 else None,
        "metadata": json.dumps(metadata) if metadata else None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _read_samples(text: str, selection: Selection) -> dict[str, Any]:
    """Return the value of --samples: JSON, or a file with it."""
    shape = """write --samples '{"TASK": [0, 1, 2]}', or name a file with this content"""
    try:
        content = text if text.lstrip().startswith("{") else Path(text).read_text(encoding="utf-8")
        values = json.loads(content)
    except OSError as error:
        raise usage_error(f"--samples: cannot read {text!r}: {error.strerror}", shape) from error
    except ValueError as error:
        raise usage_error(f"--samples is not valid JSON: {error}", shape) from error
    if not isinstance(values, dict):
        raise usage_error(f"--samples contains {type(values).__name__}, expected tasks and numbers", shape)
    names = [task.name for task in selection.tasks]
    for name in values:
        if name not in names:
            what = f"--samples names {name!r}, which is not among the tasks{suggest_name(name, names)}"
            raise usage_error(what, "name tasks of --tasks")
    return values


def _explain_seed(flags: argparse.Namespace) -> Sequence[str]:
    if flags.seed is None or flags.seed[-1] is not None:
        return ()
    return ("--seed: draws always have a seed, so the usual one is used instead of None",)
