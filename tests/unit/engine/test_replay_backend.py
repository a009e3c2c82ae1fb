"""Replay without a model: answers are found by their requests, and nothing is invented."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay.core.model import ModelCard, ModelIdentity
from assay.core.request import Generate, Kind, Request, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Output, Response
from assay.engine.journal import FileJournal
from assay.engine.replay_backend import NOT_SENT, ScoringJournal, StoredAnswers, StoredModel

CARD = ModelCard("gone", frozenset({Kind.GENERATE}), is_chat=False)


def ask(text: str, sample: str = "s") -> Request:
    return make_request("t", sample, "gen", "answer", 0, Generate(text, Sampling()))


def completion(text: str) -> Completion:
    return Completion((Output(text, Finish.END, 1),), 1)


def journal_of(path: Path, *responses: Response) -> Path:
    lines = [msgspec.json.encode(one) + b"\n" for one in responses]
    path.write_bytes(b"".join(lines) + b'{"request_id": "torn')
    return path


def test_answers_are_found_by_what_was_asked_whoever_asks_now(tmp_path: Path) -> None:
    first, failed = ask("one"), ask("two")
    path = journal_of(
        tmp_path / "j",
        Response(first.id, first.key, completion("old")),
        Response(first.id, first.key, completion("new")),
        Response(failed.id, failed.key, Failure("timeout", "late")),
    )
    answers = StoredAnswers(path)
    assert len(answers) == 1
    assert answers.get(ask("one", "another").key) == completion("new"), "the latest counts"
    assert answers.get(failed.key) is None
    assert answers.failure(failed.key) == Failure("timeout", "late")
    assert answers.get(ask("three").key) is None
    answers.close()


def test_what_was_never_asked_is_a_failure_that_no_journal_keeps(tmp_path: Path) -> None:
    failed, unknown = ask("two"), ask("three")
    path = journal_of(tmp_path / "j", Response(failed.id, failed.key, Failure("timeout", "late")))
    answers = StoredAnswers(path)
    model = StoredModel(ModelIdentity("mock", "gone"), CARD, answers)
    responses = list(model.run([failed, unknown]))
    assert [one.outcome.kind for one in responses if isinstance(one.outcome, Failure)] == [
        "timeout",
        NOT_SENT,
    ]
    assert "1 requests were never sent" in model.notes()[0]
    kept = FileJournal(tmp_path / "new")
    journal = ScoringJournal(kept)
    for response in responses:
        journal.append(response)
    kept.close()
    again = FileJournal(tmp_path / "new")
    assert again.get(failed.id, failed.key) is not None
    assert again.get(unknown.id, unknown.key) is None
    again.close()
    model.close()
