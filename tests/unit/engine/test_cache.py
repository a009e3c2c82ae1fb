from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from assay.core.model import ModelIdentity
from assay.core.response import Failure, LabelProbs
from assay.engine.cache import SqliteCache

ONE = ModelIdentity("hf", "one", "aaaa")
OTHER = ModelIdentity("hf", "one", "bbbb")
ANSWER = LabelProbs((0.5, 0.25), 0.75, 10)


def test_an_answer_is_found_again_by_the_same_model_only(tmp_path: Path) -> None:
    cache = SqliteCache(tmp_path, ONE)
    cache.put("k", ANSWER)
    cache.close()
    again, other = SqliteCache(tmp_path, ONE), SqliteCache(tmp_path, OTHER)
    assert again.get("k") == ANSWER
    assert again.get("j") is None
    assert other.get("k") is None
    again.close()
    other.close()


def test_failures_are_not_kept(tmp_path: Path) -> None:
    cache = SqliteCache(tmp_path, ONE)
    cache.put("k", Failure("timeout", "slow"))
    cache.close()
    again = SqliteCache(tmp_path, ONE)
    assert again.get("k") is None
    again.close()


def test_a_fresh_run_keeps_answers_but_reads_none(tmp_path: Path) -> None:
    for is_read in (False, True):
        cache = SqliteCache(tmp_path, ONE, is_read=is_read)
        assert cache.get("k") == (ANSWER if is_read else None)
        cache.put("k", ANSWER)
        cache.close()


def kept(folder: Path) -> Path:
    cache = SqliteCache(folder, ONE)
    for key in ("k", "sound"):
        cache.put(key, ANSWER)
    cache.close()
    assert cache.notes() == ()
    return cache.path


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"\xc0", msgspec.msgpack.encode(5), msgspec.msgpack.encode({"type": 3}), "text", None],
)
def test_an_answer_that_cannot_be_read_is_none_and_is_counted(tmp_path: Path, content: object) -> None:
    database = sqlite3.connect(kept(tmp_path))
    with database:
        database.execute("UPDATE outcomes SET outcome = ? WHERE key = 'k'", (content,))
    database.close()
    cache = SqliteCache(tmp_path, ONE)
    assert (cache.get("k"), cache.get("sound")) == (None, ANSWER)
    assert cache.notes() == (
        "1 answer in the response cache could not be read: Assay sent the requests again",
    )
    cache.put("k", ANSWER)
    cache.close()
    again = SqliteCache(tmp_path, ONE)
    assert (again.get("k"), again.notes()) == (ANSWER, ())
    again.close()


def test_a_failure_in_the_cache_is_no_answer(tmp_path: Path) -> None:
    path = kept(tmp_path)
    database = sqlite3.connect(path)
    with database:
        failure = msgspec.msgpack.encode(Failure("timeout", "slow"))
        database.execute("UPDATE outcomes SET outcome = ? WHERE key = 'k'", (failure,))
    database.close()
    cache = SqliteCache(tmp_path, ONE)
    assert cache.get("k") is None
    cache.close()


def test_a_file_that_is_no_database_is_moved_and_a_new_one_begun(tmp_path: Path) -> None:
    path = kept(tmp_path)
    path.write_bytes(b"precious, but no database" * 100)
    cache = SqliteCache(tmp_path, ONE)
    moved = path.with_suffix(".damaged")
    assert cache.get("k") is None
    cache.put("k", ANSWER)
    cache.close()
    assert moved.read_bytes().startswith(b"precious")
    assert cache.notes() == (
        f"the response cache was damaged: Assay renamed it to {moved} and started a new one",
    )
    again = SqliteCache(tmp_path, ONE)
    assert (again.get("k"), again.notes()) == (ANSWER, ())
    again.close()


def without_its_table(path: Path) -> None:
    database = sqlite3.connect(path)
    with database:
        database.execute("DROP TABLE outcomes")
        database.execute("CREATE VIEW outcomes AS SELECT 1 AS key, 2 AS outcome")
    database.close()


def with_damaged_pages(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [without_its_table, with_damaged_pages, a_folder])
def test_a_cache_that_cannot_be_used_stops_nothing(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    harm(kept(tmp_path))
    cache = SqliteCache(tmp_path, ONE)
    assert cache.get("k") is None
    cache.put("k", ANSWER)
    cache.flush()
    cache.put("k", ANSWER)
    assert cache.get("k") is None
    cache.close()
    (note,) = cache.notes()
    assert note.startswith("the response cache cannot be used, and Assay continued without it: ")
    assert str(cache.path) in note


def test_a_cache_whose_folder_cannot_be_made_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    cache = SqliteCache(tmp_path / "file" / "cache", ONE)
    cache.put("k", ANSWER)
    assert cache.get("k") is None
    cache.close()
    assert "Not a directory" in cache.notes()[0]
