"""The dataset folders of an UltraEval checkout as benchmarks, read from their task configs."""

from __future__ import annotations

from pathlib import Path

from assay.core.benchmark import Benchmark, DataNeed
from assay.core.errors import AuthorError
from assay.core.method import Method
from assay.dialects.shared.readme_summary import summarize_readme
from assay.dialects.ultraeval.config import TaskConfig, read_configs
from assay.dialects.ultraeval.detect import find_dataset_folders, is_config_file


def list_dataset_folders(root: Path) -> list[Benchmark]:
    """Return the datasets of a checkout, named after their folders."""
    return [_describe(folder, root) for folder in find_dataset_folders(root)]


def _describe(folder: Path, root: Path) -> Benchmark:
    configs = [one for path in sorted(folder.glob("config/*.json")) for one in _read(path)]
    methods = {one.method for one in configs}
    paths = dict.fromkeys(one.path for one in configs)
    about = summarize_readme(folder, folder) or next(
        (one.description for one in configs if one.description), ""
    )
    return Benchmark(
        folder.name,
        str(folder),
        about.partition("\n")[0],
        tuple(method for method in Method if method in methods),
        data=tuple(DataNeed(path, paths=_list_places(path, root)) for path in paths),
        members=tuple(dict.fromkeys(one.task_name for one in configs)) if len(paths) > 1 else (),
    )


def _read(path: Path) -> list[TaskConfig]:
    try:
        return read_configs(path) if is_config_file(path) else []
    except AuthorError:
        # A run of this dataset reports the error.
        return []


def _list_places(path: str, root: Path) -> tuple[str, ...]:
    """Return where the rows can be: the checkout's folder writes paths relative to itself."""
    return (str(root / path), str(root.parent / path))
