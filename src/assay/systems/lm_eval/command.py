"""`assay as lm_eval`: the original's commands run, ls and validate."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.dialects.lm_eval.compile import DIALECT
from assay.systems.command_line import Subcommand, foreign_command, print_notes
from assay.systems.flag_table import CommandLine, usage_error
from assay.systems.lm_eval.config_file import expand_arguments
from assay.systems.lm_eval.flags import DEFAULT_SEEDS, FLAGS, LIST_FLAGS, VALIDATE_FLAGS
from assay.systems.lm_eval.listing import list_tasks, open_index, validate_tasks
from assay.systems.lm_eval.models import ResolvedModel, find_logged_name, resolve_model
from assay.systems.lm_eval.names import drop_contained_names, name_datasets, split_tasks
from assay.systems.lm_eval.pairs import parse_pairs

if TYPE_CHECKING:
    from assay.app.run import FinishedRun
    from assay.dialects.lm_eval.selection import Selection

_CHAT_ONLY = ("local-chat-completions", "openai-chat-completions")


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
    from assay.dialects.lm_eval.selection import select_tasks
    from assay.faces.cli.run import evaluate_and_show, get_exit_status
    from assay.results.output_folder import require_writable

    flags = line.flags
    model_args = parse_pairs(flags.model_args, "--model_args")
    metadata = parse_pairs(flags.metadata, "--metadata")
    generation = parse_pairs(flags.gen_kwargs, "--gen_kwargs")
    _check_flags(flags)
    if flags.output_path is not None:
        require_writable(Path(flags.output_path), "--output_path")
    model = resolve_model(flags, model_args)
    names = split_tasks(flags.tasks)
    index = open_index(flags.include_path, names)
    names = drop_contained_names(names, index)
    selection = select_tasks(names, index)
    _check_unsafe(selection, is_confirmed=flags.confirm_run_unsafe_code)
    own = {
        "dialect": DIALECT,
        "model": model.name,
        "model_args": model.args,
        "chat": "on" if _applies_template(flags) else "off",
        "include_path": tuple(flags.include_path or ()) or None,
        "dataset_args": _build_dataset_args(
            flags, model, generation, {**model_args, **metadata}, metadata, selection
        ),
        "stage": "infer" if flags.predict_only else None,
        "limit": None if flags.limit is None or flags.limit < 1 else f"first:{int(flags.limit)}",
        "seed": None if flags.seed is None else flags.seed[-1],
        **model.settings,
    }
    settings = line.build_settings(own)
    print_notes((*line.notes, *model.notes, *_explain_seed(flags)))
    finished = evaluate_and_show(name_datasets(names, set(index.names)), settings)
    _report(finished, flags, model, selection, model_args, {**model_args, **metadata}, generation)
    return get_exit_status(finished)


def _check_flags(flags: argparse.Namespace) -> None:
    """Raise for flags that contradict each other, or whose value is impossible."""
    if flags.limit is not None and not (0 < flags.limit < 1 or flags.limit == int(flags.limit) > 0):
        what = f"--limit is {flags.limit:g}, expected a whole number, or a fraction between 0 and 1"
        raise usage_error(
            what, "write --limit 100 for the first 100 documents, --limit 0.1 for the first 10 %"
        )
    if flags.samples is not None and flags.limit is not None:
        raise usage_error("--samples and --limit both select documents", "remove one of them")
    if (flags.log_samples or flags.predict_only) and not flags.output_path:
        name = "--log_samples" if flags.log_samples else "--predict_only"
        raise usage_error(f"{name} writes files, but no folder is named", "add --output_path DIR")
    if flags.fewshot_as_multiturn and not _applies_template(flags):
        what = "--fewshot_as_multiturn needs a conversation, but --apply_chat_template is not set"
        raise usage_error(what, "add --apply_chat_template")
    if flags.model in _CHAT_ONLY and not _applies_template(flags):
        what = f"--model {flags.model} accepts only conversations, but --apply_chat_template is not set"
        raise usage_error(what, "add --apply_chat_template, or use --model local-completions")
    if isinstance(flags.apply_chat_template, str) and flags.apply_chat_template.lower() not in _SWITCHES:
        what = f"--apply_chat_template {flags.apply_chat_template}: named templates are not supported"
        raise usage_error(
            what, "write the flag alone, or --model_args chat_template=FILE for another template"
        )


_SWITCHES = {"true": True, "default": True, "false": False}
"""Values of --apply_chat_template."""


def _applies_template(flags: argparse.Namespace) -> bool:
    given = flags.apply_chat_template
    return _SWITCHES.get(given.lower(), True) if isinstance(given, str) else bool(given)


def _check_unsafe(selection: Selection, *, is_confirmed: bool) -> None:
    unsafe = [task.name for task in selection.tasks if task.config.get("unsafe_code")]
    if unsafe and not is_confirmed:
        what = f"the task {unsafe[0]!r} runs code that the model writes"
        raise usage_error(what, "add --confirm_run_unsafe_code if that is acceptable")


def _build_dataset_args(
    flags: argparse.Namespace,
    model: ResolvedModel,
    generation: Mapping[str, Any],
    every: Mapping[str, Any],
    metadata: Mapping[str, Any],
    selection: Selection,
) -> dict[str, str]:
    """Return the arguments of task files that the flags set."""
    # Functions that load data can read the model's arguments, such as its tokenizer.
    loads_data = any("custom_dataset" in task.config for task in selection.tasks)
    passed = every if loads_data else metadata
    values: dict[str, Any] = {
        "apply_chat_template": str(_applies_template(flags)).lower(),
        "fewshot_as_multiturn": None if flags.fewshot_as_multiturn is not False else "false",
        "system_instruction": flags.system_instruction,
        "gen_kwargs": json.dumps(generation) if generation else None,
        "max_gen_toks": None if model.max_gen_toks is None else str(model.max_gen_toks),
        "samples": None if flags.samples is None else json.dumps(_read_samples(flags.samples, selection)),
        "limit_share": str(flags.limit) if flags.limit is not None and flags.limit < 1 else None,
        "metadata": json.dumps(passed) if passed else None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _read_samples(text: str, selection: Selection) -> dict[str, Any]:
    """Return the value of --samples: JSON, or a file with it."""
    from assay.core.errors import suggest_name

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


def _report(
    finished: FinishedRun,
    flags: argparse.Namespace,
    model: ResolvedModel,
    selection: Selection,
    model_args: Mapping[str, Any],
    metadata: Mapping[str, Any],
    generation: Mapping[str, Any],
) -> None:
    """Write the original's files, and print its tables."""
    from assay.dialects.lm_eval.task import LmEvalTask
    from assay.results.exchange.lm_eval_files import LmEvalFiles, build_results
    from assay.results.read import StoredRun
    from assay.systems.lm_eval.local_tokenizer import open_tokenizer
    from assay.systems.lm_eval.logged_run import LogOptions, TaskLog, build_group, log_samples
    from assay.systems.lm_eval.table import format_table

    run = StoredRun(finished.folder)
    tokenizer = open_tokenizer(model)
    options = LogOptions(flags.bootstrap_iters, metadata, flags.num_fewshot, not flags.predict_only)
    if tokenizer is not None:
        options = options._replace(format_prompt=tokenizer.format_prompt)
    tasks = [task for task in finished.tasks if isinstance(task, LmEvalTask)]
    logs = {task.spec.name: TaskLog(task, options) for task in tasks}
    name = find_logged_name(model_args, model)
    files = None
    if flags.output_path is not None:
        files = LmEvalFiles(Path(flags.output_path), name, datetime.now().astimezone().replace(tzinfo=None))
    writes_samples = files is not None and (flags.log_samples or flags.predict_only)
    for task, samples in log_samples(run, logs):
        if writes_samples and files is not None:
            files.write_samples(task, samples)
    logged = {task: log.build() for task, log in logs.items()}
    groups = [build_group(group, logged) for group in selection.groups]
    facts = _describe_run(finished, flags, model, model_args, generation, name)
    if tokenizer is not None:
        facts |= tokenizer.describe(is_chat=_applies_template(flags))
    results = build_results(list(logged.values()), groups, facts)
    if flags.show_config:
        click.echo(json.dumps(results, indent=2, ensure_ascii=False, default=str))
    place = None if files is None else files.write_results(results)
    config = facts["config"]
    click.echo(
        f"\n{flags.model} ({dict(model_args)}), gen_kwargs: ({dict(generation)}), limit: {flags.limit}, "
        f"num_fewshot: {flags.num_fewshot}, batch_size: {config['batch_size']}"
    )
    click.echo(format_table(results))
    if "groups" in results:
        click.echo(f"\n{format_table(results, 'groups')}")
    if place is not None:
        click.echo(f"\n{place}")


