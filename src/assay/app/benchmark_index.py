"""The stored list of a folder's benchmarks.

Reading thousands of files takes seconds, so the list of a folder is kept in a cache file. It is valid as long
as the package's version is the same and no file of the folder was added, removed or changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.app.benchmark_sources import SourceFolder
from assay.backends.cache_dir import cache_dir
from assay.core.benchmark import Benchmark
from assay.core.ids import digest

_FORMAT = 2
"""Increased when entries change, so that older cache files are not read."""
_IGNORED_SUFFIXES = (".pyc", ".pyo")


class _StoredList(msgspec.Struct, frozen=True):
    signature: str
    benchmarks: tuple[Benchmark, ...]


def load_benchmarks(place: SourceFolder) -> tuple[Benchmark, ...]:
    """Return the benchmarks of a folder: from the cache file, or read anew and stored there."""
    if isinstance(place.folder, str):
        # A database changes without a file being renamed or resized.
        return tuple(place.source.list(place.folder))
    folder = place.folder.resolve()
    signature = digest((_FORMAT, place.version, sorted(_describe_files(str(folder)))), size=16)
    stored = _read_list(file := _find_list_file(place, folder))
    if stored is None or stored.signature != signature:
        stored = _StoredList(signature, tuple(place.source.list(folder)))
        _store(file, stored)
    return stored.benchmarks


def read_stored_benchmarks(place: SourceFolder) -> tuple[Benchmark, ...]:
    """Return the benchmarks as last stored, without reading the folder: possibly old, or none."""
    if isinstance(place.folder, str):
        return ()  # Lists of databases are not stored.
    stored = _read_list(_find_list_file(place, place.folder.resolve()))
    return () if stored is None else stored.benchmarks


def _find_list_file(place: SourceFolder, folder: Path) -> Path:
    return cache_dir() / f"benchmarks-{place.source.name}-{digest(str(folder))}.json"


def _read_list(file: Path) -> _StoredList | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_StoredList)
    except (OSError, msgspec.DecodeError):
        return None


def _describe_files(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and time of the files below a folder that can define benchmarks."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name.endswith(_IGNORED_SUFFIXES):
                continue
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _describe_files(entry.path)
            else:
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns


def _store(file: Path, stored: _StoredList) -> None:
    """Write a cache file; a folder that cannot be written costs time, nothing else."""
    temporary = file.with_suffix(f".{os.getpid()}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(stored))
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
