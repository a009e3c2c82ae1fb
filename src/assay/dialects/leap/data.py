"""The rows of a task, loaded with the `datasets` library from local folders or from the hub.

DATASET_PATH is looked up in the folder of datasets as LEAP documents it, and then on the hub. If the library
does not find existing data in a folder (a config of a folder without metadata, a file of a split that is not
used), Assay passes the files to it and adds a note.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.dialects.leap.authoring import ClassicTask, LoadedSplits, Task
from assay.sources.dataset_folder import DatasetFolder, DatasetMissing
from assay.sources.datasets_library import quiet_datasets_library
from assay.sources.files import find_suffix
from assay.sources.folder_splits import FORMATS, SUFFIXES, find_format, load_folder_splits, read_files
from assay.sources.hub import LocalHub
from assay.sources.hub_files import load_splits
from assay.sources.hub_name import parse_hub_name

CODE = "LEAP-007"
_DELIMITERS = ("\t", ",", ";", "|")


class TaskData:
    """Loads the splits of tasks."""

    def __init__(self, root: Path, cache: Path) -> None:
        self._root = root
        self._cache = cache

    def load(self, task: Task, data_dir: str | None) -> None:
        """Set the `dataset` of a task, and record how it was found."""
        if task.DATASET_PATH is None:
            own = "download" if isinstance(task, ClassicTask) else "load"
            fix = f"set it to a folder, or override {own}()"
            raise AuthorError(_problem(task, "DATASET_PATH is not set", fix))
        root = Path(data_dir) if data_dir is not None else self._root
        if task.IN_HF_HUB or (isinstance(task, ClassicTask) and task.DATA_FILES is None):
            try:
                folder = _folder(task, root, task.DATASET_NAME or None)
            except DatasetMissing as missing:
                task.dataset = _load_from_hub(task, missing)
                return
            task.dataset, task._loaded = self._load_hub_layout(task, folder)
        else:
            task.dataset, task._loaded = self._load_files(task, _folder(task, root).path)

    def _load_hub_layout(self, task: Task, folder: DatasetFolder) -> tuple[Any, LoadedSplits]:
        with _library(task):
            loaded = load_folder_splits(
                folder,
                task.DATASET_NAME,
                self._cache,
                key="DATASET_NAME",
                make_problem=partial(_problem, task),
            )
        return loaded.dataset, LoadedSplits(loaded.files, notes=loaded.notes)

    def _load_files(self, task: Task, folder: Path) -> tuple[Any, LoadedSplits]:
        if not isinstance(task.DATA_FILES, Mapping) or not task.DATA_FILES:
            what = f"DATA_FILES is {task.DATA_FILES!r}, expected a dict of splits and files"
            fix = 'write DATA_FILES = {"test": "test.jsonl"}, or set IN_HF_HUB = True'
            raise AuthorError(_problem(task, what, fix))
        base = folder / str(task.DATASET_NAME or "")
        files = {
            split: [base / name for name in ([names] if isinstance(names, str) else names)]
            for split, names in task.DATA_FILES.items()
        }
        absent = {
            split: path for split, paths in files.items() for path in reversed(paths) if not path.is_file()
        }
        present = {split: paths for split, paths in files.items() if split not in absent}
        if not present:
            what = f"no file of DATA_FILES exists; looked for {listing(map(str, absent.values()))}"
            fix = "put the files there, or pass the folder of the datasets with --task-dir DIR"
            raise DatasetMissing(_problem(task, what, fix))
        all_paths = [path for paths in present.values() for path in paths]
        builder, options = (task.DATASET_TYPE, {}) if task.DATASET_TYPE else _builder(task, all_paths)
        options = {**options, **(task.DOWNLOAD_OPTIONS or {})}
        with _library(task) as datasets:
            _check_builder(task, builder, datasets)
            named = {split: [str(path) for path in paths] for split, paths in present.items()}
            dataset = read_files(datasets, builder, named, options, self._cache, partial(_problem, task))
            if builder == "csv":
                _check_delimiter(task, dataset)
        note = f"missing files: {listing(map(str, absent.values()))}; the other splits were loaded"
        return dataset, LoadedSplits(tuple(all_paths), absent, (note,) if absent else ())


def _folder(task: Task, root: Path, config: str | None = None) -> DatasetFolder:
    """Return the folder of DATASET_PATH: below the root, or as mapped by its hub.json."""
    path = str(task.DATASET_PATH)
    if (direct := root / path).is_dir():
        return DatasetFolder(direct, name=path)
    try:
        return LocalHub(root).folder(path, config)
    except AuthorError as error:
        problem = error.problems[0]
        what = f"DATASET_PATH {path!r} is not a folder in {str(root)!r}"
        fix = f"{problem.fix.replace('--data-root', '--task-dir')} (the folder of the datasets)"
        raise DatasetMissing(_problem(task, what, fix)) from error


def _load_from_hub(task: Task, missing: DatasetMissing) -> Any:
    """Return the splits of a dataset on the hub; if the hub does not have it, raise both problems."""
    name = parse_hub_name(f"hf://{task.DATASET_PATH}")
    if name is None:
        raise missing
    try:
        return load_splits(name._replace(config=task.DATASET_NAME or None))
    except DatasetMissing as error:
        (here,), there = missing.problems, error.problems[0]
        both = {"what": f"{here.what}; {there.what}", "fix": f"{there.fix}; or {here.fix}"}
        raise DatasetMissing(msgspec.structs.replace(here, **both)) from error


def _check_builder(task: Task, builder: str, datasets: Any) -> None:
    """Raise if DATASET_TYPE is not a format of the library, which would look for a dataset of that name."""
    formats = _formats(datasets)
    if builder in formats or Path(builder).exists():
        return
    near = suggest_name(builder.lower(), formats)
    what = f"DATASET_TYPE is {builder!r}{near}, which is not a format of `datasets`"
    # The usual formats first: the library has many.
    known = sorted(formats, key=lambda name: (name not in FORMATS, name))
    raise AuthorError(_problem(task, what, f"write one of {listing(known)}"))


def _check_delimiter(task: Task, dataset: Any) -> None:
    """Raise if a csv file was read as one column, which another delimiter would split."""
    for split, rows in dataset.items():
        if len(rows.column_names) != 1 or not len(rows):
            continue
        (header,) = rows.column_names
        for sign in _DELIMITERS:
            n = header.count(sign)
            if n and all(str(row[header]).count(sign) == n for row in rows.select(range(min(len(rows), 5)))):
                what = f"the files of split {split!r} were read as one column {header!r}"
                fix = f"set DOWNLOAD_OPTIONS = {{'delimiter': {sign!r}}}"
                raise AuthorError(_problem(task, what, fix))


def _formats(datasets: Any) -> Collection[str]:
    packaged = getattr(datasets.packaged_modules, "_PACKAGED_DATASETS_MODULES", None)
    return packaged.keys() if packaged else FORMATS


def _builder(task: Task, files: Sequence[Path]) -> tuple[str, dict[str, Any]]:
    if (builder := find_format(files)) is not None:
        return builder
    suffixes = {(find_suffix(path.name) or path.suffix).removesuffix(".gz") for path in files}
    what = f"the files of {task.DATASET_NAME!r} have the formats {listing(sorted(suffixes))}"
    raise AuthorError(_problem(task, what, f"use one of {listing(SUFFIXES)}, or set DATASET_TYPE"))


@contextmanager
def _library(task: Task) -> Iterator[Any]:
    try:
        with quiet_datasets_library() as datasets:
            yield datasets
    except ModuleNotFoundError as error:
        what = f"loading its rows needs the package {error.name!r}, which is not installed"
        raise AuthorError(_problem(task, what, "pip install datasets")) from error


def _problem(task: Task, what: str, fix: str) -> Problem:
    file = getattr(sys.modules.get(type(task).__module__), "__file__", None)
    return Problem(CODE, f"class {type(task).__name__}: {what}", fix, Origin(file) if file else None)
