"""What makes a comparison of two runs less than fair, in words. Looks at manifests alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.errors import listing
from assay.core.run import RunManifest
from assay.core.task import TaskSpec

_SHOWN_CHARS = 60
_COMMIT = re.compile(r"(?<=@)[0-9a-f]{40}")
_AUTHORS = "by its author's code"


def build_comparison_notes(
    first: RunManifest, second: RunManifest, names: tuple[str, str], tasks: Mapping[str, str]
) -> Iterator[str]:
    """Yield what differs between two runs beside their models.

    `names` are those of the runs; `tasks` says which of the first's each of the second's is paired with.
    """
    a, b = ({task.name: task for task in one.tasks} for one in (first, second))
    for name, only in (
        (names[0], [task for task in a if task not in tasks.values()]),
        (names[1], [task for task in b if task not in tasks]),
    ):
        if only:
            yield f"only in {name}: {listing(only)}"
    # What is the same of many tasks is told once.
    notes: dict[str, list[str]] = {}
    for task, paired in tasks.items():
        if task != paired:
            yield f"a task is named otherwise: {names[0]} has {paired!r}, {names[1]} {task!r}"
        scorings = _Scoring(first, paired), _Scoring(second, task)
        for note in (*_task_notes(a[paired], b[task], names), *_scoring_notes(*scorings, names)):
            notes.setdefault(note, []).append(paired)
    for note, told in notes.items():
        yield f"{told[0] if len(told) == 1 else f'{len(told)} tasks'}: {note}"
    if first.judge != second.judge:
        judges = (one.judge.name if one.judge else "none" for one in (first, second))
        yield f"judges differ: {_format_both(names, *judges)}"


def _task_notes(a: TaskSpec, b: TaskSpec, names: tuple[str, str]) -> Iterator[str]:
    if a.data_hash != b.data_hash:
        yield "the data differ; paired are the samples that have one id in both"
    for name in sorted({*a.settings, *b.settings}):
        before, after = a.settings.get(name), b.settings.get(name)
        if before != after and name == "hub":
            read = _format_both(names, _format_commits(before), _format_commits(after))
            yield f"read from the hub at different commits: {read}"
        elif before != after:
            yield f"{name} differs: {_format_both(names, *format_setting_difference(before, after))}"
    methods = set(a.methods) ^ set(b.methods)
    if methods:
        yield f"methods that one of them lacks: {listing(sorted(methods))}"


def _format_commits(read: Sequence[str] | None) -> str:
    """Return what was read from the hub, with the beginnings of its commits."""
    return ", ".join(_COMMIT.sub(lambda match: match[0][:12], one) for one in read or ()) or "no hub"


class _Scoring(NamedTuple):
    """How a run scores a task."""

    run: RunManifest
    task: str

    def by_method(self) -> dict[str, Mapping[str, Any] | str]:
        """Return the scorer of each method; nothing where the run, of an earlier version, does not say."""
        spec = next(one for one in self.run.tasks if one.name == self.task)
        if self.task not in self.run.scorers:
            return {}
        named = {one.args.get("track"): one for one in self.run.scorers[self.task]}
        return {
            method: {"scorer": named[method].name, **named[method].args} if method in named else _AUTHORS
            for method in spec.methods
        }


def _scoring_notes(a: _Scoring, b: _Scoring, names: tuple[str, str]) -> Iterator[str]:
    """Say where answers were scored in two ways: a run may have been scored again since."""
    others = b.by_method()
    for method, before in a.by_method().items():
        after = others.get(method, before)
        if before != after:
            yield f"{method} is not scored alike: {_format_both(names, *format_setting_difference(before, after))}"


def format_setting_difference(before: Any, after: Any) -> tuple[str, str]:
    """Return two values of a setting as far as they differ: of mappings, the entries that do."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        before, after = ({name: one.get(name) for name in names} for one in (before, after))
    return format_setting(before), format_setting(after)


def format_setting(value: Any) -> str:
    """Return a setting's value in a few characters."""
    text = "none" if value is None else value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _format_both(names: tuple[str, str], before: str, after: str) -> str:
    return f"{names[0]} {before}, {names[1]} {after}"
