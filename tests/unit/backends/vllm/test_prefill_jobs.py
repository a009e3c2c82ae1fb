"""Requests to an engine that caches prefixes: every number equals the one without the cache."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.hf.likelihood import Row, RowReading, Rows
from assay.backends.hf.work_counters import Counters
from assay.backends.vllm import prefill_jobs
from assay.backends.vllm.backend import EngineQueue
from assay.backends.vllm.prefill_jobs import plan_reads
from assay.backends.vllm.token_engine import ReadAsk
from fakes.token_engine import FakeEngine, first_choice, logprob

Booked = list[tuple[tuple[int, ...], int, RowReading]]


def compute(engine: FakeEngine, rows: Rows) -> Counters:
    """Read all rows; each must be done when the last job is."""
    counters = Counters()
    flow = EngineQueue(engine, counters)
    flow.add(plan_reads(list(rows), shares=engine.shares, reads_own=engine.reads_own))
    while not flow.is_idle:
        flow.step()
    assert all(row.is_done for row in rows)
    return counters


def book(texts: Sequence[tuple[tuple[int, ...], int]]) -> tuple[Rows, Booked]:
    rows = Rows()
    return rows, [(ids, first, rows.continuation(ids, first)) for ids, first in texts]


def check(booked: Booked) -> None:
    for ids, first, reading in booked:
        assert reading.logprobs == [logprob(ids[:at], ids[at]) for at in range(first, len(ids))]
        assert reading.is_greedy == all(first_choice(ids[:at]) == ids[at] for at in range(first, len(ids)))


def list_asks(engine: FakeEngine) -> list[ReadAsk]:
    return [ask for ask in engine.asked if isinstance(ask, ReadAsk)]


TOKENS = st.lists(st.integers(1, 3), min_size=2, max_size=24).map(tuple)
TEXTS = st.lists(
    TOKENS.flatmap(lambda ids: st.tuples(st.just(ids), st.integers(1, len(ids) - 1))), max_size=12
)


@given(TEXTS, st.integers(1, 5), st.booleans(), st.booleans(), st.integers(1, 4), st.integers(0, 6))
def test_numbers_depend_on_nothing_else(
    texts: list[tuple[tuple[int, ...], int]],
    block: int,
    shares: bool,
    reads_own: bool,
    piece: int,
    slack: int,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefill_jobs, "PIECE", piece)
        patch.setattr(prefill_jobs, "SLACK", slack)
        engine = FakeEngine(block=block, shares=shares)
        engine.reads_own = reads_own
        for _ in range(2):  # The second time the cache holds everything.
            rows, booked = book(texts)
            compute(engine, rows)
            check(booked)


CONTEXT = tuple(range(100, 100 + 40))


def options(*tails: Sequence[int]) -> list[tuple[tuple[int, ...], int]]:
    return [((*CONTEXT, *tail), len(CONTEXT)) for tail in tails]


def test_options_of_one_token_are_one_ask_without_a_prompt_of_their_own() -> None:
    engine = FakeEngine(room=8)
    rows, booked = book(options([1], [2], [3], [4]))
    compute(engine, rows)
    check(booked)
    assert list_asks(engine) == [ReadAsk(CONTEXT, (1, 2, 3, 4))]


@pytest.mark.parametrize("block", [1, 4, 5, 8, 40, 41, 64])
def test_a_context_is_read_once_wherever_blocks_end(block: int) -> None:
    engine = FakeEngine(block=block, room=8)
    rows, booked = book(options([1, 5, 6], [1, 5, 7, 8], [2, 9], [3]))
    compute(engine, rows)
    check(booked)
    assert all(ask.salt == "" for ask in list_asks(engine)), "nothing was read again"
    # First what comes after the context in each option; then the options, and where they part again.
    assert [tuple(sorted(ask.next_ids)) for ask in list_asks(engine)] == [(1, 2, 3), (6, 7), (9,), (8,)]
    left_over = len(CONTEXT) % block
    assert engine.n_computed <= len(CONTEXT) + 3 * (left_over + 3) + 3 * block


def test_a_long_context_is_an_ask_that_reads_nothing_of_itself() -> None:
    engine = FakeEngine(room=8)
    context = tuple(range(1, 201))
    rows, booked = book([((*context, 7, 8, 9), len(context))])
    compute(engine, rows)
    check(booked)
    assert list_asks(engine) == [ReadAsk(context, (7,)), ReadAsk((*context, 7, 8), (9,), len(context))]


def test_a_long_text_is_read_piece_by_piece() -> None:
    engine = FakeEngine(block=16)
    text = tuple(1 + n % 7 for n in range(1700))
    rows, booked = book([(text, 1)])
    compute(engine, rows)
    check(booked)
    assert max(ask.n_own for ask in list_asks(engine)) < prefill_jobs.PIECE
    assert engine.n_computed < len(text) + 16 * len(engine.asked)


def test_what_the_cache_holds_too_much_of_is_read_again_beside_it() -> None:
    engine = FakeEngine(room=8)
    for n_more in (0, 2):  # Again under a salt: once as a context, once as the text.
        rows, booked = book(options([1, 2, 3, 4, 5, 6, 7, 8, 9]))
        compute(engine, rows)
        check(booked)
        assert len({ask.salt for ask in list_asks(engine)}) == (2 if n_more else 1)


def test_many_labels_are_several_asks() -> None:
    engine = FakeEngine(room=8)
    rows = Rows()
    reading = rows.next_tokens(CONTEXT, range(300))
    compute(engine, rows)
    assert reading.logprobs == [logprob(CONTEXT, token) for token in range(300)]
    assert [len(ask.next_ids) for ask in list_asks(engine)] == [128, 128, 44]


def test_without_a_cache_each_row_is_one_ask() -> None:
    engine = FakeEngine(shares=False)
    rows, booked = book(options([1, 2], [1, 3], [4]))
    compute(engine, rows)
    check(booked)
    assert sorted(ask.prompt for ask in list_asks(engine)) == [CONTEXT, (*CONTEXT, 1)]


def test_what_the_engine_rejects_fails_with_all_that_follows() -> None:
    engine = FakeEngine(longest=41)
    # The last two share 43 tokens with each other; only one of them reads what they share.
    shared = (*CONTEXT, 7, 7, 7)
    far = [((*shared, 8, 8), len(CONTEXT) + 1), ((*shared, 9, 9), len(shared) + 1)]
    rows, _ = book([*options([1], [2, 3, 4], [5, 6]), ((1, 2), 1), *far])
    counters = Counters()
    flow = EngineQueue(engine, counters)
    flow.add(plan_reads(list(rows), shares=True))
    done: list[Row] = []
    while not flow.is_idle:
        done += [row for job in flow.step() for row in job.own_rows if row.is_done]  # type: ignore[attr-defined]
    failed = [row for row in rows if row.failure is not None]
    assert sorted(len(row.inputs) for row in failed) == [42, 44, 44]
    assert "too long" in str(failed[0].failure)
    assert set(map(id, done)) == set(map(id, rows))


def test_seconds_are_shared_among_all_that_run() -> None:
    engine = FakeEngine(room=8)
    rows, _ = book(options([1, 5], [2, 6], [3]))
    counters = compute(engine, rows)
    assert all(row.seconds > 0 for row in rows)
    assert counters.batches > 0
    assert counters.forward_tokens == engine.n_computed
