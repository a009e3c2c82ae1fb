"""What makes a comparison of two runs less than fair, in words. Looks at manifests alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.core.errors import listing
from assay.core.run import RunManifest
from assay.core.task import TaskSpec

_SHOWN_CHARS = 60


def notes_on(first: RunManifest, second: RunManifest, names: tuple[str, str]) -> Iterator[str]:
    """Yield what differs between two runs beside their models."""
    a, b = ({task.name: task for task in one.tasks} for one in (first, second))
    for there, missing, name in ((a, b, names[0]), (b, a, names[1])):
        only = [task for task in there if task not in missing]
        if only:
            yield f"only in {name}: {listing(only)}"
    for task in a:
        if task in b:
            yield from _task_notes(a[task], b[task], names)
    if first.judge != second.judge:
        judges = (one.judge.name if one.judge else "none" for one in (first, second))
        yield f"judges differ: {_apart(names, *judges)}"


def _task_notes(a: TaskSpec, b: TaskSpec, names: tuple[str, str]) -> Iterator[str]:
    if a.data_hash != b.data_hash:
        yield f"{a.name}: the data differ; paired are the samples that have one id in both"
    for name in sorted({*a.settings, *b.settings}):
        before, after = a.settings.get(name), b.settings.get(name)
        if before != after:
            yield f"{a.name}: {name} differs: {_apart(names, *setting_apart(before, after))}"
    methods = set(a.methods) ^ set(b.methods)
    if methods:
        yield f"{a.name}: methods that one of them lacks: {listing(sorted(methods))}"


def setting_apart(before: Any, after: Any) -> tuple[str, str]:
    """Return two values of a setting as far as they differ: of mappings, the entries that do."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        before, after = ({name: one.get(name) for name in names} for one in (before, after))
    return shown(before), shown(after)


def shown(value: Any) -> str:
    """Return a setting's value in a few characters."""
    text = "none" if value is None else value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _apart(names: tuple[str, str], before: str, after: str) -> str:
    return f"{names[0]} {before}, {names[1]} {after}"
