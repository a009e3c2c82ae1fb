"""Batches keep samples whole, split where prompts differ most, and shrink towards the end."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from assay.backends.workers.lookahead import BATCH_CHARS, BATCH_REQUESTS, FEWEST, Lookahead
from assay.core.prompt import Message
from assay.core.request import Generate, Request, Sampling, Span, make_request


def span(sample: int, option: int, text: str = "") -> Request:
    prompt = text or f"question {sample}: {option}"
    return make_request("t", str(sample), "ppl", "option", option, Span(prompt, len(prompt) - 1))


def filled(requests: list[Request], n_workers: int = 1) -> Lookahead:
    ahead = Lookahead(requests)
    while ahead.fill(n_workers):
        pass
    return ahead


def batches(ahead: Lookahead, n_workers: int) -> list[tuple[Request, ...]]:
    found = []
    while ahead:
        found.append(ahead.take(n_workers))
        while ahead.fill(n_workers):
            pass
    return found


@given(sizes=st.lists(st.integers(1, 12), max_size=400), n_workers=st.integers(1, 9))
def test_batches_hold_everything_in_order_and_whole_samples(sizes: list[int], n_workers: int) -> None:
    requests = [span(sample, option) for sample, size in enumerate(sizes) for option in range(size)]
    found = batches(filled(requests, n_workers), n_workers)
    assert [one for batch in found for one in batch] == requests
    for before, after in pairwise(found):
        assert before[-1].sample_id != after[0].sample_id
    assert all(batch for batch in found)


def test_batches_shrink_towards_the_end() -> None:
    found = [len(one) for one in batches(filled([span(n, 0) for n in range(4000)], 4), 4)]
    assert found[0] == 250
    assert found == sorted(found, reverse=True)
    assert found[-2] == FEWEST


def test_a_batch_is_parted_where_prompts_have_least_in_common() -> None:
    """Ten questions about each passage: the cut falls between two passages."""
    passages = [f"{chr(97 + n)} passage of some length. " * 20 for n in range(20)]
    requests = [span(n, 0, passages[n // 10] + f"question {n}") for n in range(200)]
    ahead = filled(requests, 1)
    sizes = [len(batch) for batch in batches(ahead, 1)]
    # Towards the end batches are smaller than what belongs together.
    assert all(size % 10 == 0 for size in sizes if size > 2 * FEWEST)
    assert sizes[0] > 2 * FEWEST


def test_long_texts_make_small_batches() -> None:
    long = "x" * (BATCH_CHARS // 4)
    found = batches(filled([span(n, 0, long) for n in range(40)], 4), 1)
    assert {len(batch) for batch in found} <= {1, 2, 3, 4, 5}


def test_samples_of_two_tasks_may_have_one_name() -> None:
    requests = [
        make_request(f"t{n}", "1", "ppl", "option", option, Span("question", 3))
        for n in range(60)
        for option in range(4)
    ]
    for batch in batches(filled(requests), 1):
        assert len(batch) % 4 == 0


def test_conversations_are_parted_where_they_have_least_in_common() -> None:
    systems = [Message("system", f"{chr(97 + n)} long instruction. " * 20) for n in range(4)]
    requests = [
        make_request(
            "t",
            str(n),
            "gen",
            "answer",
            0,
            Generate((systems[n // 30], Message("user", f"{n}?")), Sampling()),
        )
        for n in range(120)
    ]
    sizes = [len(batch) for batch in batches(filled(requests), 1)]
    assert sizes[0] == 30


def test_room_is_made_by_what_is_taken() -> None:
    long = "x" * (BATCH_CHARS // 4)
    assert sum(map(len, batches(filled([span(n, 0, long) for n in range(200)], 1), 1))) == 200


def test_a_sample_too_large_for_a_batch_is_parted() -> None:
    found = batches(filled([span(1, n) for n in range(3 * BATCH_REQUESTS)], 8), 1)
    assert max(map(len, found)) <= 2 * BATCH_REQUESTS
    assert sum(map(len, found)) == 3 * BATCH_REQUESTS


def test_what_is_ready_is_bounded_by_requests_and_by_length() -> None:
    assert len(filled([span(n, 0) for n in range(30_000)], 2)) == 2 * 4 * BATCH_REQUESTS
    ahead = filled([span(n, 0, "x" * 100_000) for n in range(2000)], 64)
    assert len(ahead) == 640
    assert not ahead.is_at_end
