"""Answers kept between runs, so that an edited dataset asks only about the rows that changed."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import msgspec

from assay.core.model import ModelIdentity
from assay.core.response import Failure, Outcome

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Outcome)
_COMMIT_EVERY_S = 1.0


class SqliteCache:
    """One database per model identity, so that no model can be given another's answers."""

    def __init__(self, folder: Path, model: ModelIdentity, *, is_read: bool = True) -> None:
        self._is_read = is_read
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{model.digest}.sqlite"
        self._database = sqlite3.connect(self.path, isolation_level=None, timeout=30)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.execute("CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, outcome BLOB)")
        self._waiting: list[tuple[str, bytes]] = []
        self._committed = time.monotonic()

    def get(self, key: str) -> Outcome | None:
        """Return the answer to this ask, if it was ever given."""
        if not self._is_read:
            return None
        row = self._database.execute("SELECT outcome FROM outcomes WHERE key = ?", (key,)).fetchone()
        return None if row is None else _decoder.decode(row[0])

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep an answer; a failure is not one."""
        if isinstance(outcome, Failure):
            return
        self._waiting.append((key, _encoder.encode(outcome)))
        if time.monotonic() - self._committed > _COMMIT_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting, in one transaction."""
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT OR REPLACE INTO outcomes VALUES (?, ?)", self._waiting)
        self._waiting.clear()
        self._committed = time.monotonic()

    def close(self) -> None:
        """Write what is waiting and close the database."""
        self.flush()
        self._database.close()


class NoCache:
    """Keeps nothing."""

    def get(self, key: str) -> Outcome | None:
        """Return nothing."""
        return None

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Do nothing."""
