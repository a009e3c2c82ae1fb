from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from assay.core.errors import StoreError
from assay.ledger.database import open_database
from assay.ledger.schema import VERSION


def test_a_file_is_made_with_its_folder_and_its_tables(tmp_path: Path) -> None:
    database = open_database(tmp_path / "deep" / "assay.db")
    with database.begin_read() as connection:
        assert connection.execute(text("SELECT version FROM assay_schema")).scalar_one() == VERSION
    database.close()
    again = open_database(tmp_path / "deep" / "assay.db")
    with again.begin_read() as connection:
        assert connection.execute(text("SELECT count(*) FROM assay_schema")).scalar_one() == 1
    again.close()


def test_writers_wait_for_each_other_and_lose_nothing(tmp_path: Path) -> None:
    database = open_database(tmp_path / "assay.db")

    def count_up() -> None:
        for _ in range(50):
            with database.begin_write() as connection:
                now = connection.execute(text("SELECT version FROM assay_schema")).scalar_one()
                connection.execute(text("UPDATE assay_schema SET version = :next"), {"next": now + 1})

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.begin_read() as connection:
        assert connection.execute(text("SELECT version FROM assay_schema")).scalar_one() == VERSION + 200
    database.close()


def test_opening_a_new_file_waits_for_somebody_who_is_writing_it(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "assay.db", isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE theirs (one)")
    other.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.3, other.execute, ["COMMIT"])
    done.start()
    database = open_database(tmp_path / "assay.db")
    with database.begin_read() as connection:
        assert connection.execute(text("SELECT version FROM assay_schema")).scalar_one() == VERSION
    database.close()
    done.join()
    other.close()


def test_a_strange_address_is_reported_without_its_password() -> None:
    with pytest.raises(StoreError) as caught:
        open_database("mysql://eve:hunter2@db/assay")
    assert "STORE-020" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_server_that_is_not_there_is_reported_without_the_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as caught:
        open_database("postgresql://eve:hunter2@127.0.0.1:1/assay")
    assert "STORE-021" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://eve:hunter2/x@db:port/assay",
        "postgresql://eve@127.0.0.1:1/assay?password=hunter2",
        "postgresql://eve@127.0.0.1:1/assay?sslpassword=hunter2",
    ],
)
def test_a_password_anywhere_in_an_address_is_not_reported(place: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as caught:
        open_database(place)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.__cause__)


def test_a_place_where_no_file_can_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as caught:
        open_database(tmp_path / "file" / "team.db")
    assert "STORE-021" in str(caught.value)


def test_a_fault_does_not_tell_what_was_to_be_written(tmp_path: Path) -> None:
    database = open_database(tmp_path / "team.db")
    with pytest.raises(IntegrityError) as caught, database.begin_write() as connection:
        connection.execute(text("INSERT INTO assay_schema VALUES (:v)"), {"v": None})
    assert "hidden" in str(caught.value)
    database.close()
