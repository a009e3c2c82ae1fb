"""Task configs: one JSON object per task, in its own file or in a list."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.method import Method
from assay.core.origin import Origin
from assay.sources.json_keys import require_unique_keys

METHODS = {"generate": Method.GEN, "loglikelihood": Method.PPL}
"""The original's names of the request types."""
_FULL_NAME = re.compile(r"(?P<dataset>[^_]+)_(?P<task>.+)_(?:gen|ppl)")
_KEYS = {
    "task_name": ("a text", '"anatomy"'),
    "path": ("the path of the rows", '"datasets/NAME/data/TASK.jsonl"'),
    "transform": ("the path of a script", '"datasets/NAME/transform_gen_v0.py"'),
    "generate": ("an object", '{"method": "generate", "params": ""}'),
    "generate.method": ("'generate' or 'loglikelihood'", '"generate"'),
    "generate.params": ("the path of a file, or an object of parameters", '""'),
    "metric": ("an object of objects", '{"accuracy": {"evaluation": {"type": "exact_match"}}}'),
    "metric.evaluation": ("an object", '{"type": "exact_match"}'),
    "fewshot": ("a whole number, 0 or more", "5"),
    "description": ("a text", '""'),
    "postprocess": ('a name, or an object with a name as "type"', '"exact_match_post"'),
}
"""The expected value of each key of a config, in words and as an example."""


class GenerateConfig(msgspec.Struct, frozen=True):
    """The request type and sampling parameters."""

    method: Literal["generate", "loglikelihood"]
    params: str | dict[str, Any] = ""
    """The file of the sampling parameters, or the parameters; "": those of the command line."""
    args: dict[str, Any] | None = None
    """The parameters of an earlier run, in a saved config."""


class MetricConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One metric."""

    evaluation: dict[str, Any]
    """`type` names the metric; the rest are its arguments."""
    aggregation: dict[str, Any] | None = None


class TaskConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task, with the original's names."""

    task_name: str
    path: str
    transform: str
    generate: GenerateConfig
    metric: dict[str, MetricConfig] = {}
    """Metrics by display name; empty: the default for the form of the answers."""
    fewshot: Annotated[int, msgspec.Meta(ge=0)] = 0
    description: str = ""
    postprocess: str | dict[str, Any] = ""
    """The name of a post-processor, or an object: `type` is the name, the rest are its arguments."""
    # Further keys of a saved config.
    batch_size: int | None = None
    model_postprocess: str | dict[str, Any] | None = None
    task_postprocess: str | dict[str, Any] | None = None
    log_dir: str | None = None

    @property
    def method(self) -> Method:
        """Return the method."""
        return METHODS[self.generate.method]

    def names(self, dataset: str | None) -> tuple[str, str]:
        """Return the names of the dataset and the task, given the name of the dataset's folder, if any.

        An entry of a list has both and the method in one name, `mmlu_anatomy_gen`; a config in a folder only
        has the task's name.
        """
        full = _FULL_NAME.fullmatch(self.task_name)
        if dataset is None:
            return (full["dataset"], full["task"]) if full else (format_task_part(self.task_name),) * 2
        if full and full["dataset"] == dataset:
            return dataset, full["task"]
        return dataset, format_task_part(self.task_name)

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Return each metric as its scorer needs it: the arguments, with type and aggregation."""
        return {
            name: {**metric.evaluation, "aggregation": (metric.aggregation or {}).get("type")}
            for name, metric in self.metric.items()
        }


def format_task_part(name: str) -> str:
    """Return a task's name as in the original's full names: parts are joined with `-`."""
    return name.replace("_", "-")


def read_configs(path: Path) -> list[TaskConfig]:
    """Read the config, or the list of configs, in a file."""
    where = Origin(str(path))
    try:
        require_unique_keys(written := path.read_bytes(), where)
        content = msgspec.json.decode(written)
    except (msgspec.DecodeError, RecursionError) as error:
        fix = "fix the file; an extra or missing comma is the usual cause"
        raise AuthorError(Problem("ULTRAEVAL-002", f"not valid JSON: {error}", fix, where)) from None
    entries = content if isinstance(content, list) else [content]
    if not entries:
        raise AuthorError(Problem("ULTRAEVAL-002", "the list is empty", "write at least one task", where))
    return [
        _parse_config(entry, path, number if entries is content else None)
        for number, entry in enumerate(entries)
    ]


def _parse_config(entry: Any, path: Path, number: int | None) -> TaskConfig:
    where = Origin(str(path))
    of_task = "" if number is None else f"task {number + 1} of the list: "
    known = TaskConfig.__struct_fields__
    if isinstance(entry, dict):
        if isinstance(entry.get("task_name"), str) and number is not None:
            of_task = f"task {entry['task_name']!r}: "
        for key in entry:
            if key not in known:
                what = f"{of_task}unknown key {key!r}{suggest_name(key, known)}"
                raise AuthorError(Problem("ULTRAEVAL-002", what, f"use one of {listing(known[:8])}", where))
    try:
        config = msgspec.convert(entry, TaskConfig)
    except msgspec.ValidationError as error:
        what, fix = _format_validation_error(str(error), entry)
        raise AuthorError(Problem("ULTRAEVAL-002", f"{of_task}{what}", fix, where)) from None
    for name, metric in config.metric.items():
        if not isinstance(metric.evaluation.get("type"), str):
            what = f'{of_task}metric {name!r} has no "type" in its "evaluation"'
            fix = 'write {"evaluation": {"type": "exact_match"}}'
            raise AuthorError(Problem("ULTRAEVAL-002", what, fix, where))
    for key in ("postprocess", "task_postprocess", "model_postprocess"):
        value = getattr(config, key)
        if isinstance(value, dict) and not isinstance(value.get("type"), str):
            what = f'{of_task}"{key}" is {value!r:.80}, which has no "type"'
            fix = f'write "{key}": {{"type": "first_option_postprocess", "options": "ABCD"}}'
            raise AuthorError(Problem("ULTRAEVAL-002", what, fix, where))
    return config


def _format_validation_error(error: str, entry: Any) -> tuple[str, str]:
    """Return what is wrong with a config, and the fix, from the validation error."""
    at = re.search(r" - at `\$\.([^`]*)`", error)
    path = at[1].split("[")[0] if at else ""
    missing = re.search(r"missing required field `(\w+)`", error)
    unknown = re.search(r"unknown field `(\w+)`", error)
    inside = f' in "{path}"' if path else ""
    if missing is not None:
        key = f"{path}.{missing[1]}" if path else missing[1]
        return f'"{missing[1]}" is missing{inside}', f'write "{missing[1]}": {_KEYS[key][1]}'
    if unknown is not None:
        # Keys of the config itself were checked before; inside it, only metrics have a fixed set.
        known = MetricConfig.__struct_fields__
        return f"unknown key {unknown[1]!r}{inside}{suggest_name(unknown[1], known)}", f"use {listing(known)}"
    if not path:
        return f"expected an object, found {entry!r:.60}", "write a config"
    value = entry
    for key in path.split("."):
        value = value[key]
    expected, example = _KEYS.get(path, (error.partition(" - at")[0].removeprefix("Expected "), "..."))
    return f'"{path}" is {value!r:.80}, expected {expected}', f'write "{path.split(".")[-1]}": {example}'
