"""The tasks of a LEAP checkout as benchmarks, read from their syntax and the registry's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.benchmark import Benchmark, DataNeed
from assay.core.method import Method
from assay.dialects.leap.detect import BASE_NAMES, find_task_folder, task_files
from assay.dialects.leap.registry import (
    CLASSES_VARIABLE,
    DATASETS_FUNCTION,
    choose_task_name,
    list_registry_files,
)
from assay.dialects.shared.syntax_values import list_assignments, list_items, parse_file, read_literal

_SCORED = re.compile(rb"loglikelihood|MultipleChoiceTask|PerplexityTask")
_GENERATED = re.compile(rb"greedy_until|rf\.generate|generate_until")


class _TaskClass(NamedTuple):
    """A class that a file defines."""

    path: Path
    name: str
    data: tuple[DataNeed, ...]
    methods: tuple[Method, ...]


def list_tasks(root: Path) -> list[Benchmark]:
    """Return the tasks of a folder or checkout, as its registry or its files name them."""
    folder = find_task_folder(root)
    if folder is None:
        return []
    abouts = _read_registry(root, folder)
    declared = _read_declared_names(folder)
    tasks: dict[str, Benchmark] = {}
    for path in task_files(folder):
        classes = list(_read_classes(path))
        for one in classes:
            name = declared.get((path.stem, one.name)) or choose_task_name(
                path, one.name, is_only=len(classes) == 1, known=abouts
            )
            if not declared or (path.stem, one.name) in declared:
                about = abouts.get(name, "")
                tasks[name] = Benchmark(name, f"{root}:{name}", about, one.methods, data=one.data)
    return list(tasks.values())


def _read_classes(path: Path) -> Iterator[_TaskClass]:
    tree, text = parse_file(path), path.read_bytes()
    scored, generated = _SCORED.search(text), _GENERATED.search(text)
    methods = ((Method.PPL,) if scored else ()) + ((Method.GEN,) if generated else ())
    bases: set[str] = set()
    classes: list[_TaskClass] = []
    for node in tree.body if tree is not None else ():
        if not isinstance(node, ast.ClassDef) or node.name in BASE_NAMES:
            continue
        values: dict[str, Any] = {}
        for statement in node.body:
            values |= {name: read_literal(value, {}) for name, value in list_assignments(statement)}
        place, config = values.get("DATASET_PATH"), values.get("DATASET_NAME")
        data = (DataNeed(place, str(config or ""), on_hub=place),) if isinstance(place, str) else ()
        bases |= {getattr(base, "id", "") for base in node.bases}
        classes.append(_TaskClass(path, node.name, data, methods))
    # A class that others of the file complete is no task.
    yield from (one for one in classes if one.name not in bases)


def _read_registry(root: Path, folder: Path) -> dict[str, str]:
    """Return what the registry says about each dataset, if it returns a dict that is written out."""
    for path in list_registry_files(root, folder):
        tree = parse_file(path)
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.FunctionDef) and node.name == DATASETS_FUNCTION:
                returned = (one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value)
                entries = next(filter(None, map(list_items, returned)), {})
                return {name: _read_explanation(entry) for name, entry in entries.items()}
    return {}


def _read_explanation(entry: ast.expr) -> str:
    return str(read_literal((list_items(entry) or {}).get("explain"), {}) or "")


def _read_declared_names(folder: Path) -> dict[tuple[str, str], str]:
    """Return the names in the folder's `TASK_REGISTRY`, by file and class."""
    tree = parse_file(folder / "__init__.py")
    names: dict[tuple[str, str], str] = {}
    for node in tree.body if tree is not None else ():
        for variable, value in list_assignments(node):
            if variable == CLASSES_VARIABLE:
                for name, cls in (list_items(value) or {}).items():
                    file, _, class_name = ast.unparse(cls).rpartition(".")
                    names[file.rpartition(".")[2], class_name] = name
    return names
