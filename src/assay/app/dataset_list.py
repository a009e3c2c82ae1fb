"""The datasets that a folder holds, in any language, as a person would name each; nothing is compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from assay.app.dialects import LANGUAGES, TABLE, language_of, members_of, registered_datasets
from assay.core.errors import Problem, UsageError
from assay.core.origin import Origin
from assay.sources.files import known_suffix

_DEPTH = 3
"""So many folders deep datasets are looked for."""
_NOT_LOOKED_INTO = ("runs", "node_modules", "site-packages")
_DESCRIBES = (".meta.json", "hub.json", "package.json", "package-lock.json")
"""Files that say something about others."""


class ListedDataset(msgspec.Struct, frozen=True, omit_defaults=True):
    """One dataset."""

    name: str
    """What `assay run` takes."""
    dialect: str
    about: str = ""
    """What it tests, where a registry says so."""
    metrics: tuple[str, ...] = ()
    headline: str | None = None
    """The metric that a leaderboard shows."""


def datasets_in(folder: Path) -> list[ListedDataset]:
    """Return the datasets of a folder and of the folders in it."""
    if not folder.is_dir():
        what = "this is a file, not a folder" if folder.exists() else "there is no such folder"
        raise UsageError(Problem("USAGE-004", what, "name a folder", Origin(str(folder))))
    # A language may find its datasets in folders that are looked into as well.
    return list({one.name: one for one in _listed(folder, _DEPTH)}.values())


def tables_in(folder: Path) -> list[ListedDataset]:
    """Return the tables of a folder and of the folders in it, without running any file."""
    return list(_tables(folder, _DEPTH))


def _tables(folder: Path, depth: int) -> Iterator[ListedDataset]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and _is_table(path):
            yield ListedDataset(str(path), TABLE)
        elif depth and path.is_dir() and _is_looked_into(path):
            yield from _tables(path, depth - 1)


def _listed(folder: Path, depth: int) -> Iterator[ListedDataset]:
    name = str(folder)
    language = language_of(name, None, {})
    members = members_of(name, None)
    if language != TABLE:
        yield from _of_language(folder, language)
        if not _are_inside(folder, members):
            return
    else:
        yield from (ListedDataset(member, language_of(member, None, {})) for member in members)
    # Beside folders that are datasets there may be others, in another language.
    inside = sorted(path for path in folder.iterdir() if str(path) not in members)
    yield from (ListedDataset(str(path), TABLE) for path in inside if path.is_file() and _is_table(path))
    if depth:
        for path in inside:
            if path.is_dir() and _is_looked_into(path):
                yield from _listed(path, depth - 1)


def _are_inside(folder: Path, members: Sequence[str]) -> bool:
    """Whether the datasets of a folder are folders in it, and not all that it is about."""
    return any(Path(member).is_dir() and Path(member).parent == folder for member in members)


def _of_language(folder: Path, language: str) -> Iterator[ListedDataset]:
    registered = {f"{folder}:{one.name}": one for one in registered_datasets(folder)}
    for name in LANGUAGES[language].members(str(folder)) or [str(folder)]:
        if name not in registered:
            yield ListedDataset(name, language)
    for name, one in registered.items():
        yield ListedDataset(name, language, one.explain, tuple(one.metrics), one.headline)


def _is_table(path: Path) -> bool:
    suffix = known_suffix(path.name)
    is_data = suffix is not None and not suffix.startswith(".txt") and not path.name.startswith(".")
    if not is_data or path.name.endswith(_DESCRIBES):
        return False
    return language_of(str(path), None, {}) == TABLE


def _is_looked_into(folder: Path) -> bool:
    return not folder.name.startswith((".", "_")) and folder.name not in _NOT_LOOKED_INTO
