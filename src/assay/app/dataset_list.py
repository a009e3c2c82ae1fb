"""List the datasets in a folder, in any dialect, as a person would name each; compiles nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.app.dialects import (
    DIALECT_REGISTRY,
    TABLE,
    detect_dialect,
    list_members,
    list_registered_datasets,
)
from assay.core.errors import Problem, UsageError
from assay.core.origin import Origin
from assay.sources.files import find_suffix
from assay.sources.hub_name import parse_hub_name

if TYPE_CHECKING:
    from assay.app.hub_datasets import ListedHubDataset

_DEPTH = 3
"""Depth of the search in subfolders."""
_NOT_LOOKED_INTO = ("runs", "node_modules", "site-packages")
_DESCRIBES = (".meta.json", "hub.json", "package.json", "package-lock.json")
"""Files that describe others."""


def list_datasets(names: Sequence[str]) -> tuple[list[ListedDataset], list[ListedHubDataset]]:
    """Return the datasets in the named folders, and those that are named on the hub."""
    from assay.app.hub_datasets import list_hub_dataset

    here, on_hub = [], []
    for name in names:
        hub_name = None if Path(name).exists() else parse_hub_name(name)
        if hub_name is None:
            here += list_folder_datasets(Path(name))
        else:
            on_hub.append(list_hub_dataset(hub_name))
    return here, on_hub


class ListedDataset(msgspec.Struct, frozen=True, omit_defaults=True):
    """One dataset in a folder."""

    name: str
    """The name that `assay run` takes."""
    dialect: str
    about: str = ""
    """What it tests, if a registry says so."""
    metrics: tuple[str, ...] = ()
    headline: str | None = None
    """The metric that a leaderboard shows."""


def list_folder_datasets(folder: Path) -> list[ListedDataset]:
    """Return the datasets in a folder and its subfolders."""
    if not folder.is_dir():
        what = "this is a file, not a folder" if folder.exists() else "the folder does not exist"
        raise UsageError(Problem("USAGE-004", what, "name a folder", Origin(str(folder))))
    # A dialect may also find its datasets in subfolders that are searched as well.
    return list({one.name: one for one in _iterate_datasets(folder, _DEPTH)}.values())


def list_folder_tables(folder: Path) -> list[ListedDataset]:
    """Return the tables in a folder and its subfolders, without running any file."""
    return list(_tables(folder, _DEPTH))


def _tables(folder: Path, depth: int) -> Iterator[ListedDataset]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and _is_table(path):
            yield ListedDataset(str(path), TABLE)
        elif depth and path.is_dir() and _is_searched(path):
            yield from _tables(path, depth - 1)


def _iterate_datasets(folder: Path, depth: int) -> Iterator[ListedDataset]:
    name = str(folder)
    dialect = detect_dialect(name, None, {})
    members = list_members(name, None)
    if dialect != TABLE:
        yield from _iterate_dialect_datasets(folder, dialect)
        if not _has_member_folders(folder, members):
            return
    else:
        yield from (ListedDataset(member, detect_dialect(member, None, {})) for member in members)
    # Next to folders that are datasets there may be others, in another dialect.
    inside = sorted(path for path in folder.iterdir() if str(path) not in members)
    yield from (ListedDataset(str(path), TABLE) for path in inside if path.is_file() and _is_table(path))
    if depth:
        for path in inside:
            if path.is_dir() and _is_searched(path):
                yield from _iterate_datasets(path, depth - 1)


def _has_member_folders(folder: Path, members: Sequence[str]) -> bool:
    """Return whether the datasets of a folder are subfolders, next to which there may be others."""
    return any(Path(member).is_dir() and Path(member).parent == folder for member in members)


def _iterate_dialect_datasets(folder: Path, dialect: str) -> Iterator[ListedDataset]:
    registered = {f"{folder}:{one.name}": one for one in list_registered_datasets(folder)}
    for name in DIALECT_REGISTRY[dialect].members(str(folder)) or [str(folder)]:
        if name not in registered:
            yield ListedDataset(name, dialect)
    for name, one in registered.items():
        yield ListedDataset(name, dialect, one.explain, tuple(one.metrics), one.headline)


def _is_table(path: Path) -> bool:
    suffix = find_suffix(path.name)
    is_data = suffix is not None and not suffix.startswith(".txt") and not path.name.startswith(".")
    if not is_data or path.name.endswith(_DESCRIBES):
        return False
    return detect_dialect(str(path), None, {}) == TABLE


def _is_searched(folder: Path) -> bool:
    return not folder.name.startswith((".", "_")) and folder.name not in _NOT_LOOKED_INTO