def _describe_run(
    finished: FinishedRun,
    flags: argparse.Namespace,
    model: ResolvedModel,
    model_args: Mapping[str, Any],
    generation: Mapping[str, Any],
    name: str,
) -> dict[str, Any]:
    """Return the further keys of the results file."""
    from assay.results.exchange.lm_eval_files import hash_text, sanitize_model_name

    manifest = finished.manifest
    seeds = flags.seed or DEFAULT_SEEDS
    system = flags.system_instruction
    context = manifest.card.context_length if manifest.card is not None else None
    template = _applies_template(flags)
    return {
        "config": {
            "model": flags.model,
            "model_args": dict(model_args),
            **({"model_dtype": f"torch.{manifest.model.dtype}"} if manifest.model.dtype else {}),
            **({"model_revision": manifest.model.revision or "main"} if manifest.model.weights else {}),
            **({"model_sha": manifest.model.commit or ""} if manifest.model.weights else {}),
            "batch_size": flags.batch_size or "auto",
            "batch_sizes": [],
            "device": flags.device,
            "use_cache": flags.use_cache,
            "limit": flags.limit,
            "bootstrap_iters": flags.bootstrap_iters,
            "gen_kwargs": dict(generation),
            "random_seed": seeds[0],
            "numpy_seed": seeds[1],
            "torch_seed": seeds[2],
            "fewshot_seed": seeds[3],
        },
        "git_hash": None,
        "date": datetime.fromisoformat(manifest.started).timestamp(),
        "pretty_env_info": f"Python {platform.python_version()} on {platform.platform()}",
        "transformers_version": manifest.versions.get("transformers") or _find_version("transformers"),
        "lm_eval_version": _find_version("lm_eval"),
        "assay_version": manifest.versions.get("assay"),
        "upper_git_hash": None,
        **({} if context is None else {"max_length": context}),
        "model_source": flags.model,
        "model_name": name,
        "model_name_sanitized": sanitize_model_name(name),
        "system_instruction": system,
        "system_instruction_sha": hash_text(system) if system else None,
        "fewshot_as_multiturn": flags.fewshot_as_multiturn
        if flags.fewshot_as_multiturn is not None
        else template or None,
        "chat_template": "" if template else None,
        "chat_template_sha": None,
        "total_evaluation_time_seconds": None if manifest.seconds is None else str(manifest.seconds),
    }


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "N/A"
