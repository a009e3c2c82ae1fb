"""Detect a dataset class from its file, without running it or importing heavy packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

BASE_NAMES = ("Dataset", "GenerationDataset", "MultipleChoiceDataset", "ValidationPerplexityDataset")
_NAMED = re.compile(r"(?:(?P<name>\w+)=)?(?P<path>.*?\.py)(?:::(?P<class_name>\w+))?(?::(?P<selection>.*))?")
_PACKAGE = "utilization"
_OWN_NAMES = ("format_instance", "load_args", "evaluation_set")
"""Names that classes of this dialect define, including those that extend another dataset."""
_CLASS_LINE = re.compile(rb"^class \w+\(.*\b(" + "|".join(BASE_NAMES).encode() + rb")\b.*\):", re.MULTILINE)
FRAMEWORK_FILES = (
    "__init__",
    "dataset",
    "generation_dataset",
    "multiple_choice_dataset",
    "validation_perplexity_dataset",
)
"""Files of the original's framework that are stored among its datasets."""


class ClassName(NamedTuple):
    """The parts of a dataset name: `file.py`, `file.py::Class`, `file.py:selection`, `name=file.py`."""

    path: Path
    class_name: str | None
    selection: str
    name: str | None = None
    """The dataset's name if it is not the file's: one file can serve several, such as wmt14 and wmt16."""

    @classmethod
    def of(cls, text: str) -> ClassName:
        """Parse a name; a selection follows a single colon."""
        match = _NAMED.fullmatch(text)
        if match is None:
            return cls(Path(text), None, "")
        return cls(Path(match["path"]), match["class_name"], match["selection"] or "", match["name"])


def is_class_file(path: Path) -> bool:
    """Return whether a file is Python that defines a dataset class of this dialect."""
    if path.suffix != ".py" or not path.is_file():
        return False
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        # Report the error only if the file was meant to be a dataset class.
        return _CLASS_LINE.search(path.read_bytes()) is not None
    syntax_nodes = list(ast.walk(tree))
    return any(map(_is_dataset_sign, syntax_nodes)) or _has_sibling_base(syntax_nodes)


def is_framework_file(path: Path) -> bool:
    """Return whether a file belongs to the original's framework, which datasets extend."""
    if path.stem not in FRAMEWORK_FILES:
        return False
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return False
    classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    # A user can call a dataset's file dataset.py.
    return not classes or any(name in BASE_NAMES for name in classes)


def class_files(folder: Path) -> list[Path]:
    """Return the files of a folder that define datasets."""
    files = sorted(folder.glob("*.py"))
    return [file for file in files if is_class_file(file) and not is_framework_file(file)]


def _is_dataset_sign(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        return module.partition(".")[0] == _PACKAGE or (node.level > 0 and module.endswith("_dataset"))
    if isinstance(node, ast.ClassDef):
        return any(_last_name(base) in BASE_NAMES for base in node.bases) or any(
            name in _OWN_NAMES for statement in node.body for name in _list_defined_names(statement)
        )
    # The documentation once writes `def` instead of `class`, which gets its own error message.
    return isinstance(node, ast.FunctionDef) and any(arg.arg in BASE_NAMES for arg in node.args.args)


def _has_sibling_base(syntax_nodes: Sequence[ast.AST]) -> bool:
    """Return whether a class extends one from a sibling file; configs import, but define no classes."""
    imported = {
        alias.asname or alias.name
        for node in syntax_nodes
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    return any(
        _last_name(base) in imported
        for node in syntax_nodes
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    )


def _list_defined_names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
