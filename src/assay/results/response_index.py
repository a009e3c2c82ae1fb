"""Responses by request id, read from disk on demand: a run may have more than fit into memory.

Their offsets need not fit either: they are in an unnamed SQLite database, which SQLite moves to a temporary
file when it grows and removes with the connection.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from assay.core.response import Response
from assay.results.damaged_files import make_skipping_reader
from assay.results.growing_file import Tail, read_line_at

_CACHE_KIB = 2_000
"""Memory for the index."""


class ResponseIndex:
    """The responses of a journal; use it in a `with` block."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self._read = make_skipping_reader(Response)
        self._places = sqlite3.connect("", isolation_level=None)
        try:
            self._fill(path)
        except BaseException:
            self.close()
            raise

    def get(self, request_id: str) -> Response | None:
        """Return the response to a request; None if there is no readable one."""
        found = self._places.execute("SELECT place FROM places WHERE id = ?", (request_id,)).fetchone()
        return None if found is None else self._read(read_line_at(self._file, found[0]))

    def close(self) -> None:
        """Close the journal and drop the index."""
        self._places.close()
        os.close(self._file)

    def __enter__(self) -> ResponseIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fill(self, path: Path) -> None:
        # The index is useless after a crash, so trade durability for speed.
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE_KIB}"):
            self._places.execute(f"PRAGMA {setting}")
        self._places.execute("CREATE TABLE places (id TEXT PRIMARY KEY, place INTEGER) WITHOUT ROWID")
        self._places.execute("BEGIN")
        try:
            # The response to a repeated request replaces the earlier one.
            self._places.executemany("INSERT OR REPLACE INTO places VALUES (?, ?)", _addresses(path))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "the temporary folder") from error
            raise
        self._places.execute("COMMIT")


def _addresses(path: Path) -> Iterator[tuple[str, int]]:
    read = make_skipping_reader(Response)
    for place, line in Tail(path).lines():
        if (response := read(line)) is not None:
            yield response.request_id, place
