"""Answers kept between runs, so that after an edit only the changed rows are sent to the model."""

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
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError)


class SqliteCache:
    """One database per model identity, so that a model never gets another's answers.

    The cache only saves time, so it never ends a run. An unreadable answer is requested again, a damaged
    database is renamed, and one that cannot be used is ignored. `notes` reports this.
    """

    def __init__(self, folder: Path, model: ModelIdentity, *, is_read: bool = True) -> None:
        self._is_read = is_read
        self.path = folder / f"{model.digest}.sqlite"
        self._waiting: list[tuple[str, bytes]] = []
        self._committed = time.monotonic()
        self._n_damaged = 0
        self._fault: str | None = None
        self._moved: Path | None = None
        self._database: sqlite3.Connection | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database = self._open_undamaged()
        except (sqlite3.Error, OSError) as error:
            self._disable(error)

    def get(self, key: str) -> Outcome | None:
        """Return the answer to this ask, if it is stored."""
        if not self._is_read or self._database is None:
            return None
        try:
            row = self._database.execute("SELECT outcome FROM outcomes WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            self._disable(error)
            return None
        if row is None:
            return None
        try:
            outcome: Outcome | None = _decoder.decode(row[0])
        except _UNREADABLE:
            outcome = None
        if outcome is None or isinstance(outcome, Failure):
            self._n_damaged += 1
            return None
        return outcome

    def put(self, key: str, outcome: Outcome) -> None:
        """Store an answer; failures are not stored."""
        if isinstance(outcome, Failure) or self._database is None:
            return
        self._waiting.append((key, _encoder.encode(outcome)))
        if time.monotonic() - self._committed > _COMMIT_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Write pending answers in one transaction."""
        if self._database is None:
            return
        try:
            with self._database:
                self._database.execute("BEGIN")
                self._database.executemany("INSERT OR REPLACE INTO outcomes VALUES (?, ?)", self._waiting)
        except sqlite3.Error as error:
            self._disable(error)
        self._waiting.clear()
        self._committed = time.monotonic()

    def close(self) -> None:
        """Write pending answers and close the database."""
        self.flush()
        if self._database is not None:
            self._database.close()

    def notes(self) -> tuple[str, ...]:
        """Return notes about what was wrong with the cache."""
        notes = []
        if self._moved is not None:
            notes.append(
                f"the response cache was damaged: Assay renamed it to {self._moved} and started a new one"
            )
        if self._n_damaged:
            answers = "1 answer" if self._n_damaged == 1 else f"{self._n_damaged:,} answers"
            notes.append(f"{answers} in the response cache could not be read: Assay sent the requests again")
        if self._fault is not None:
            notes.append(f"the response cache cannot be used, and Assay continued without it: {self._fault}")
        return tuple(notes)

    def _open_undamaged(self) -> sqlite3.Connection:
        """Open the database; rename the file first if it is damaged or not a database."""
        try:
            return _open_database(self.path)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self._moved = self.path.with_suffix(".damaged")
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            self.path.replace(self._moved)
            return _open_database(self.path)

    def _disable(self, error: Exception) -> None:
        self._fault = f"{error} ({self.path})"
        if self._database is not None:
            self._database.close()
            self._database = None


def _open_database(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, timeout=30)
    try:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, outcome BLOB)")
    except BaseException:
        database.close()
        raise
    return database


class NoCache:
    """A cache that stores nothing."""

    def get(self, key: str) -> Outcome | None:
        """Return None."""
        return None

    def put(self, key: str, outcome: Outcome) -> None:
        """Store nothing."""

    def close(self) -> None:
        """Do nothing."""
