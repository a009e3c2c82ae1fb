"""The original's result files and tables of a finished run."""

from __future__ import annotations

import json
import platform
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from assay.app.run import FinishedRun
from assay.dialects.lm_eval.selection import Selection
from assay.dialects.lm_eval.task import LmEvalTask
from assay.results.exchange.lm_eval_files import (
    LmEvalFiles,
    build_results,
    hash_text,
    sanitize_model_name,
)
from assay.results.read import StoredRun
from assay.systems.lm_eval.flags import DEFAULT_SEEDS
from assay.systems.lm_eval.local_tokenizer import open_tokenizer
from assay.systems.lm_eval.logged_run import LogOptions, TaskLog, build_group, log_samples
from assay.systems.lm_eval.table import format_table
from assay.systems.lm_eval.used_flags import UsedFlags


def report_results(finished: FinishedRun, used: UsedFlags, selection: Selection) -> None:
    """Write the original's files, and print its tables."""
    flags = used.flags
    run = StoredRun(finished.folder)
    tokenizer = open_tokenizer(used.model)
    options = LogOptions(flags.bootstrap_iters, used.task_metadata, flags.num_fewshot, not flags.predict_only)
    if tokenizer is not None:
        options = options._replace(format_prompt=tokenizer.format_prompt)
    tasks = [task for task in finished.tasks if isinstance(task, LmEvalTask)]
    logs = {task.spec.name: TaskLog(task, options) for task in tasks}
    files = None
    if flags.output_path is not None:
        files = LmEvalFiles(
            Path(flags.output_path), used.model_name, datetime.now().astimezone().replace(tzinfo=None)
        )
    writes_samples = files is not None and (flags.log_samples or flags.predict_only)
    for task, samples in log_samples(run, logs):
        if writes_samples and files is not None:
            files.write_samples(task, samples)
    logged = {task: log.build() for task, log in logs.items()}
    groups = [build_group(group, logged) for group in selection.groups]
    facts = _describe_run(finished, used)
    if tokenizer is not None:
        facts |= tokenizer.describe(is_chat=used.applies_template)
        if (n_parameters := tokenizer.count_parameters()) is not None:
            facts["config"]["model_num_parameters"] = n_parameters
    results = build_results(list(logged.values()), groups, facts)
    if flags.show_config:
        click.echo(json.dumps(results, indent=2, ensure_ascii=False, default=str))
    place = None if files is None else files.write_results(results)
    click.echo(
        f"\n{flags.model} ({dict(used.model_args)}), gen_kwargs: ({dict(used.generation)}), "
        f"limit: {flags.limit}, num_fewshot: {flags.num_fewshot}, "
        f"batch_size: {facts['config']['batch_size']}"
    )
    click.echo(format_table(results))
    if "groups" in results:
        click.echo(f"\n{format_table(results, 'groups')}")
    if place is not None:
        click.echo(f"\n{place}")


def _describe_run(finished: FinishedRun, used: UsedFlags) -> dict[str, Any]:
    """Return the further keys of the results file."""
    flags, manifest, name = used.flags, finished.manifest, used.model_name
    seeds = flags.seed or DEFAULT_SEEDS
    system = flags.system_instruction
    context = manifest.card.context_length if manifest.card is not None else None
    return {
        "config": {
            "model": flags.model,
            "model_args": dict(used.model_args),
            **({"model_dtype": f"torch.{manifest.model.dtype}"} if manifest.model.dtype else {}),
            **({"model_revision": manifest.model.revision or "main"} if manifest.model.weights else {}),
            **({"model_sha": manifest.model.commit or ""} if manifest.model.weights else {}),
            "batch_size": flags.batch_size or "auto",
            "batch_sizes": [],
            "device": flags.device,
            "use_cache": flags.use_cache,
            "limit": flags.limit,
            "bootstrap_iters": flags.bootstrap_iters,
            "gen_kwargs": dict(used.generation),
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
        else used.applies_template or None,
        "chat_template": "" if used.applies_template else None,
        "chat_template_sha": None,
        "total_evaluation_time_seconds": None if manifest.seconds is None else str(manifest.seconds),
    }


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "N/A"
