"""Detect UltraEval datasets by names and first lines, without running anything.

A dataset is named by its folder (`datasets/mmlu`, with `:anatomy,college-*` for some of its tasks), by a
config or a list of configs (`.json`), or by a transform script (`.py`). A folder of such folders, or a whole
checkout, means all of them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

DATASETS = "datasets"
"""The folder of a checkout with the datasets."""
_LOOKED_AT = 4096
_CONFIG_KEY = re.compile(rb'"(?:transform|task_name)"\s*:')
_TRANSFORM_LINE = re.compile(rb"^(?:async +)?def +transform *\(|^transform *[:=]", re.MULTILINE)


class DatasetName(NamedTuple):
    """The parts of a dataset's name."""

    path: Path
    tasks: tuple[str, ...] = ()
    """Patterns of the selected tasks; empty for all."""

    @classmethod
    def of(cls, text: str) -> DatasetName:
        """Parse a name: the tasks follow the last colon, unless a file has this name."""
        if Path(text).exists():
            return cls(Path(text))
        path, colon, tasks = text.rpartition(":")
        if not colon:
            return cls(Path(text))
        return cls(Path(path), tuple(task.strip() for task in tasks.split(",") if task.strip()))


def is_dataset(name: str) -> bool:
    """Return whether a name refers to a dataset of this dialect."""
    path = DatasetName.of(name).path
    if path.is_dir():
        return bool(find_dataset_folders(path))
    if path.suffix == ".json":
        return is_config_file(path)
    return is_transform_file(path)


def is_transform_file(path: Path) -> bool:
    """Return whether a file defines `transform`; with four parameters if the file has another name."""
    if path.suffix != ".py" or not path.is_file():
        return False
    text = path.read_bytes()
    if _TRANSFORM_LINE.search(text) is None:
        return False
    if path.stem.startswith("transform"):
        # Its problems are reported when it runs.
        return True
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, ast.FunctionDef) and node.name == "transform" and len(node.args.args) == 4
        for node in tree.body
    )


def is_config_file(path: Path) -> bool:
    """Return whether a JSON file begins like a task config or a list of them."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as stream:
        keys = _CONFIG_KEY.findall(stream.read(_LOOKED_AT))
    return len(set(keys)) > 1


def is_dataset_folder(path: Path) -> bool:
    """Return whether a folder contains a transform, or task configs."""
    if any(is_transform_file(file) for file in path.glob("transform*.py")):
        return True
    return any(is_config_file(file) for file in path.glob("config/*.json"))


def find_dataset_folders(path: Path) -> list[Path]:
    """Return the dataset folders of a folder: itself, those in it, or a checkout's."""
    if is_dataset_folder(path):
        return [path]
    for place in (path, path / DATASETS):
        folders = sorted(folder for folder in place.glob("*/") if is_dataset_folder(folder))
        if folders:
            return folders
    return []


def find_nested_folders(path: Path) -> list[Path]:
    """Return the dataset folders in a folder of datasets or a checkout; empty for a dataset folder itself."""
    return [folder for folder in find_dataset_folders(path) if folder != path]
