"""Notes on differences between two runs that make their comparison less fair. Reads only manifests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.errors import listing
from assay.core.run import RunManifest
from assay.core.task import TaskSpec

_SHOWN_CHARS = 60
_COMMIT = re.compile(r"(?<=@)[0-9a-f]{40}")
_AUTHORS = "the dataset author's code"
_GIVEN, _TEMPLATE = "said", "template"
"""What the user wrote about a table, and the template in it, as tasks record them."""


def build_comparison_notes(
    first: RunManifest, second: RunManifest, names: tuple[str, str], tasks: Mapping[str, str]
) -> Iterator[str]:
    """Yield differences between two runs other than their models.

    `names` are the names of the runs; `tasks` maps each task of the second run to the first run's task.
    """
    a, b = ({task.name: task for task in one.tasks} for one in (first, second))
    for name, only in (
        (names[0], [task for task in a if task not in tasks.values()]),
        (names[1], [task for task in b if task not in tasks]),
    ):
        if only:
            yield f"only in {name}: {listing(only)}"
    programs = [None if one.imported is None else one.imported.format for one in (first, second)]
    if programs[0] != programs[1]:
        yield from _note_programs(first, second, names)
        for task, paired in tasks.items():
            shots = a[paired].settings.get("shots"), b[task].settings.get("shots")
            if None not in shots and shots[0] != shots[1]:
                yield f"{paired}: shots differs: {_format_both(names, *map(format_setting, shots))}"
        return
    # A note that applies to several tasks appears once.
    notes: dict[str, list[str]] = {}
    for task, paired in tasks.items():
        if task != paired:
            yield f"a task has different names: {paired!r} in {names[0]}, {task!r} in {names[1]}"
        scorings = _Scoring(first, paired), _Scoring(second, task)
        for note in (*_task_notes(a[paired], b[task], names), *_scoring_notes(*scorings, names)):
            notes.setdefault(note, []).append(paired)
    for note, affected in notes.items():
        yield f"{affected[0] if len(affected) == 1 else f'{len(affected)} tasks'}: {note}"
    if first.judge != second.judge:
        judges = (one.judge.title if one.judge else "none" for one in (first, second))
        yield f"judges differ: {_format_both(names, *judges)}"


def _note_programs(first: RunManifest, second: RunManifest, names: tuple[str, str]) -> Iterator[str]:
    """Yield the programs of two runs, whose settings have no common names to compare."""
    programs = ("Assay" if one.imported is None else one.imported.format for one in (first, second))
    yield (
        f"different programs: {_format_both(names, *programs)}; prompts, extraction and metrics may differ: "
        "`assay diff` shows where"
    )


def _task_notes(a: TaskSpec, b: TaskSpec, names: tuple[str, str]) -> Iterator[str]:
    if a.data_hash != b.data_hash:
        yield "the data differ; only samples with the same id in both runs are paired"
    for name in sorted({*a.settings, *b.settings}):
        before, after = a.settings.get(name), b.settings.get(name)
        if before != after and name == "hub":
            read = _format_both(names, _format_commits(before), _format_commits(after))
            yield f"read from the hub at different commits: {read}"
        elif before != after and name == _GIVEN and _list_differing_keys(before, after) == [_TEMPLATE]:
            yield "the prompt template differs"
        elif before != after:
            yield f"{name} differs: {_format_both(names, *format_setting_difference(before, after))}"
    methods = set(a.methods) ^ set(b.methods)
    if methods:
        yield f"methods in only one of the runs: {listing(sorted(methods))}"


def _format_commits(read: Sequence[str] | None) -> str:
    """Return the hub datasets that were read, with abbreviated commits."""
    return ", ".join(_COMMIT.sub(lambda match: match[0][:12], one) for one in read or ()) or "no hub"


class _Scoring(NamedTuple):
    """How a run scores a task."""

    run: RunManifest
    task: str

    def by_method(self) -> dict[str, Mapping[str, Any] | str]:
        """Return the scorer of each method; empty for a run of an earlier version that does not record it."""
        spec = next(one for one in self.run.tasks if one.name == self.task)
        if self.task not in self.run.scorers:
            return {}
        named = {one.args.get("track"): one for one in self.run.scorers[self.task]}
        return {
            method: {"scorer": named[method].name, **named[method].args} if method in named else _AUTHORS
            for method in spec.methods
        }


def _scoring_notes(a: _Scoring, b: _Scoring, names: tuple[str, str]) -> Iterator[str]:
    """Yield methods that the two runs score differently, for example after rescoring one of them."""
    others = b.by_method()
    for method, before in a.by_method().items():
        after = others.get(method, before)
        if before != after:
            values = format_setting_difference(before, after)
            yield f"{method} is scored differently: {_format_both(names, *values)}"


def format_setting_difference(before: Any, after: Any) -> tuple[str, str]:
    """Return two values of a setting as text; for mappings, only the entries that differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = _list_differing_keys(before, after)
        before, after = ({name: one.get(name) for name in names} for one in (before, after))
    return format_setting(before), format_setting(after)


def _list_differing_keys(before: Any, after: Any) -> list[str]:
    """Return the keys of two mappings whose values differ; empty for other values."""
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        return []
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]


def format_setting(value: Any) -> str:
    """Return a setting's value, shortened."""
    text = "none" if value is None else value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _format_both(names: tuple[str, str], before: str, after: str) -> str:
    return f"{names[0]} {before}, {names[1]} {after}"
