"""From names to tasks: groups, tags and patterns resolved, overrides applied.

A group contains tasks, tags and other groups. Its keys that do not describe the group itself override those
of its tasks; the overrides of an outer group take precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec

from assay.core.errors import AuthorError, Problem, UsageError, listing, suggest_name
from assay.core.origin import Origin
from assay.dialects.lm_eval.task_files import FunctionReference, TaskConfig, TaskFileReader, locate_file
from assay.dialects.lm_eval.task_index import (
    EntryKind,
    IndexEntry,
    TaskIndex,
    describe_task_file,
    find_task_files,
)

CODE = "LMEVAL-002"
_GROUP_KEYS = frozenset({"group", "group_alias", "task", "aggregate_metric_list", "metadata"})
_STRUCTURE_KEYS = frozenset({"tag", "group", "task_list"})
"""Keys of a task file that place a task and do not configure it."""


class SelectedTask(NamedTuple):
    """A task with the keys that apply to it."""

    name: str
    config: TaskConfig
    path: Path | None
    """Its file; None for a task that a group defines inline."""


def locate_task(task: SelectedTask) -> Origin:
    """Return the place of a task."""
    return Origin("(inline task)") if task.path is None else locate_file(task.path)


class GroupAggregation(msgspec.Struct, frozen=True):
    """A score that a group combines from its tasks."""

    metric: str
    filters: tuple[str, ...] | None = None
    """None: every filter that its tasks have."""
    is_weighted: bool = True
    """Whether tasks count by their number of samples."""


class SelectedGroup(NamedTuple):
    """A group, and the scores it combines."""

    name: str
    alias: str
    members: tuple[str, ...]
    """Its direct members: tasks and groups."""
    tasks: tuple[str, ...]
    """All tasks in it and in its groups."""
    aggregations: tuple[GroupAggregation, ...]
    version: str


class Selection(NamedTuple):
    """The tasks to run, and the groups they belong to: inner groups first."""

    tasks: tuple[SelectedTask, ...]
    groups: tuple[SelectedGroup, ...]


def select_tasks(names: Iterable[str], index: TaskIndex) -> Selection:
    """Return the tasks of names, patterns and files; a task in several of them is run once."""
    return _Resolver(index).resolve(names)


class _Resolver:
    def __init__(self, index: TaskIndex) -> None:
        self._index = index
        self._reader = TaskFileReader()
        self._tasks: dict[str, SelectedTask] = {}
        self._groups: dict[str, SelectedGroup] = {}
        self._open_groups: list[str] = []
        self._name = ""
        """The name that is being resolved."""
        self._first_names: dict[str, str] = {}
        """The name under which each task was found first."""

    def resolve(self, names: Iterable[str]) -> Selection:
        """Resolve the names that a user gave."""
        for pattern in dict.fromkeys(names):
            for name in self._expand_pattern(pattern):
                self._name = name
                self._resolve_name(name)
        return Selection(tuple(self._tasks.values()), tuple(self._groups.values()))

    def _expand_pattern(self, name: str) -> Sequence[str]:
        if name in self._index or Path(name).exists() or not set(name) & set("*?["):
            return [name]
        matches = [known for known in self._index.names if fnmatchcase(known, name)]
        if not matches:
            what = f"no task, group or tag of lm-eval matches {name!r}"
            raise UsageError(
                Problem("USAGE-004", what, "correct the name; the task files of lm-eval list them")
            )
        return matches

    def _resolve_name(self, name: str) -> list[str]:
        """Add the tasks of one name; return their names."""
        entry = self._index.get(name)
        if entry is not None:
            return self._add_entry(entry, {})
        path = Path(name)
        if path.is_dir():
            entries = (self._describe_file(file) for file in find_task_files(path))
            return [task for entry in entries if entry is not None for task in self._add_entry(entry, {})]
        if path.is_file():
            entry = self._describe_file(path)
            if entry is None:
                what = "the file names neither a task nor a group"
                raise AuthorError(Problem(CODE, what, "add `task: NAME`", Origin(name)))
            return self._add_entry(entry, {})
        near = suggest_name(name, self._index.names)
        what = f"there is no task, group or tag {name!r} of lm-eval{near}"
        raise UsageError(Problem("USAGE-004", what, "correct the name; the task files of lm-eval list them"))

    def _describe_file(self, path: Path) -> IndexEntry | None:
        return describe_task_file(self._reader.read(path), path.resolve())

    def _add_entry(self, entry: IndexEntry, overrides: TaskConfig) -> list[str]:
        if entry.kind is EntryKind.TAG:
            members = (self._index.get(member) for member in entry.members)
            return [
                task
                for member in members
                if member is not None
                for task in self._add_entry(member, overrides)
            ]
        keys = self._reader.read(Path(entry.path))
        if entry.kind is EntryKind.GROUP:
            return self._add_group(entry.name, keys, overrides, locate_file(entry.path))
        return [self._add_task(entry.name, {**keys, **overrides}, Path(entry.path))]

    def _add_task(self, name: str, keys: TaskConfig, path: Path | None) -> str:
        config = {key: value for key, value in keys.items() if key not in _STRUCTURE_KEYS}
        config["task"] = name
        task = SelectedTask(name, config, path)
        # Within one group the last configuration of a task counts, as in the original.
        if self._first_names.setdefault(name, self._name) != self._name and task != self._tasks[name]:
            self._reject_second_config(self._tasks[name], task)
        self._tasks[name] = task
        return name

    def _reject_second_config(self, first: SelectedTask, second: SelectedTask) -> NoReturn:
        """Raise for a task that two groups configure differently."""
        keys = listing(
            key
            for key in dict.fromkeys((*first.config, *second.config))
            if first.config.get(key) != second.config.get(key)
        )
        where, name = self._first_names[first.name], first.name
        what = f"the task {name!r} is in {where!r} and in {self._name!r} with different values of {keys}"
        raise UsageError(Problem("USAGE-004", what, "run one of the two at a time"))

    def _add_group(self, name: str, keys: TaskConfig, overrides: TaskConfig, where: Origin) -> list[str]:
        if name in self._open_groups:
            chain = " -> ".join([*self._open_groups, name])
            raise AuthorError(Problem(CODE, f"groups contain each other: {chain}", "remove one", where))
        aggregations = _read_aggregations(keys.get("aggregate_metric_list"), where)
        inherited = {key: value for key, value in keys.items() if key not in _GROUP_KEYS | _STRUCTURE_KEYS}
        inherited |= overrides
        listed = keys.get("task")
        self._open_groups.append(name)
        members: list[str] = []
        tasks: list[str] = []
        for member in listed if isinstance(listed, list) else [listed]:
            added, names = self._add_member(name, member, inherited, where)
            members += names
            tasks += added
        self._open_groups.pop()
        metadata = keys.get("metadata")
        version = metadata.get("version", "") if isinstance(metadata, Mapping) else ""
        alias = str(keys.get("group_alias") or name)
        self._groups[name] = SelectedGroup(
            name, alias, tuple(members), tuple(dict.fromkeys(tasks)), aggregations, str(version)
        )
        return tasks

    def _add_member(
        self, group: str, member: Any, inherited: TaskConfig, where: Origin
    ) -> tuple[list[str], list[str]]:
        """Add a member of a group; return its tasks, and the names under which the group contains it."""
        if isinstance(member, Mapping) and "group" in member:
            return self._add_inner_group(group, dict(member), inherited, where)
        if isinstance(member, str):
            name, overrides = member, inherited
        elif isinstance(member, Mapping) and isinstance(member.get("task"), str):
            name, overrides = member["task"], {**inherited, **member}
        else:
            what = (
                f"group {group!r} contains {member!r:.60}, expected a name or a dict with 'task' or 'group'"
            )
            raise AuthorError(Problem(CODE, what, "name a task, a group or a tag", where))
        entry = self._index.get(name)
        if entry is not None:
            tasks = self._add_entry(entry, {key: overrides[key] for key in overrides if key != "task"})
            return tasks, ([name] if entry.kind is EntryKind.GROUP else tasks)
        if isinstance(member, str):
            near = suggest_name(name, self._index.names)
            what = f"group {group!r} contains {name!r}, which is no task, group or tag{near}"
            raise AuthorError(Problem(CODE, what, "correct the name", where))
        inline = self._add_task(f"{group}::{name}", dict(overrides), None)
        return [inline], [inline]

    def _add_inner_group(
        self, group: str, member: TaskConfig, inherited: TaskConfig, where: Origin
    ) -> tuple[list[str], list[str]]:
        name = str(member.pop("group"))
        entry = self._index.get(name)
        if entry is None:
            name = f"{group}::{name}"
            return self._add_group(name, member, inherited, where), [name]
        own = {key: value for key, value in member.items() if key not in _GROUP_KEYS}
        return self._add_entry(entry, {**inherited, **own}), [name]


def _read_aggregations(listed: Any, where: Origin) -> tuple[GroupAggregation, ...]:
    """Return what `aggregate_metric_list` combines."""
    several = [] if listed is None else listed if isinstance(listed, list) else [listed]
    return tuple(_read_aggregation(one, where) for one in several)


def _read_aggregation(keys: Any, where: Origin) -> GroupAggregation:
    if not isinstance(keys, Mapping) or not isinstance(keys.get("metric"), str | FunctionReference):
        what = f"aggregate_metric_list contains {keys!r:.60}, expected a dict with 'metric'"
        raise AuthorError(Problem(CODE, what, "name the metric: - metric: acc", where))
    how = keys.get("aggregation", "mean")
    # lm-eval accepts a function here and does not call it: such a group has the mean, too.
    if how != "mean" and not isinstance(how, FunctionReference):
        what = f"aggregate_metric_list combines {keys['metric']!r} with {how!r}; only 'mean' is supported"
        raise AuthorError(Problem(CODE, what, "write aggregation: mean", where))
    filters = keys.get("filter_list")
    if isinstance(filters, str):
        filters = [filters]
    return GroupAggregation(
        str(keys["metric"]),
        None if filters is None else tuple(filters),
        bool(keys.get("weight_by_size", True)),
    )
