"""All splits of a dataset in a local folder, loaded with the `datasets` library.

If the library does not find data in a folder without metadata, Assay finds the files by their paths, passes
them to the library and returns a note.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.sources.dataset_folder import DatasetFolder, DatasetMissing
from assay.sources.datasets_library import quiet_datasets_library
from assay.sources.files import find_suffix

CARD = "README.md"
_BUILDERS: dict[str, tuple[str, dict[str, Any]]] = {
    ".json": ("json", {}),
    ".jsonl": ("json", {}),
    ".ndjson": ("json", {}),
    ".csv": ("csv", {}),
    ".tsv": ("csv", {"delimiter": "\t"}),
    ".parquet": ("parquet", {}),
    ".arrow": ("arrow", {}),
    ".txt": ("text", {}),
}
"""The library's format names by suffix, with the arguments they need."""
SUFFIXES = tuple(_BUILDERS)
FORMATS = frozenset(name for name, _ in _BUILDERS.values())
_SAME_SPLIT = {"valid": "validation", "val": "validation", "dev": "validation", "training": "train"}
"""The library's names for splits that files spell differently."""

_UNKNOWN_OPTION = re.compile(r"unexpected keyword argument '(\w+)'")
_CSV_OPTIONS = (
    "delimiter",
    "sep",
    "quoting",
    "quotechar",
    "escapechar",
    "header",
    "names",
    "encoding",
    "skiprows",
)
"""Options of the library for csv files that authors use most."""

MakeProblem = Callable[[str, str], Problem]
"""Returns the problem for what is wrong and how to fix it."""


class FolderSplits(NamedTuple):
    """The splits of a dataset."""

    dataset: Any
    files: tuple[Path, ...] = ()
    """The files that were passed to the library; empty if it found them itself."""
    notes: tuple[str, ...] = ()


def load_folder_splits(
    folder: DatasetFolder, config: str | None, cache: Path, *, key: str, make_problem: MakeProblem
) -> FolderSplits:
    """Return all splits of a config of a folder. `key` is what the dataset's author calls the config."""
    with quiet_datasets_library() as datasets:
        try:
            return FolderSplits(datasets.load_dataset(str(folder.path), config, cache_dir=str(cache)))
        except Exception as error:
            what = f"{key} {config!r} could not be loaded from {str(folder.path)!r}: {find_root_cause(error)}"
            if _has_metadata(folder.path):
                # The metadata defines the files; other files would be other rows.
                fix = f"fix the files, or their description in {folder.path / CARD}"
                raise AuthorError(make_problem(what, fix)) from error
        files = _find_files(folder, config, what, make_problem)
        paths = tuple(path for several in files.values() for path in several)
        format_ = find_format(paths)
        if format_ is None:
            seen = listing(sorted({find_suffix(path.name) or path.suffix for path in paths}))
            what = f"the files of {config!r} have the formats {seen}"
            raise AuthorError(make_problem(what, f"use one of {listing(SUFFIXES)}"))
        builder, options = format_
        named = {split: [str(path) for path in several] for split, several in files.items()}
        dataset = read_files(datasets, builder, named, options, cache, make_problem)
    for split, usual in _SAME_SPLIT.items():
        if split in dataset and usual not in dataset:
            dataset[usual] = dataset[split]
    note = f"{folder.path.name} has no metadata, so the files of {config!r} were found by their paths"
    return FolderSplits(dataset, paths, (note,))


def find_format(files: Sequence[Path]) -> tuple[str, dict[str, Any]] | None:
    """Return the library's format for files, with its arguments; None if they have no common known one."""
    suffixes = {(find_suffix(path.name) or path.suffix).removesuffix(".gz") for path in files}
    return _BUILDERS.get(next(iter(suffixes))) if len(suffixes) == 1 else None


def read_files(
    datasets: Any,
    builder: str,
    files: Mapping[str, list[str]],
    options: Mapping[str, Any],
    cache: Path,
    make_problem: MakeProblem,
) -> Any:
    """Return the splits in some files, read by a format of the library."""
    try:
        return datasets.load_dataset(builder, data_files=dict(files), cache_dir=str(cache), **options)
    except Exception as error:
        paths = [path for several in files.values() for path in several]
        what = f"{listing(paths)} could not be read as {builder!r}: {find_root_cause(error)}"
        fix = "fix the files, DATASET_TYPE or DOWNLOAD_OPTIONS"
        if builder == "csv":
            sign = options.get("delimiter", options.get("sep", ","))
            fix = f"check the separator {sign!r}, or set DOWNLOAD_OPTIONS = {{'delimiter': ...}}"
        if (unknown := _UNKNOWN_OPTION.search(str(error))) is not None:
            near = suggest_name(unknown[1], _CSV_OPTIONS if builder == "csv" else ())
            fix = f"correct or remove the key {unknown[1]!r} of DOWNLOAD_OPTIONS{near}"
        raise AuthorError(make_problem(what, fix)) from error


def _find_files(
    folder: DatasetFolder, config: str | None, what: str, make_problem: MakeProblem
) -> dict[str, Sequence[Path]]:
    try:
        files: dict[str, Sequence[Path]] = {
            split: folder.files(config=config, split=split) for split in folder.splits(config)
        }
        return files or {"test": folder.files(config=config)}
    except DatasetMissing as missing:
        fix = f"{missing.problems[0].what}; {missing.problems[0].fix}"
        raise DatasetMissing(make_problem(what, fix)) from missing


def _has_metadata(folder: Path) -> bool:
    """Return whether a dataset card assigns files to configs."""
    card = folder / CARD
    if not card.is_file():
        return False
    head, _, rest = card.read_text(encoding="utf-8", errors="replace").partition("---")
    return (
        not head.strip() and re.search(r"^configs\s*:", rest.partition("\n---")[0], re.MULTILINE) is not None
    )


def find_root_cause(error: BaseException) -> str:
    """Return the root cause of an error: the library wraps it, and lists differing columns separately."""
    while error.__cause__ is not None:
        error = error.__cause__
    details = getattr(error, "details", None)
    if callable(details):
        return f"all splits must have the same columns; in one of the files {details()}"
    return f"{type(error).__name__}: {error}".partition("\n")[0]
