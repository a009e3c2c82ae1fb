"""One database, in SQLite or in PostgreSQL, behind one door.

SQLite is a file that several processes of one machine share: readers never wait (write-ahead log), a writer
takes the file for the length of its transaction. PostgreSQL is named by its address and shared by machines.
What is written here is SQL that both understand; where they differ, this file alone knows it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    InternalError,
    NoSuchModuleError,
    OperationalError,
    TimeoutError,
)
from sqlalchemy.pool import QueuePool

from assay.core.errors import Problem, StoreError
from assay.ledger import tables as _tables  # noqa: F401 (describes every table before they are made)
from assay.ledger.schema import migrate_schema

MEMORY = ":memory:"
"""The place of a database that goes away with the process."""
_TURN = 0x5455524E
"""The number of PostgreSQL's lock by which those who write the same rows anew take turns."""
_BUSY_S = 30.0
"""How long a writer waits for another one's transaction to end."""
_AGAIN_S = 0.02
_QUIET: dict[str, Any] = {"hide_parameters": True}
"""Errors tell the statement, not what was to be written: that may be anybody's answers."""
_DRIVERS = {"sqlite": "sqlite", "postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}


class Database:
    """An open database. Threads may share it; a process that forks must open its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def is_shared(self) -> bool:
        """Whether other machines may use it: a server's, and no file of this one."""
        return self._engine.dialect.name == "postgresql"

    @property
    def place(self) -> str:
        """Return where it is, as a person may read it: without a password."""
        return _format_url(self._engine.url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Look at the database as it is at one moment."""
        with self._translating_errors(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Change the database, as a whole or not at all; in SQLite one writer at a time."""
        options = {"is_writer": True}
        with (
            self._translating_errors(),
            self._engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        """Tell a database that went away, or is busy for too long, as an error of the house."""
        try:
            yield
        except (OperationalError, InterfaceError, InternalError, TimeoutError) as error:
            what = f"{self.place}: the database cannot be used: {_format_cause(error)}"
            raise StoreError(
                Problem("STORE-023", what, "see that it runs and has room; then try again")
            ) from error

    def take_turns(self, connection: Connection) -> None:
        """Wait until no other transaction that takes turns is open; in SQLite writers do so anyway."""
        if self.is_shared:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _TURN})

    def now(self, connection: Connection) -> float:
        """Return the time in seconds since 1970, by the clock that all who share the database go by."""
        if not self.is_shared:
            return time.time()
        read: float = connection.execute(
            text("SELECT extract(epoch FROM clock_timestamp())::float8")
        ).scalar_one()
        return read

    def close(self) -> None:
        """Let go of every connection."""
        self._engine.dispose()


def open_database(place: str | Path) -> Database:
    """Open the database at a path (SQLite) or an address, such as `postgresql://user@host/name`.

    Its tables are made, or brought up to date, as needed.
    """
    url = _url(str(place))
    try:
        engine = _engine(url)
    except ModuleNotFoundError as error:
        raise _problem(
            url, f"the driver {error.name!r} is not installed", "pip install 'assay-eval[postgres]'"
        ) from error
    except OSError as error:
        fix = "give a path in a folder that you may write to"
        raise _problem(url, f"the database cannot be opened: {error.strerror}", fix) from error
    if engine.dialect.name == "sqlite":
        _configure_sqlite(engine)
    try:
        migrate_schema(engine)
    except DBAPIError as error:
        engine.dispose()
        raise _problem(
            url,
            f"the database cannot be opened: {_format_cause(error)}",
            "see that the server runs and that the address names a database you may write to",
        ) from error
    except StoreError:
        engine.dispose()
        raise
    return Database(engine)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return sqlalchemy.create_engine(url, pool_pre_ping=True, **_QUIET)
    if url.database == MEMORY:
        # Every connection would have a database of its own: threads take turns with a single one.
        return sqlalchemy.create_engine(
            url,
            poolclass=QueuePool,
            pool_size=1,
            max_overflow=0,
            connect_args={"check_same_thread": False},
            **_QUIET,
        )
    if url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    return sqlalchemy.create_engine(url, **_QUIET)


def _url(place: str) -> URL:
    if "://" not in place:
        return URL.create("sqlite", database=place)
    try:
        url = make_url(place)
        driver = _DRIVERS[url.get_backend_name()]
    except (ArgumentError, NoSuchModuleError, KeyError, ValueError):
        # The address may hold a password: only its beginning is repeated, and no word of the cause.
        raise StoreError(
            Problem(
                "STORE-020",
                f"{place.split('://', 1)[0]}://... is no database that Assay knows",
                "give a file's path, or postgresql://USER@HOST/NAME",
            )
        ) from None
    return url.set(drivername=driver)


def _format_cause(error: DBAPIError | TimeoutError) -> str:
    """Return the first line of what the driver says; the others repeat the statement."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else "no reason given"


def _format_url(url: URL) -> str:
    """Return an address without its password, wherever that stands in it."""
    query = {name: "***" if "password" in name.lower() else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True)


def _problem(url: URL, what: str, fix: str) -> StoreError:
    return StoreError(Problem("STORE-021", f"{_format_url(url)}: {what}", fix))


def _configure_sqlite(engine: Engine) -> None:
    """Have SQLite's transactions begin where they are meant to: the driver's own guesses are turned off."""

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_S * 1000)}")
        _enable_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        # A reader that became a writer could not wait for another writer; so writers say it first.
        is_writer = connection.get_execution_options().get("is_writer", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")


def _enable_write_ahead_log(connection: Any) -> None:
    """Give the file its write-ahead log. A new file is changed for it, and for that SQLite does not wait
    while somebody else opens the same one.
    """
    give_up = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
        time.sleep(_AGAIN_S)
