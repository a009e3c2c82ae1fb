"""The tasks of a folder, and what its registry says about them.

There are three optional sources: `TASK_REGISTRY` in the folder's `__init__.py` names classes;
`get_eval_datasets()` describes datasets and lists their metrics; `EVAL_DATASET_METRIC` names the metric
that a leaderboard shows. Without the first, names are derived from files and classes.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import (
    RAISED_BY_AUTHORS,
    AuthorError,
    Problem,
    describe_exception,
    listing,
    reraise_interrupt,
    suggest_name,
)
from assay.core.origin import Origin
from assay.dialects.leap.authoring import Task, TaskEnvironment
from assay.dialects.leap.detect import TaskName, find_task_folder, task_files
from assay.dialects.leap.loading import (
    LoadedTask,
    TaskFiles,
    build_missing_method_problem,
    build_no_task_error,
    filter_task_classes,
    require_class,
)
from assay.dialects.shared.author_modules import AuthorModules
from assay.dialects.shared.selection import select_parts

CODE = "LEAP-010"
DATASETS_FUNCTION = "get_eval_datasets"
_HEADLINES = "EVAL_DATASET_METRIC"
CLASSES_VARIABLE = "TASK_REGISTRY"
_PLACES = ("api/config/dataset.py", "evaluation/config/dataset.py", "config/dataset.py")
"""Where a checkout of LEAP has its registry, relative to one of its folders."""
_LEVELS_UP = 2


class RegistryEntry(NamedTuple):
    """A registry's data about one dataset."""

    explain: str = ""
    metrics: tuple[str, ...] = ()
    headline: str | None = None
    """The metric that a leaderboard shows."""


class NamedTask(NamedTuple):
    """A task with its name."""

    name: str
    loaded: LoadedTask
    entry: RegistryEntry


class RegisteredDataset(NamedTuple):
    """One dataset of a registered collection, for lists of datasets."""

    name: str
    explain: str
    metrics: tuple[str, ...]
    headline: str | None
    file: str
    class_name: str


class TaskSelection(NamedTuple):
    """The selected tasks."""

    tasks: tuple[NamedTask, ...]
    notes: tuple[str, ...]


def find_tasks(name: str, environment: TaskEnvironment) -> TaskSelection:
    """Return the tasks of `file.py`, `file.py::Class`, `folder`, `folder:names`."""
    named = TaskName.of(name)
    if named.path.is_dir():
        return _find_folder_tasks(named, environment)
    return _find_file_tasks(named, environment)


def list_registered(folder: Path, environment: TaskEnvironment) -> list[RegisteredDataset]:
    """Return the datasets in a folder's registry; empty without a registry."""
    place = find_task_folder(folder)
    files = None if place is None else TaskFiles(place, environment)
    if files is None or not (entries := _read_entries(folder, files)):
        return []
    tasks = _Collection(files, entries).tasks
    return [
        RegisteredDataset(
            name,
            entry.explain,
            entry.metrics,
            entry.headline,
            str(tasks[name].author.path),
            tasks[name].cls.__name__,
        )
        for name, entry in entries.items()
    ]


def _find_folder_tasks(named: TaskName, environment: TaskEnvironment) -> TaskSelection:
    place = find_task_folder(named.path)
    if place is None:
        what = "no file in the folder defines a Task class"
        raise AuthorError(
            Problem("LEAP-002", what, "pass the folder of the task files", Origin(str(named.path)))
        )
    files = TaskFiles(place, environment)
    entries = _read_entries(named.path, files)
    collection = _Collection(files, entries)
    known = list(collection.tasks)
    wanted = list(entries) or known
    notes = list(collection.notes)
    if named.selection:
        wanted = select_parts(named.selection, known, dataset=str(named.path), noun="task", code=CODE)
    elif len(wanted) < len(known):
        left = len(known) - len(wanted)
        notes.append(f"{left} tasks are not in the registry and are omitted; use {named.path}:* for all")
    tasks = tuple(
        NamedTask(task, collection.tasks[task], entries.get(task, RegistryEntry())) for task in wanted
    )
    return TaskSelection(tasks, tuple(notes))


