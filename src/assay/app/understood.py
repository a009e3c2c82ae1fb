"""Settings that mean nothing to any dataset of a run are refused: a flag without effect is a trap."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from assay.core.errors import Problem, UsageError
from assay.core.task import TaskSettings

_DROP = "drop it"
_OF_CLASSES = {"samples": _DROP, "cot": _DROP, "dataset_args": _DROP}
_OF_TABLES = {
    "shots_from": "write --dataset-arg example_set=SPLIT",
    "shot_policy": _DROP,
    "windows": _DROP,
    "window_tokens": _DROP,
    "stride": _DROP,
}
"""Fields of the settings that one language alone reads, and what to do instead."""


def check_understood(
    dialects: Collection[str], settings: TaskSettings, said: Mapping[str, object], split: str | None
) -> None:
    """Raise for settings that none of the languages in use knows; `said`: what describes a table."""
    problems = []
    if "llmbox" not in dialects:
        problems += _set(settings, _OF_CLASSES, "a table")
    if "table" not in dialects:
        problems += _set(settings, _OF_TABLES, "a dataset class")
        problems += [_problem(name, "a dataset class", "say it in the class") for name in said]
        if split is not None:
            fix = "write --dataset-arg evaluation_set=SPLIT"
            problems.append(_problem("split", "a dataset class", fix))
    if problems:
        raise UsageError(problems)


def _set(settings: TaskSettings, names: Mapping[str, str], dataset: str) -> list[Problem]:
    plain = TaskSettings()
    return [
        _problem(name, dataset, fix)
        for name, fix in names.items()
        if getattr(settings, name) != getattr(plain, name)
    ]


def _problem(name: str, dataset: str, fix: str) -> Problem:
    return Problem("USAGE-007", f"{name!r} was set, which means nothing to {dataset}", fix)
