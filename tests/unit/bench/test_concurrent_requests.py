from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.bench.concurrent_requests import ConcurrencyCurve

# Quarters, so that ends and beginnings often fall on the same moment.
SPANS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda at: (at[0] / 4, (at[0] + at[1]) / 4)),
    min_size=1,
    max_size=30,
)


def under_way(spans: list[tuple[float, float]]) -> ConcurrencyCurve:
    return ConcurrencyCurve(*np.array(spans, dtype=np.float64).reshape(-1, 2).T)


def level(spans: list[tuple[float, float]], at: float) -> int:
    return sum(began <= at < ended for began, ended in spans)


@given(SPANS, st.integers(0, 30), st.integers(1, 30))
def test_the_staircase_is_what_counting_at_every_moment_finds(
    spans: list[tuple[float, float]], start: int, length: int
) -> None:
    found = under_way(spans)
    for at, number in zip(found.times, found.levels, strict=True):
        assert number == level(spans, at)
    window = (start / 4, (start + length) / 4)
    moments = [window[0] + 0.125 + step / 4 for step in range(length)]
    counts = [level(spans, at) for at in moments]
    assert found.mean(*window) == pytest.approx(sum(counts) / len(counts))
    assert found.peak(*window) == max(counts)
    assert found.share(2, *window) == pytest.approx(sum(count >= 2 for count in counts) / len(counts))


@given(SPANS)
def test_the_median_splits_the_time(spans: list[tuple[float, float]]) -> None:
    found = under_way(spans)
    assume(found.end > found.start)
    median = found.median(found.start, found.end)
    assert found.share(median, found.start, found.end) >= 0.5
    assert found.share(median + 1, found.start, found.end) <= 0.5


def test_a_call_that_begins_as_another_ends_makes_no_two() -> None:
    assert under_way([(0, 1), (1, 2)]).peak(0, 2) == 1


def test_a_call_that_takes_no_time_is_never_under_way() -> None:
    assert under_way([(0, 2), (1, 1)]).steps() == [(0, 1), (1, 1), (2, 0)]


def test_fewer_steps_keep_every_peak_and_valley() -> None:
    drawn = np.random.default_rng(3)
    began = np.sort(drawn.uniform(0, 100, 5_000))
    found = ConcurrencyCurve(began, began + drawn.exponential(1, 5_000))
    steps = found.steps(200)
    whole = found.steps(20_000)
    assert len(whole) == 10_000
    assert len(steps) <= 200
    assert set(steps) <= set(whole)
    assert steps[0] == whole[0]
    assert steps[-1] == whole[-1]
    assert [at for at, _ in steps] == sorted(at for at, _ in steps)
    assert max(number for _, number in steps) == max(number for _, number in whole)
    # Not only the highest of all: of any part as long as two slots, the peak is among the steps.
    slot = 2 * (found.end - found.start) / 99
    for low, high in pairwise(np.arange(0, 100, slot)):
        peak = max((number for at, number in whole if low <= at < high), default=0)
        assert any(number >= peak for at, number in steps if low - slot <= at <= high + slot)
