"""Requests made of several calls: their combined responses."""

from __future__ import annotations

import time

from assay.backends.http.request_parts import PartAnswer, PendingRequests
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Completion, Finish, Output

ASK = make_request(
    "t", "1", "gen", "answer", 0, Generate("p", Sampling(max_tokens=8, temperature=1, seed=1, n=2))
)


def part(number: int, seconds: float, first_s: float) -> PartAnswer:
    return PartAnswer(ASK, number, (Output(f"text {number}", Finish.END, 1),), seconds, 5, first_s)


def test_parts_are_put_together_in_their_order_with_their_longest_and_their_first_time() -> None:
    under_way = PendingRequests()
    under_way.expect(ASK, 2)
    assert under_way.complete(part(1, 3.0, 0.0)) is None
    response = under_way.complete(part(0, 2.0, 0.5))
    assert response is not None
    assert isinstance(response.outcome, Completion)
    assert [one.text for one in response.outcome.outputs] == ["text 0", "text 1"]
    assert (response.latency_s, response.first_s) == (3.0, 0.5), "one that did not stream has no first text"


def test_shares_of_the_wall_add_up_to_it() -> None:
    began = time.perf_counter()
    under_way = PendingRequests()
    shares = []
    for _ in range(5):
        under_way.expect(ASK, 1)
        time.sleep(0.01)
        response = under_way.complete(part(0, 1.0, 0.0))
        assert response is not None
        shares.append(response.seconds)
    assert 0.04 < sum(shares) <= time.perf_counter() - began
