"""The numbers of rows in data files, for lists: counted once, and stored until a file changes."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from assay.backends.cache_dir import cache_dir
from assay.core.errors import AuthorError
from assay.sources.files import open_source

_FILE = "row-counts.json"
_MOST_BYTES = 1 << 26
"""Larger files are not read for a list, unless their header says how many rows they have."""
_UNREADABLE = -1


class RowCounts:
    """Counts rows, and remembers the counts in the cache folder."""

    def __init__(self) -> None:
        self._path = cache_dir() / _FILE
        try:
            self._known = msgspec.json.decode(self._path.read_bytes(), type=dict[str, int])
        except (OSError, msgspec.DecodeError):
            self._known = {}
        self._is_changed = False

    def count(self, path: Path) -> int | None:
        """Return the number of rows of a file; None if it is large, or not readable by itself."""
        status = path.stat()
        key = f"{path.resolve()} {status.st_size} {status.st_mtime_ns}"
        if key not in self._known:
            self._known[key] = _count(path, status.st_size)
            self._is_changed = True
        n = self._known[key]
        return None if n == _UNREADABLE else n

    def store(self) -> None:
        """Write new counts; a folder that cannot be written costs time, nothing else."""
        if not self._is_changed:
            return
        temporary = self._path.with_suffix(f".{os.getpid()}.new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(msgspec.json.encode(self._known))
            temporary.replace(self._path)
        except OSError:
            temporary.unlink(missing_ok=True)


def _count(path: Path, n_bytes: int) -> int:
    if path.suffix == ".parquet":
        try:
            import pyarrow.parquet
        except ImportError:
            return _UNREADABLE
        try:
            return int(pyarrow.parquet.read_metadata(path).num_rows)
        except (OSError, ValueError):
            return _UNREADABLE
    if n_bytes > _MOST_BYTES:
        return _UNREADABLE
    try:
        return sum(1 for _ in open_source(path).records())
    except (AuthorError, OSError):
        return _UNREADABLE
