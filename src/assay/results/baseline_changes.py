"""What differs between a baseline and a run besides the model: rows, settings and versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, NamedTuple

from assay.core.errors import Problem, listing
from assay.core.origin import Origin
from assay.core.task import TaskSpec
from assay.results.baseline import Baseline, BaselineSample, DescribedRun
from assay.results.manifest_differences import find_mapping_differences, find_model_differences
from assay.results.sample_join import pair_tasks

_ASSAY = "assay"
_FORM = "form"
_IDS_SHOWN = 5


class Accepted(StrEnum):
    """A kind of difference that a person can accept."""

    DATA = "data"
    SETTINGS = "settings"
    VERSION = "version"


_CODES = {Accepted.DATA: "GATE-005", Accepted.SETTINGS: "GATE-006", Accepted.VERSION: "GATE-007"}
_FIXES = {
    Accepted.DATA: "write a new baseline of the changed data, or compare the unchanged rows: --accept data",
    Accepted.SETTINGS: "repeat the baseline's settings, write a new baseline, or use --accept settings",
    Accepted.VERSION: "write the baseline again with this version, or use --accept version",
}


class BaselineChange(NamedTuple):
    """One difference."""

    kind: Accepted
    text: str

    def build_problem(self, path: str) -> Problem:
        """Return the difference as an error that names the baseline file."""
        return Problem(_CODES[self.kind], self.text, _FIXES[self.kind], Origin(path))


class RowChanges(NamedTuple):
    """How the rows of a task differ from the baseline's, by their ids."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    edited: tuple[tuple[str, str], ...] = ()
    """The baseline's id and the new one; equal if the dataset names its rows."""

    @property
    def edited_ids(self) -> list[str]:
        """Return the ids that name different content in the baseline and the run."""
        return [before for before, after in self.edited if before == after]

    def describe(self) -> str:
        """Return the changes with the first ids of each kind; empty without changes."""
        edited = [before if before == after else f"{before} -> {after}" for before, after in self.edited]
        kinds = (("added", self.added), ("removed", self.removed), ("edited", edited))
        return "; ".join(
            f"{len(ids):,} {'row' if len(ids) == 1 else 'rows'} {what}: {listing(ids, at_most=_IDS_SHOWN)}"
            for what, ids in kinds
            if ids
        )


def find_row_changes(before: Sequence[BaselineSample], after: Sequence[tuple[str, str]]) -> RowChanges:
    """Return how rows differ; `after` has the id and the hash of the content of each row.

    Without ids of its own, a dataset's rows are named by their content. Then a new row where another
    was removed is an edited row.
    """
    contents, known = dict(after), {one.id: one.content for one in before}
    if contents == known:
        return RowChanges()
    edited = [(id_, id_) for id_, content in contents.items() if known.get(id_, content) != content]
    removed = [one.id for one in before if one.id not in contents]
    added = [id_ for id_ in contents if id_ not in known]
    if removed and added:
        renamed = dict(_align(list(known), list(contents), set(removed), set(added)))
        edited += renamed.items()
        removed = [id_ for id_ in removed if id_ not in renamed]
        replaced = set(renamed.values())
        added = [id_ for id_ in added if id_ not in replaced]
    return RowChanges(tuple(added), tuple(removed), tuple(edited))


