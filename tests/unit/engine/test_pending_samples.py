from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.response import Completion, Response
from assay.engine import pending_samples
from assay.engine.pending_samples import PendingSample, PendingSamples
from fakes.engine import FakeTask

ANSWER = Response("id", "key", Completion((), 0))


@given(
    n_asked=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    order=st.randoms(use_true_random=False),
    most=st.integers(1, 4),
    most_chars=st.integers(1, 12),
)
def test_samples_land_in_order_and_what_is_held_is_counted(
    n_asked: list[int], order: object, most: int, most_chars: int
) -> None:
    task = FakeTask(len(n_asked))
    way = PendingSamples()
    begun: list[PendingSample] = []
    for sample, n in zip(task.samples(), n_asked, strict=True):
        begun.append(way.begin(task, sample, [*task.requests(sample)] * n))
    owed = [(at, index) for at, n in enumerate(n_asked) for index in range(n)]
    order.shuffle(owed)  # type: ignore[attr-defined]
    landed: list[PendingSample] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pending_samples, "MOST_WAITING", most)
        patched.setattr(pending_samples, "MOST_WAITING_CHARS", most_chars)
        for done, (at, index) in enumerate([(-1, -1), *owed]):
            if at >= 0:
                assert way.add_answer(begun[at], index, ANSWER) == (begun[at].n_missing == 0)
            landed += way.pop_completed()
            left = owed[done:]
            first = min((one for one, _ in left), default=len(begun))
            assert landed == begun[:first]
            # What had no requests never waited for an answer of its own.
            held = [
                pending
                for at, pending in enumerate(begun)
                if at > first and not pending.n_missing and n_asked[at]
            ]
            n_chars = sum(len(one.ask.prompt) for pending in held for one in pending.requests)
            assert way.is_backlog_full == (len(held) >= most or n_chars >= most_chars)
    assert landed == begun
