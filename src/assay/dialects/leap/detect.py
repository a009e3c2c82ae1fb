"""Recognising Task classes by looking at their files, without running them or importing much."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

BASE_NAMES = ("Task", "MultipleChoiceTask", "PerplexityTask")
FRAMEWORK_FILES = ("__init__", "base", "metrics", "template", "utils")
"""Files of the original's own that stand among its tasks."""
CHECKOUT_TASKS = ("evaluation/task", "lm_eval/tasks", "task", "tasks")
"""Where the tasks are, seen from the folder of a whole checkout."""

_OWN_NAMES = ("construct_requests", "doc_to_text", "doc_to_target", "fewshot_context")
"""Methods that classes of this dialect define, also those that extend another task."""
_BASE_MODULES = re.compile(r"(?:(?:evaluation\.)?task|lm_eval)\.base")
_CLASS_LINE = re.compile(rb"^class \w+\(.*\b(" + "|".join(BASE_NAMES).encode() + rb")\b.*\):", re.MULTILINE)
_NAMED_FILE = re.compile(r"(?P<path>.*?\.py)(?:::(?P<class_name>\w+))?(?::(?P<selection>.*))?")


class TaskName(NamedTuple):
    """What a person named: `file.py`, `file.py::Class`, `file.py:names`, `folder`, `folder:names`."""

    path: Path
    class_name: str | None
    selection: str

    @classmethod
    def of(cls, text: str) -> TaskName:
        """Divide a name; a selection is what follows a single colon."""
        if (found := _NAMED_FILE.fullmatch(text)) is not None:
            return cls(Path(found["path"]), found["class_name"], found["selection"] or "")
        folder, _, selection = text.partition(":")
        is_whole = Path(text).exists() or not Path(folder).is_dir()
        return cls(Path(text), None, "") if is_whole else cls(Path(folder), None, selection)


def is_task(name: str) -> bool:
    """Whether what a person named are tasks of this dialect."""
    path = TaskName.of(name).path
    return find_task_folder(path) is not None if path.is_dir() else is_task_file(path)


def find_task_folder(folder: Path) -> Path | None:
    """Return the folder that holds the tasks: the one named, or the place in it that a checkout has."""
    for place in (folder, *(folder / inside for inside in CHECKOUT_TASKS)):
        if place.is_dir() and next(task_files(place), None) is not None:
            return place
    return None


def task_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that define tasks."""
    for path in sorted(folder.glob("*.py")):
        if path.stem not in FRAMEWORK_FILES and is_task_file(path):
            yield path


def is_task_file(path: Path) -> bool:
    """Whether a file is Python that defines a Task class, or extends one of a file beside it."""
    return _is_task_file(path, path.stat().st_mtime_ns) if path.suffix == ".py" and path.is_file() else False


@lru_cache(maxsize=1024)
def _is_task_file(path: Path, _changed: int) -> bool:
    try:
        every = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError):
        # Whose mistake it is depends on what the file was meant to be.
        return _CLASS_LINE.search(path.read_bytes()) is not None
    classes = [node for node in every if isinstance(node, ast.ClassDef)]
    imports = [node for node in every if isinstance(node, ast.ImportFrom)]
    if any(map(_is_base_import, imports)) and (classes or path.stem not in FRAMEWORK_FILES):
        return True
    return any(map(_is_task_class, classes)) or any(
        _is_task_file_import(path, node) for node in imports if classes
    )


def _is_base_import(node: ast.ImportFrom) -> bool:
    names = {alias.name for alias in node.names}
    if node.level:
        return node.module == "base" and bool(names & {*BASE_NAMES, "rf"})
    return _BASE_MODULES.fullmatch(node.module or "") is not None


def _is_task_class(node: ast.ClassDef) -> bool:
    methods = {statement.name for statement in node.body if isinstance(statement, ast.FunctionDef)}
    extends = any(_last_name(base) in BASE_NAMES for base in node.bases)
    return bool(methods.intersection(_OWN_NAMES)) and (extends or "construct_requests" in methods)


def _is_task_file_import(path: Path, node: ast.ImportFrom) -> bool:
    """Whether an import names a file beside this one that defines tasks."""
    if node.level != 1 or not node.module or "." in node.module:
        return False
    beside = path.with_name(f"{node.module}.py")
    return beside.stem not in FRAMEWORK_FILES and beside != path and is_task_file(beside)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
