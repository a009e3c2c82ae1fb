"""The configuration of a task as lm-eval's results file repeats it: all keys with their defaults."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from assay.dialects.lm_eval.config import GENERATE_UNTIL, MetricEntry, TaskKeys
from assay.dialects.lm_eval.task import LmEvalTask
from assay.dialects.lm_eval.task_files import FunctionReference, locate_file
from assay.results.exchange.lm_eval_files import UNVERSIONED_TASK

_DEFAULTS: Mapping[str, Any] = {
    "task": None,
    "task_alias": None,
    "custom_dataset": None,
    "dataset_path": None,
    "dataset_name": None,
    "dataset_kwargs": None,
    "training_split": None,
    "validation_split": None,
    "test_split": None,
    "fewshot_split": None,
    "process_docs": None,
    "doc_to_text": None,
    "doc_to_target": None,
    "doc_to_image": None,
    "doc_to_audio": None,
    "unsafe_code": False,
    "doc_to_choice": None,
    "process_results": None,
    "use_prompt": None,
    "description": "",
    "target_delimiter": " ",
    "fewshot_delimiter": "\n\n",
    "fewshot_config": None,
    "num_fewshot": None,
    "metric_list": None,
    "output_type": GENERATE_UNTIL,
    "generation_kwargs": None,
    "repeats": 1,
    "filter_list": None,
    "should_decontaminate": False,
    "doc_to_decontamination_query": None,
    "gen_prefix": None,
    "metadata": None,
}
"""The keys in the original's order; a key whose value is None is omitted."""
_FEWSHOT_KEYS: Mapping[str, str | None] = {
    "sampler": None,
    "split": "fewshot_split",
    "process_docs": "process_docs",
    "fewshot_indices": None,
    "samples": None,
    "doc_to_text": "doc_to_text",
    "doc_to_choice": "doc_to_choice",
    "doc_to_target": "doc_to_target",
    "gen_prefix": "gen_prefix",
    "fewshot_delimiter": "fewshot_delimiter",
    "target_delimiter": "target_delimiter",
}
"""The keys of fewshot_config, and the task's key that each takes its value from."""


def describe_config(task: LmEvalTask, shots: int, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a task. `metadata`: what the command line adds to the task's own."""
    given, keys = task.selected.config, task.scoring.keys
    values = {**_DEFAULTS, **{key: value for key, value in given.items() if key in _DEFAULTS}}
    values["num_fewshot"] = shots
    if values["output_type"] == GENERATE_UNTIL:
        values["generation_kwargs"] = describe_generation(given, keys)
    values["fewshot_config"] = _describe_fewshot(values)
    own = given.get("metadata")
    values["metadata"] = {**(own if isinstance(own, Mapping) else {}), **metadata}
    if task.selected.path is not None:
        values["metadata"]["config_source"] = locate_file(task.selected.path).path
    described = {
        key: _describe_value(value, getattr(keys, key, None))
        for key, value in values.items()
        if value is not None
    }
    if isinstance(values["metric_list"], list):
        described["metric_list"] = _describe_metrics(values["metric_list"], keys.metrics)
    return described


def describe_generation(given: Mapping[str, Any], keys: TaskKeys) -> dict[str, Any]:
    """Return the generation_kwargs of a task, which every of its requests repeats."""
    own = given.get("generation_kwargs")
    until = given.get("fewshot_delimiter", "\n\n")
    if own is None:
        return {"temperature": 0.0, "do_sample": False, "max_gen_toks": 256, "until": [until]}
    values = dict(own)
    if "temperature" in values:
        values["temperature"] = float(values["temperature"])
    values.setdefault("until", [until])
    return values


def read_version(task: LmEvalTask) -> Any:
    """Return the version in a task's metadata, with its type."""
    own = task.selected.config.get("metadata")
    return own.get("version", UNVERSIONED_TASK) if isinstance(own, Mapping) else UNVERSIONED_TASK


def _describe_fewshot(values: Mapping[str, Any]) -> dict[str, Any]:
    own = values["fewshot_config"]
    described = {key: None if source is None else values[source] for key, source in _FEWSHOT_KEYS.items()}
    described["sampler"] = "default"
    return {**described, **(own if isinstance(own, Mapping) else {})}


def _describe_metrics(given: Sequence[Any], metrics: Sequence[MetricEntry]) -> list[Any]:
    """Return metric_list with the source of its functions."""
    return [
        {key: _describe_value(value, getattr(metric, key, None)) for key, value in dict(one).items()}
        for one, metric in zip(given, metrics, strict=True)
    ]


def _describe_value(value: Any, resolved: Any) -> Any:
    """Return a value for JSON: of a function its source, if its file is known."""
    if isinstance(value, FunctionReference):
        try:
            return inspect.getsource(resolved)
        except (TypeError, OSError):
            return str(value)
    if isinstance(value, Mapping):
        return {str(key): _describe_value(one, None) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_describe_value(one, None) for one in value]
    return value
