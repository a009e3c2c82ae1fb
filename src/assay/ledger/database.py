"""The database connection, for SQLite and PostgreSQL.

SQLite is a file that several processes of one machine share: readers never wait (write-ahead log), and a
writer locks the file for the length of its transaction. PostgreSQL is named by its URL and can be shared by
machines. All statements use SQL that both support; only this module handles their differences.
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
"""The place of a database that only exists in this process."""
_TURN = 0x5455524E
"""The key of the PostgreSQL lock with which writers of the same rows take turns."""
_BUSY_S = 30.0
"""How long a writer waits for another transaction to end."""
_AGAIN_S = 0.02
_QUIET: dict[str, Any] = {"hide_parameters": True}
"""Errors show the statement, but not its parameters, which can be anybody's answers."""
_DRIVERS = {"sqlite": "sqlite", "postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}


class Database:
    """An open database. Threads can share it; a forked process must open its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def is_shared(self) -> bool:
        """Whether other machines can use it: a server instead of a local file."""
        return self._engine.dialect.name == "postgresql"

    @property
    def place(self) -> str:
        """Return its location for display, without a password."""
        return _format_url(self._engine.url)

    @contextmanager
    def begin_read(self) -> Iterator[Connection]:
        """Read a consistent state of the database."""
        with self._translating_errors(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def begin_write(self) -> Iterator[Connection]:
        """Change the database in one transaction; SQLite has one writer at a time."""
        options = {"is_writer": True}
        with (
            self._translating_errors(),
            self._engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        """Turn a lost connection, or a database that is busy for too long, into a StoreError."""
        try:
            yield
        except (OperationalError, InterfaceError, InternalError, TimeoutError) as error:
            what = f"{self.place}: the database cannot be used: {_format_cause(error)}"
            raise StoreError(
                Problem("STORE-023", what, "check that it is running and has disk space; then try again")
            ) from error

    def take_turns(self, connection: Connection) -> None:
        """Wait until no other transaction that takes turns is open; SQLite writers do so anyway."""
        if self.is_shared:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _TURN})

    def now(self, connection: Connection) -> float:
        """Return the time in seconds since 1970, by the clock that all users of the database share."""
        if not self.is_shared:
            return time.time()
        read: float = connection.execute(
            text("SELECT extract(epoch FROM clock_timestamp())::float8")
        ).scalar_one()
        return read

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


def open_database(place: str | Path) -> Database:
    """Open the database at a path (SQLite) or a URL such as `postgresql://user@host/name`.

    Creates or updates its tables if necessary.
    """
    url = _url(str(place))
    try:
        engine = _engine(url)
    except ModuleNotFoundError as error:
        raise _problem(
            url, f"the driver {error.name!r} is not installed", "pip install 'assay-eval[postgres]'"
        ) from error
    except OSError as error:
        fix = "use a path in a folder with write permission"
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
            "check that the server is running and that the URL names a database with write permission",
        ) from error
    except StoreError:
        engine.dispose()
        raise
    return Database(engine)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return sqlalchemy.create_engine(url, pool_pre_ping=True, **_QUIET)
    if url.database == MEMORY:
        # Every connection would have its own database, so threads share a single one.
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
        # The URL can contain a password, so repeat only its beginning, and not the cause.
        raise StoreError(
            Problem(
                "STORE-020",
                f"{place.split('://', 1)[0]}://... is not a supported database",
                "use a file path, or postgresql://USER@HOST/NAME",
            )
        ) from None
    return url.set(drivername=driver)


def _format_cause(error: DBAPIError | TimeoutError) -> str:
    """Return the first line of the driver's message; the others repeat the statement."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else "no reason given"


def _format_url(url: URL) -> str:
    """Return a URL without its password, wherever it is."""
    query = {name: "***" if "password" in name.lower() else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True)


def _problem(url: URL, what: str, fix: str) -> StoreError:
    return StoreError(Problem("STORE-021", f"{_format_url(url)}: {what}", fix))


def _configure_sqlite(engine: Engine) -> None:
    """Make SQLite transactions begin where intended, instead of where the driver guesses."""

    @event.listens_for(engine, "connect")
    def _configure_connection(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_S * 1000)}")
        _enable_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        # A reader that becomes a writer cannot wait for another writer, so writers declare it first.
        is_writer = connection.get_execution_options().get("is_writer", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")


def _enable_write_ahead_log(connection: Any) -> None:
    """Switch the file to a write-ahead log. This changes a new file, and SQLite does not wait for that while
    another process opens the same file.
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
