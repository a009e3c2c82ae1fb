"""What every database of the ledger does, in SQLite and in PostgreSQL."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from assay.core.errors import StoreError
from assay.ledger.database import open_database
from assay.ledger.schema import VERSION


def test_tables_are_made_once(database_place: str) -> None:
    for _ in range(2):
        database = open_database(database_place)
        with database.begin_read() as connection:
            assert connection.execute(text("SELECT version FROM assay_schema")).scalars().all() == [VERSION]
        database.close()


def test_processes_that_open_a_new_database_together_make_its_tables_once(database_place: str) -> None:
    opened = []

    def open_it() -> None:
        opened.append(open_database(database_place))

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 6
    with opened[0].begin_read() as connection:
        assert connection.execute(text("SELECT version FROM assay_schema")).scalars().all() == [VERSION]
    for database in opened:
        database.close()


def test_what_fails_half_way_changes_nothing(database_place: str) -> None:
    database = open_database(database_place)

    def fail() -> None:
        with database.begin_write() as connection:
            connection.execute(text("UPDATE assay_schema SET version = 7"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.begin_read() as connection:
        assert connection.execute(text("SELECT version FROM assay_schema")).scalar_one() == VERSION
    database.close()


def test_tables_of_a_newer_version_are_rejected(database_place: str) -> None:
    database = open_database(database_place)
    with database.begin_write() as connection:
        connection.execute(text("UPDATE assay_schema SET version = 99"))
    database.close()
    with pytest.raises(StoreError, match="STORE-022"):
        open_database(database_place)


def test_a_database_that_cannot_be_used_any_more_is_reported(database_place: str) -> None:
    database = open_database(database_place)
    with pytest.raises(StoreError) as caught, database.begin_read():
        raise OperationalError("SELECT 1", {}, Exception("server closed the connection\nat once"))
    assert caught.value.problems[0].code == "STORE-023"
    assert "server closed the connection." in str(caught.value)
    database.close()


def test_only_a_server_is_shared_by_machines(database_place: str) -> None:
    database = open_database(database_place)
    assert database.is_shared == database_place.startswith("postgresql")
    database.close()