def _find_file_tasks(named: TaskName, environment: TaskEnvironment) -> TaskSelection:
    path = named.path
    files = TaskFiles(path.parent, environment)
    entries = _read_entries(path.parent, files)
    classes = files.classes(path)
    if named.class_name is not None:
        wanted = {named.class_name: require_class(path, classes, named.class_name)}
    else:
        wanted = filter_task_classes(classes)
    if not wanted:
        raise build_no_task_error(path, classes)
    notes = _note_incomplete_classes(path, classes) if named.class_name is None else []
    names = _name_classes({path: filter_task_classes(classes) | wanted}, entries)
    try:
        names |= {cls: name for name, cls in _read_declared_classes(files).items()}
    except AuthorError as error:
        notes.append(f"the folder's __init__.py failed, so tasks are named after the file: {error}")
    tasks = [
        NamedTask(names[cls], files.load_class(cls), entries.get(names[cls], RegistryEntry()))
        for cls in wanted.values()
    ]
    if named.selection:
        known = [task.name for task in tasks]
        selected = select_parts(named.selection, known, dataset=path.name, noun="task", code=CODE)
        tasks = [task for task in tasks if task.name in selected]
    return TaskSelection(tuple(tasks), tuple(notes))


class _Collection:
    """All tasks of a folder, by name."""

    def __init__(self, files: TaskFiles, entries: Mapping[str, RegistryEntry]) -> None:
        self.notes: list[str] = []
        declared = _read_declared_classes(files)
        if declared:
            tasks_by_name = {name: files.load_class(cls) for name, cls in declared.items()}
        else:
            classes_by_file = {path: files.classes(path) for path in task_files(files.folder)}
            tasks = {path: filter_task_classes(classes) for path, classes in classes_by_file.items()}
            for path, classes in classes_by_file.items():
                self.notes += _note_incomplete_classes(path, classes)
            names = _name_classes(tasks, entries)
            tasks_by_name = {name: files.load_class(cls) for cls, name in names.items()}
        self.tasks = tasks_by_name
        lost = [name for name in entries if name not in tasks_by_name]
        if lost:
            class_names = [f"{task.author.path.stem}.{task.cls.__name__}" for task in tasks_by_name.values()]
            what = f"the registry lists {lost[0]!r}{suggest_name(lost[0], tasks_by_name)}, which has no class"
            fix = f"fix the name, or write the class; the classes are {listing(class_names, at_most=20)}"
            raise AuthorError(Problem(CODE, what, fix, Origin(str(files.folder))))


def _note_incomplete_classes(path: Path, classes: Mapping[str, type[Task]]) -> list[str]:
    """Return notes about classes without required methods that no other class of the file completes."""
    return [
        f"{path.name}: {build_missing_method_problem(path, cls).what}, so it is omitted"
        for cls in classes.values()
        if inspect.isabstract(cls)
        and not any(other is not cls and issubclass(other, cls) for other in classes.values())
    ]


def _read_declared_classes(files: TaskFiles) -> dict[str, type[Task]]:
    """Return the classes in `TASK_REGISTRY` of the folder's `__init__.py`."""
    path = files.folder / "__init__.py"
    if not path.is_file() or CLASSES_VARIABLE not in _list_defined_names(path):
        return {}
    registered = getattr(files.module(path), CLASSES_VARIABLE)
    if not isinstance(registered, Mapping):
        what = f"{CLASSES_VARIABLE} is {type(registered).__name__}, expected a dict of names and classes"
        raise AuthorError(Problem(CODE, what, 'write {"klue_ynat": klue.YNAT, ...}', Origin(str(path))))
    for name, cls in registered.items():
        if not (isinstance(cls, type) and issubclass(cls, Task)):
            what = f"{CLASSES_VARIABLE} has the value {cls!r:.60} for {name!r}, expected a Task class"
            raise AuthorError(Problem(CODE, what, "use a class that extends Task", Origin(str(path))))
    return {str(name): cls for name, cls in registered.items()}


def _name_classes(
    tasks: Mapping[Path, Mapping[str, type[Task]]], entries: Mapping[str, RegistryEntry]
) -> dict[type[Task], str]:
    """Return a name for each class: the registry's, else `file_class`, or `file` for an only class."""
    names: dict[type[Task], str] = {}
    for path, classes in tasks.items():
        for name, cls in classes.items():
            names[cls] = choose_task_name(path, name, is_only=len(classes) == 1, known=entries)
    return names


