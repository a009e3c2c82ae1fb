"""Responses found by their requests, without reading all of them into memory."""

from __future__ import annotations

import errno
import sqlite3
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.response import Completion, Failure, Finish, Outcome, Output, Response
from assay.results.response_index import ResponseIndex


def completion(text: str) -> Completion:
    return Completion((Output(text, Finish.END, 1),), 1)


def line(id_: str, outcome: Outcome) -> bytes:
    return msgspec.json.encode(Response(id_, f"key of {id_}", outcome)) + b"\n"


def test_the_last_answer_to_a_request_counts_and_half_a_line_does_not(tmp_path: Path) -> None:
    journal = tmp_path / "responses.jsonl"
    torn = line("c", completion("never whole"))[:-9]
    journal.write_bytes(
        line("a", Failure("timeout", "no answer"))
        + line("b", completion("자동차 明天"))
        + line("a", completion("at last"))
        + torn
    )
    with ResponseIndex(journal) as responses:
        for id_, text in (("a", "at last"), ("b", "자동차 明天"), ("a", "at last")):
            found = responses.get(id_)
            assert found is not None
            assert found.outcome == completion(text)
        assert responses.get("c") is None
        assert responses.get("nobody's") is None


def test_the_places_of_many_responses_are_not_held_in_memory(tmp_path: Path) -> None:
    n = 30_000
    journal = tmp_path / "responses.jsonl"
    # Every second one was asked for again, long after it failed.
    journal.write_bytes(
        b"".join(line(f"task/{nth:06}/gen/answer/0", Failure("timeout", "")) for nth in range(0, n, 2))
        + b"".join(line(f"task/{nth:06}/gen/answer/0", completion(str(nth))) for nth in reversed(range(n)))
    )
    tracemalloc.start()
    try:
        with ResponseIndex(journal) as responses:
            held, _ = tracemalloc.get_traced_memory()
            for nth in (0, 1, 17_000, n - 1):
                found = responses.get(f"task/{nth:06}/gen/answer/0")
                assert found is not None
                assert found.outcome == completion(str(nth))
    finally:
        tracemalloc.stop()
    # A dict of so many names and places takes more than 4 MB.
    assert held < 500_000


def test_lines_that_cannot_be_read_hide_no_others(tmp_path: Path) -> None:
    journal = tmp_path / "responses.jsonl"
    whole = line("a", completion("x"))
    damaged = b'{"request_id": 5}\n', whole[:-9] + b"\n", b"\n", whole.replace(b'"x"', b'"\xff"')
    journal.write_bytes(whole + b"".join(damaged) + line("b", completion("y")))
    before = len(list(Path("/proc/self/fd").iterdir()))
    with ResponseIndex(journal) as responses:
        found = [responses.get(name) for name in ("a", "b")]
    assert [one and one.outcome for one in found] == [completion("x"), completion("y")]
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_full_temporary_folder_is_reported_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "responses.jsonl"
    journal.write_bytes(b"".join(line(f"request {nth}", completion("x")) for nth in range(2_000)))

    def small(*given: Any, **more: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(*given, **more)
        database.execute("PRAGMA max_page_count = 4")
        return database

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", small)
    with pytest.raises(OSError, match="temporary folder") as reported:
        ResponseIndex(journal)
    assert reported.value.errno == errno.ENOSPC
