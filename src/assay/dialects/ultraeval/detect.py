"""Recognising what UltraEval calls a dataset by names and first lines, without running anything.

A dataset is named by its folder (`datasets/mmlu`, with `:anatomy,college-*` for some of its tasks), by a
config or a list of configs (`.json`), or by a transform script (`.py`). A folder of such folders, or a whole
checkout, names all of them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

DATASETS = "datasets"
"""The folder of a checkout that holds the datasets."""
_LOOKED_AT = 4096
_CONFIG_KEY = re.compile(rb'"(?:transform|task_name)"\s*:')
_TRANSFORM_LINE = re.compile(rb"^(?:async +)?def +transform *\(|^transform *[:=]", re.MULTILINE)


class DatasetName(NamedTuple):
    """What a person named."""

    path: Path
    tasks: tuple[str, ...] = ()
    """The tasks that were chosen, as patterns; empty for all."""

    @classmethod
    def of(cls, text: str) -> DatasetName:
        """Divide a name: the tasks are what follows the last colon, unless a file is called so."""
        if Path(text).exists():
            return cls(Path(text))
        path, colon, tasks = text.rpartition(":")
        if not colon:
            return cls(Path(text))
        return cls(Path(path), tuple(task.strip() for task in tasks.split(",") if task.strip()))


def is_dataset(name: str) -> bool:
    """Whether a name means a dataset of this dialect."""
    path = DatasetName.of(name).path
    if path.is_dir():
        return bool(find_dataset_folders(path))
    if path.suffix == ".json":
        return is_config_file(path)
    return is_transform_file(path)


def is_transform_file(path: Path) -> bool:
    """Whether a file is Python that defines `transform`; one of another name must give it four parameters."""
    if path.suffix != ".py" or not path.is_file():
        return False
    text = path.read_bytes()
    if _TRANSFORM_LINE.search(text) is None:
        return False
    if path.stem.startswith("transform"):
        # What is wrong with it will be told when it is run.
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
    """Whether a JSON file begins like a task config, or like a list of them."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as stream:
        keys = _CONFIG_KEY.findall(stream.read(_LOOKED_AT))
    return len(set(keys)) > 1


def is_dataset_folder(path: Path) -> bool:
    """Whether a folder holds a transform, or configs of tasks."""
    if any(is_transform_file(file) for file in path.glob("transform*.py")):
        return True
    return any(is_config_file(file) for file in path.glob("config/*.json"))


def find_dataset_folders(path: Path) -> list[Path]:
    """Return the dataset folders that a folder means: itself, those in it, or a checkout's."""
    if is_dataset_folder(path):
        return [path]
    for place in (path, path / DATASETS):
        found = sorted(folder for folder in place.glob("*/") if is_dataset_folder(folder))
        if found:
            return found
    return []


def find_nested_folders(path: Path) -> list[Path]:
    """Return the dataset folders in a folder of them, or in a checkout; none where it is one itself."""
    return [folder for folder in find_dataset_folders(path) if folder != path]
