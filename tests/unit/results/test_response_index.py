"""Responses found by their requests, without reading all of them into memory."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay.core.response import Completion, Failure, Finish, Outcome, Output, Response
from assay.results.read import ResponseIndex


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
