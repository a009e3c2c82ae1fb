"""Detect Task classes from their files, without running them or importing heavy packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

BASE_NAMES = ("Task", "MultipleChoiceTask", "PerplexityTask")
FRAMEWORK_FILES = ("__init__", "base", "metrics", "template", "utils")
"""Files of the original's framework that are stored among its tasks."""
CHECKOUT_TASKS = ("evaluation/task", "lm_eval/tasks", "task", "tasks")
"""Where the tasks are, relative to a checkout."""

_OWN_NAMES = ("construct_requests", "doc_to_text", "doc_to_target", "fewshot_context")
"""Methods that classes of this dialect define, including those that extend another task."""
_BASE_MODULES = re.compile(r"(?:(?:evaluation\.)?task|lm_eval)\.base")
_CLASS_LINE = re.compile(rb"^class \w+\(.*\b(" + "|".join(BASE_NAMES).encode() + rb")\b.*\):", re.MULTILINE)
_NAMED_FILE = re.compile(r"(?P<path>.*?\.py)(?:::(?P<class_name>\w+))?(?::(?P<selection>.*))?")


class TaskName(NamedTuple):
    """The parts of a task name: `file.py`, `file.py::Class`, `file.py:names`, `folder`, `folder:names`."""

    path: Path
    class_name: str | None
    selection: str

    @classmethod
    def of(cls, text: str) -> TaskName:
        """Parse a name; a selection follows a single colon."""
        if (match := _NAMED_FILE.fullmatch(text)) is not None:
            return cls(Path(match["path"]), match["class_name"], match["selection"] or "")
        folder, _, selection = text.partition(":")
        is_whole = Path(text).exists() or not Path(folder).is_dir()
        return cls(Path(text), None, "") if is_whole else cls(Path(folder), None, selection)


def is_task(name: str) -> bool:
    """Return whether a name refers to tasks of this dialect."""
    path = TaskName.of(name).path
    return find_task_folder(path) is not None if path.is_dir() else is_task_file(path)


def find_task_folder(folder: Path) -> Path | None:
    """Return the folder with the tasks: the given one, or the usual place inside a checkout."""
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
    """Return whether a file is Python that defines a Task class, or extends one of a sibling file."""
    return _is_task_file(path, path.stat().st_mtime_ns) if path.suffix == ".py" and path.is_file() else False


@lru_cache(maxsize=1024)
def _is_task_file(path: Path, _changed: int) -> bool:
    try:
        syntax_nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError):
        # Report the error only if the file was meant to be a task.
        return _CLASS_LINE.search(path.read_bytes()) is not None
    classes = [node for node in syntax_nodes if isinstance(node, ast.ClassDef)]
    imports = [node for node in syntax_nodes if isinstance(node, ast.ImportFrom)]
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
    """Return whether an import refers to a sibling file that defines tasks."""
    if node.level != 1 or not node.module or "." in node.module:
        return False
    sibling = path.with_name(f"{node.module}.py")
    return sibling.stem not in FRAMEWORK_FILES and sibling != path and is_task_file(sibling)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
