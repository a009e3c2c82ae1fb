from __future__ import annotations

import resource
from pathlib import Path

import pytest

from assay.core.response import Completion, Failure, Finish, Output, Response
from assay.engine.journal import FileJournal


def response(number: int, text: str = "x") -> Response:
    outcome = Completion((Output(text, Finish.END, 1),), 3)
    return Response(f"r{number}", f"key{number}", outcome)


def test_what_is_appended_is_found_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    journal = FileJournal(path)
    for number in range(5):
        journal.append(response(number, f"text\n{number}"))
    journal.close()
    again = FileJournal(path)
    assert len(again) == 5
    assert again.get("r3", "key3") == response(3, "text\n3")
    assert again.get("r9", "key9") is None
    again.close()


def test_many_that_nobody_stores_are_not_held(tmp_path: Path) -> None:
    """As when a cache answers all of a run: no request is pulled, before which they would be stored."""
    path = tmp_path / "responses.jsonl"
    journal = FileJournal(path)
    for number in range(30):
        journal.append(response(number, "y" * 100_000))
    assert path.stat().st_size > 1_900_000
    journal.close()
    again = FileJournal(path)
    assert len(again) == 30
    again.close()


def test_a_response_counts_only_for_exactly_the_same_ask(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "j")
    journal.append(response(1))
    journal.close()
    again = FileJournal(tmp_path / "j")
    assert again.get("r1", "another key") is None
    again.close()


def test_a_disk_that_takes_a_part_of_a_line_gets_the_rest_when_it_has_room(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = FileJournal(path)
    for number in range(3):
        journal.append(response(number, "y" * 1000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Stands for a full disk: the system writes what fits, and raises when nothing does.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            journal.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.stat().st_size == 1500
    torn = tmp_path / "torn"
    torn.write_bytes(path.read_bytes())
    ended = FileJournal(torn)
    assert (len(ended), ended.n_torn) == (1, 1)
    ended.close()
    journal.append(response(3))
    journal.close()
    again = FileJournal(path)
    assert (len(again), again.n_torn) == (4, 0)
    assert again.get("r1", "key1") == response(1, "y" * 1000)
    again.close()


def test_a_torn_last_line_is_owed_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = FileJournal(path)
    for number in range(3):
        journal.append(response(number))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    again = FileJournal(path)
    assert (len(again), again.n_torn) == (2, 1)
    assert again.get("r2", "key2") is None
    again.append(response(2))
    again.close()
    assert path.read_bytes() == whole


def test_the_latest_response_counts_and_failures_can_be_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = FileJournal(path)
    journal.append(Response("r1", "key1", Failure("timeout", "slow")))
    journal.append(Response("r2", "key2", Failure("timeout", "slow")))
    journal.append(response(1))
    journal.close()
    keeping = FileJournal(path)
    assert keeping.get("r1", "key1") == response(1)
    assert isinstance(keeping.get("r2", "key2"), Response)
    keeping.close()
    forgetting = FileJournal(path, forget_failures=True)
    assert forgetting.get("r1", "key1") == response(1)
    assert forgetting.get("r2", "key2") is None
    forgetting.close()


def test_a_journal_of_failures_alone_has_no_answers(tmp_path: Path) -> None:
    path = tmp_path / "j"
    for responses, has_answers in (
        ((), False),
        ((Response("r1", "key1", Failure("timeout", "slow")),), False),
        ((response(2), Response("r3", "key3", Failure("timeout", "slow"))), True),
    ):
        journal = FileJournal(path)
        for one in responses:
            journal.append(one)
        journal.close()
        again = FileJournal(path)
        assert again.has_answers is has_answers
        again.close()


def test_damaged_lines_are_skipped_counted_and_owed(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = FileJournal(path)
    for number in range(4):
        journal.append(response(number))
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:10] + b"\xff\n"
    path.write_bytes(b"\n" + b"".join(lines) + b'{"torn')
    again = FileJournal(path)
    assert (len(again), again.n_damaged, again.n_torn) == (3, 2, 1)
    assert [again.get(f"r{n}", f"key{n}") is not None for n in range(4)] == [True, False, True, True]
    (note,) = again.notes()
    assert note.startswith("j has 2 damaged lines, which were skipped: ")
    again.append(response(1))
    again.close()
    once_more = FileJournal(path)
    assert once_more.get("r1", "key1") == response(1)
    once_more.close()


def test_an_answer_is_found_by_what_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = FileJournal(path)
    journal.append(response(1, "first"))
    journal.append(Response("r2", "key1", response(1, "second").outcome))
    journal.append(Response("r3", "key3", Failure("timeout", "slow")))
    assert journal.answer("key1") is None, "what this start was answered is found by others"
    journal.close()
    again = FileJournal(path)
    assert again.answer("key1") == response(1, "second").outcome
    assert (again.answer("key3"), again.answer("key9")) == (None, None)
    again.close()
