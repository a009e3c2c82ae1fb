"""Task configs: one JSON object for each task, alone in a file or in a list."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from assay.core.errors import AuthorError, Problem, listing, nearest
from assay.core.origin import Origin

METHODS = {"generate": "gen", "loglikelihood": "ppl"}
"""The original's names of what a model is asked for."""
_FULL_NAME = re.compile(r"(?P<dataset>[^_]+)_(?P<task>.+)_(?:gen|ppl)")


class GenerateConfig(msgspec.Struct, frozen=True):
    """How the model is asked."""

    method: Literal["generate", "loglikelihood"]
    params: str | dict[str, Any] = ""
    """The file of the sampling parameters, or the parameters; "": those of the command line."""
    args: dict[str, Any] | None = None
    """The parameters of an earlier run; a saved config has them."""


class MetricConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One metric."""

    evaluation: dict[str, Any]
    """`type` names the metric; the rest are its arguments."""
    aggregation: dict[str, Any] | None = None


class TaskConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task. Names are the original's."""

    task_name: str
    path: str
    transform: str
    generate: GenerateConfig
    metric: dict[str, MetricConfig] = {}
    """Metrics by the name they are shown under; none: as is usual for the answers' form."""
    fewshot: int = 0
    description: str = ""
    postprocess: str = ""
    # What a saved config has beyond a written one.
    batch_size: int | None = None
    model_postprocess: str | None = None
    task_postprocess: str | None = None
    log_dir: str | None = None

    @property
    def method(self) -> str:
        """Return the method by Assay's name."""
        return METHODS[self.generate.method]

    def names(self, dataset: str | None) -> tuple[str, str]:
        """Return the names of the dataset and the task, given the dataset's folder where there is one.

        A list has both and the method in one name, `mmlu_anatomy_gen`; a config of a folder has the task's.
        """
        full = _FULL_NAME.fullmatch(self.task_name)
        if dataset is None:
            return (full["dataset"], full["task"]) if full else (task_part(self.task_name),) * 2
        if full and full["dataset"] == dataset:
            return dataset, full["task"]
        return dataset, task_part(self.task_name)

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Return each metric as its scorer takes it: the arguments, with type and aggregation."""
        return {
            name: {**one.evaluation, "aggregation": (one.aggregation or {}).get("type")}
            for name, one in self.metric.items()
        }


def task_part(name: str) -> str:
    """Return a task's name as the original writes it inside a full name: parts are joined by `-`."""
    return name.replace("_", "-")


def read_configs(path: Path) -> list[TaskConfig]:
    """Read the config, or the list of them, in a file."""
    where = Origin(str(path))
    try:
        content = msgspec.json.decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise AuthorError(Problem("ULTRAEVAL-002", f"not valid JSON: {error}", "mend it", where)) from None
    entries = content if isinstance(content, list) else [content]
    if not entries:
        raise AuthorError(Problem("ULTRAEVAL-002", "the list is empty", "write at least one task", where))
    return [
        _read(entry, path, number if entries is content else None) for number, entry in enumerate(entries)
    ]


def _read(entry: Any, path: Path, number: int | None) -> TaskConfig:
    where = Origin(str(path))
    of_task = "" if number is None else f"task {number + 1} of the list: "
    known = TaskConfig.__struct_fields__
    if isinstance(entry, dict):
        if isinstance(entry.get("task_name"), str) and number is not None:
            of_task = f"task {entry['task_name']!r}: "
        for key in entry:
            if key not in known:
                what = f"{of_task}unknown key {key!r}{nearest(key, known)}"
                raise AuthorError(Problem("ULTRAEVAL-002", what, f"use some of {listing(known[:8])}", where))
    try:
        config = msgspec.convert(entry, TaskConfig)
    except msgspec.ValidationError as error:
        fix = 'a config has "task_name", "path", "transform", "fewshot", "generate", "postprocess", "metric"'
        raise AuthorError(Problem("ULTRAEVAL-002", f"{of_task}{error}", fix, where)) from None
    for name, metric in config.metric.items():
        if not isinstance(metric.evaluation.get("type"), str):
            what = f'{of_task}metric {name!r} has no "type" in its "evaluation"'
            fix = 'write {"evaluation": {"type": "exact_match"}}'
            raise AuthorError(Problem("ULTRAEVAL-002", what, fix, where))
    return config
