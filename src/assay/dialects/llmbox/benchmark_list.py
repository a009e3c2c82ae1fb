"""The dataset classes of an LLMBox checkout as benchmarks, read from their syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.core.benchmark import Benchmark, DataNeed
from assay.core.method import Method
from assay.dialects.llmbox.detect import class_files
from assay.dialects.shared.syntax_values import list_assignments, parse_file, read_literal

_CHECKOUT_FOLDERS = ("utilization/dataset", "dataset")
"""Where the classes are, relative to a checkout."""
_BASE_METHODS = {
    "MultipleChoiceDataset": (Method.PPL, Method.PROB, Method.GEN),
    "GenerationDataset": (Method.GEN,),
    "ValidationPerplexityDataset": (Method.PPL,),
}


def find_class_folder(root: Path) -> Path | None:
    """Return the folder of the dataset classes: the given one, or a checkout's."""
    places = (*(root / inside for inside in _CHECKOUT_FOLDERS), root)
    return next((place for place in places if place.is_dir() and class_files(place)), None)


def list_classes(folder: Path) -> list[Benchmark]:
    """Return the datasets of a folder, named after their files."""
    return [_describe(path) for path in class_files(folder)]


def _describe(path: Path) -> Benchmark:
    tree = parse_file(path)
    classes = [] if tree is None else [node for node in tree.body if isinstance(node, ast.ClassDef)]
    values: dict[str, Any] = {}
    for cls in classes:
        for node in cls.body:
            values |= {name: read_literal(value, {}) for name, value in list_assignments(node)}
    about = next(filter(None, (ast.get_docstring(node) for node in (*classes, tree) if node is not None)), "")
    names = values.get("load_args")
    names = [name for name in names if isinstance(name, str)] if isinstance(names, tuple | list) else []
    split = values.get("evaluation_set")
    return Benchmark(
        path.stem,
        str(path),
        about.partition("\n")[0].strip(),
        next(_list_methods(classes), ()),
        split if isinstance(split, str) else "",
        (DataNeed(names[0], names[1] if names[1:] else "", on_hub=names[0]),) if names else (),
    )


def _list_methods(classes: list[ast.ClassDef]) -> Iterator[tuple[Method, ...]]:
    for cls in classes:
        for base in cls.bases:
            name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            if name in _BASE_METHODS:
                yield _BASE_METHODS[name]