def choose_task_name(path: Path, class_name: str, *, is_only: bool, known: Iterable[str]) -> str:
    """Return the name of a class: a known one that fits, else `file_class`, or `file` for an only class."""
    spelled = {_normalize_name(name): name for name in known}
    both = f"{path.stem}_{class_name}"
    own = path.stem if is_only else both
    fitting = [_normalize_name(candidate) for candidate in dict.fromkeys((both, class_name, own))]
    return next((spelled[candidate] for candidate in fitting if candidate in spelled), own.lower())


def _normalize_name(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


def _read_entries(named: Path, files: TaskFiles) -> dict[str, RegistryEntry]:
    """Return the entries of a folder's registry; empty without one."""
    places = list(list_registry_files(named, files.folder))
    datasets = next((path for path in places if DATASETS_FUNCTION in _list_defined_names(path)), None)
    headlines = next((path for path in places if _HEADLINES in _list_defined_names(path)), None)

    def run(path: Path) -> Any:
        return files.module(path) if path.parent == files.folder else _run(path)

    described = {} if datasets is None else _read_eval_datasets(run(datasets), datasets)
    decided = {} if headlines is None else _read_headline_metrics(run(headlines), headlines)
    return {
        name: described.get(name, RegistryEntry())._replace(headline=decided.get(name))
        for name in {**described, **decided}
    }


def list_registry_files(named: Path, folder: Path) -> Iterator[Path]:
    """Yield the files that can be a registry: in the folder itself, or in the usual places of a checkout."""
    yield from sorted(folder.glob("*.py"))
    above = [named, *folder.resolve().parents[:_LEVELS_UP]]
    yield from (place / inside for place in above for inside in _PLACES if (place / inside).is_file())


def _list_defined_names(path: Path) -> frozenset[str]:
    """Return the names that a file defines at module level, without running it."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError):
        return frozenset()
    names = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(names)


def _run(path: Path) -> Any:
    modules = AuthorModules(
        "config",
        {},
        folder=path.parent,
        aliases={"api.config": "config", "evaluation.config": "config"},
        code=CODE,
    )
    return modules.run(path)


def _read_eval_datasets(module: Any, path: Path) -> dict[str, RegistryEntry]:
    """Return the entries of `get_eval_datasets`."""
    try:
        datasets = getattr(module, DATASETS_FUNCTION)()
    except RAISED_BY_AUTHORS as error:
        reraise_interrupt(error)
        what = f"{DATASETS_FUNCTION}() raised {describe_exception(error)}"
        raise AuthorError(Problem(CODE, what, "fix the file", Origin(str(path)))) from error
    _check_mapping(datasets, f"{DATASETS_FUNCTION}()", path)
    entries = {}
    for name, description in datasets.items():
        _check_mapping(description, f"{DATASETS_FUNCTION}()[{name!r}]", path)
        entries[str(name)] = RegistryEntry(
            str(description.get("explain") or ""), _split_metrics(description.get("metrics"))
        )
    return entries


def _read_headline_metrics(module: Any, path: Path) -> dict[str, str]:
    """Return the entries of `EVAL_DATASET_METRIC`."""
    metrics = getattr(module, _HEADLINES)
    _check_mapping(metrics, _HEADLINES, path)
    return {str(name): str(metric) for name, metric in metrics.items()}


def _check_mapping(value: Any, what: str, path: Path) -> None:
    if not isinstance(value, Mapping):
        message = f"{what} is {type(value).__name__}, expected a dict"
        fix = 'write {"name": {"explain": "...", "metrics": ["acc"]}}'
        raise AuthorError(Problem(CODE, message, fix, Origin(str(path))))


def _split_metrics(metrics: Any) -> tuple[str, ...]:
    """Return metrics by name; the original writes several into one text: ["acc, macro_f1"]."""
    several: Sequence[Any] = [metrics] if isinstance(metrics, str) else metrics or ()
    return tuple(part.strip() for text in several for part in str(text).split(",") if part.strip())