def _align(
    before: Sequence[str], after: Sequence[str], removed: set[str], added: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield rows that were replaced one by one, between rows that stayed."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        old = [id_ for id_ in before[start:end] if id_ in removed]
        new = [id_ for id_ in after[new_start:new_end] if id_ in added]
        if kind == "replace" and len(old) == len(new):
            yield from zip(old, new, strict=True)


def find_setting_changes(baseline: Baseline, run: DescribedRun) -> Iterator[BaselineChange]:
    """Yield tasks, settings, scorers, judges and versions that differ, without looking at the rows."""
    names = pair_tasks([task.name for task in baseline.tasks], [task.name for task in run.tasks])
    own = {task.name: task for task in baseline.tasks}
    for what, left in (
        ("only in the baseline", [name for name in own if name not in names.values()]),
        ("not in the baseline", [task.name for task in run.tasks if task.name not in names]),
    ):
        if left:
            yield BaselineChange(Accepted.DATA, f"datasets differ: {listing(left)} {what}")
    for task in run.tasks:
        if task.name in names:
            same = own[names[task.name]]
            if changes := list(_find_task_changes(same, task, baseline, run)):
                text = f"{same.name}: settings differ: {'; '.join(changes)}"
                yield BaselineChange(Accepted.SETTINGS, text)
    if run.judge is not None or baseline.judge is not None:
        for one in find_model_differences("judge", baseline.judge, run.judge):
            yield BaselineChange(Accepted.SETTINGS, _format(one.what, one.a, one.b))
    before, after = (one.versions.get(_ASSAY, "unknown") for one in (baseline, run))
    if _shorten_version(before) != _shorten_version(after):
        text = f"Assay {before} wrote the baseline, and this is {after}: rules of scoring may have changed"
        yield BaselineChange(Accepted.VERSION, text)


def describe_minor_changes(baseline: Baseline, run: DescribedRun) -> Iterator[str]:
    """Yield versions of libraries that differ, and a patch release of Assay: they need no acceptance."""
    for one in find_mapping_differences("", baseline.versions, run.versions):
        if one.what != _ASSAY or _shorten_version(one.a) == _shorten_version(one.b):
            yield f"version of {_format(one.what, one.a, one.b)}"
    before, after = (
        {str(task.settings[_FORM]): None for task in one.tasks if _FORM in task.settings}
        for one in (baseline, run)
    )
    if before != after:
        yield _format("the form of the prompts", ", ".join(before), ", ".join(after))


def _find_task_changes(a: TaskSpec, b: TaskSpec, baseline: Baseline, run: DescribedRun) -> Iterator[str]:
    for name in ("dialect", "methods"):
        before, after = getattr(a, name), getattr(b, name)
        if before != after:
            shown = (one if isinstance(one, str) else ", ".join(one) for one in (before, after))
            yield _format(name, *shown)
    for one in find_mapping_differences("", *_drop_model_settings(a.settings, b.settings)):
        yield _format(one.what, one.a, one.b)
    scorers = (
        {str(one.args.get("track", at)): {"scorer": one.name, **one.args} for at, one in enumerate(found)}
        for found in (baseline.scorers.get(a.name, ()), run.scorers.get(b.name, ()))
    )
    for one in find_mapping_differences("scoring of ", *scorers):
        yield _format(one.what, one.a, one.b)


def _drop_model_settings(*settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return settings without those that follow from the model, which may be another one.

    A chat model gets conversations instead of plain texts, which end without stop texts.
    """
    forms = {one.get(_FORM) for one in settings}
    dropped = {_FORM: None, "sampling": {"stop": None}} if len(forms) > 1 else {}
    return [_drop(one, dropped) for one in settings]


def _drop(values: Mapping[str, Any], dropped: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping without entries; a mapping in `dropped` names entries of a nested one."""
    return {
        name: _drop(value, dropped[name]) if isinstance(dropped.get(name), Mapping) else value
        for name, value in values.items()
        if name not in dropped or (dropped[name] is not None and isinstance(value, Mapping))
    }


def _format(what: str, before: str, after: str) -> str:
    # Stop texts contain line breaks.
    return f"{what} was {before}, now {after}".replace("\n", "\\n")


def _shorten_version(version: str) -> str:
    """Return major and minor version: a patch release does not change scores."""
    return ".".join(version.split(".")[:2])


def list_data_changes(changes: Mapping[str, RowChanges]) -> Iterator[BaselineChange]:
    """Yield the changed rows of each task."""
    for task, one in changes.items():
        if text := one.describe():
            yield BaselineChange(Accepted.DATA, f"{task}: {text}")
