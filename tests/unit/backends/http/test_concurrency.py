"""The concurrency level against simulated servers with a known best throughput."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.backends.http.concurrency import MOST, START, AdaptiveLevel, FixedLevel
from fakes.simulated_server import course, refusing, shared, slots

SETTLED = 5_000
"""Answers by which the best level that is tried here must have been found."""
N_CALLS = 16_000


def noise(seed: int) -> Callable[[], float]:
    """Factors with mean 1, one in twenty of them above 3: answers differ in length."""
    draws = Random(seed)
    return lambda: draws.lognormvariate(-0.5, 1.0)


@given(n_slots=st.integers(1, 1_000), each_s=st.floats(0.001, 30))
@settings(max_examples=10, deadline=None)
def test_a_server_with_slots_is_kept_busy(n_slots: int, each_s: float) -> None:
    level = AdaptiveLevel()
    found = course(level, slots(n_slots, each_s), N_CALLS)
    assert found.rate(SETTLED) >= 0.9 * n_slots / each_s


@pytest.mark.parametrize("n_slots", [1, 4, 20, 100, 500])
def test_calls_that_would_only_wait_are_not_made(n_slots: int) -> None:
    found = course(AdaptiveLevel(), slots(n_slots, 1.0), N_CALLS)
    assert sorted(found.limits[SETTLED:])[len(found.limits[SETTLED:]) // 2] <= max(START, 1.6 * n_slots)


@given(half_at=st.integers(1, 200), each_s=st.floats(0.001, 30))
@settings(max_examples=10, deadline=None)
def test_a_server_that_shares_its_power_is_asked_for_nearly_all_of_it(half_at: int, each_s: float) -> None:
    best = MOST / (each_s * (1 + (MOST - 1) / half_at))
    found = course(AdaptiveLevel(), shared(half_at, each_s), N_CALLS)
    assert found.rate(N_CALLS // 2) >= 0.9 * best


@given(most=st.integers(1, 400), each_s=st.floats(0.01, 30))
@settings(max_examples=10, deadline=None)
def test_a_server_that_rejects_is_rarely_made_to(most: int, each_s: float) -> None:
    found = course(AdaptiveLevel(), refusing(lambda now: most, each_s), N_CALLS)
    assert found.rate(SETTLED) >= 0.85 * most / each_s
    assert found.n_refused <= 0.015 * N_CALLS + 2 * most, "one leap too far costs no more than its calls"


@given(seed=st.integers(0, 99), n_slots=st.sampled_from([2, 20, 100, 400]))
@settings(max_examples=8, deadline=None)
def test_noise_costs_little(seed: int, n_slots: int) -> None:
    steady = course(FixedLevel(4 * n_slots), slots(n_slots, 1.0, noise(seed)), N_CALLS)
    found = course(AdaptiveLevel(), slots(n_slots, 1.0, noise(seed)), N_CALLS)
    assert found.rate(SETTLED) >= 0.88 * steady.rate(SETTLED)


def test_answers_of_all_lengths_are_weighed_by_their_tokens() -> None:
    """Where time goes with tokens, tokens show no noise, and every doubling pays."""

    def levels(seed: int, tokens: Callable[[float], int]) -> list[int]:
        level, draws = AdaptiveLevel(), Random(seed)
        endless = refusing(lambda now: 10**9, 1.0, lambda: draws.lognormvariate(0, 1.5))
        course(level, endless, 3 * MOST, tokens=tokens)
        return [change.limit for change in level.history][:6]

    straight = [32, 64, 128, 256, 512, 1024]
    assert all(levels(seed, lambda seconds: round(1_000 * seconds)) == straight for seed in range(20))
    assert not all(levels(seed, lambda seconds: 0) == straight for seed in range(20)), "calls do"


def test_a_level_settles() -> None:
    found = course(AdaptiveLevel(), slots(50, 1.0), N_CALLS)
    late = found.limits[SETTLED:]
    n_changes = sum(one != other for one, other in pairwise(late))
    assert n_changes < len(late) / 200
    assert max(late) <= 2.5 * min(late)


def test_a_server_that_allows_less_is_followed_down_and_up() -> None:
    def beyond(now: float) -> int:
        return 100 if now < 100 or now > 400 else 25

    level = AdaptiveLevel()
    found = course(level, refusing(beyond, 1.0), 60_000)
    during = [limit for at, limit in zip(found.at, found.limits, strict=True) if 130 < at < 400]
    after = [limit for at, limit in zip(found.at, found.limits, strict=True) if at > 550]
    assert max(during) <= 30
    assert sum(after) / len(after) > 80
    assert found.n_refused < 0.02 * 60_000


def test_many_refusals_at_once_are_one() -> None:
    level = AdaptiveLevel()
    for number in range(40):
        level.record_answer(number * 0.1, 2.0, 0)
    before = level.limit
    for _ in range(50):
        level.record_rejection(10.0)
    level.record_rejection(11.9)
    assert level.limit == int(before * 0.7)
    level.record_rejection(12.0)
    assert level.limit == int(int(before * 0.7) * 0.7)
    assert (level.n_refused, level.n_falls) == (52, 2)


def test_one_bad_input_in_many_says_nothing_about_the_level() -> None:
    level = AdaptiveLevel()
    for number in range(2_000):
        level.record_answer(number * 0.1, 1.6, 0)
        if number % 60 == 0:
            level.record_rejection(number * 0.1, may_be_the_input=True)
    assert level.n_falls == 0
    for number in range(10):
        level.record_rejection(1_000 + 10.0 * number, may_be_the_input=True)
    assert level.n_falls >= 4, "but many do"


def test_a_server_that_was_down_is_found_again_soon() -> None:
    """Nobody was answered: that says nothing about how many may ask."""
    found = course(AdaptiveLevel(), refusing(lambda now: 200 if not 60 < now < 120 else 0, 1.0), N_CALLS)
    at_120 = next(index for index, at in enumerate(found.at) if at > 120)
    assert found.limits[at_120] < 20
    assert found.limits[at_120 + 2_000] > 80


def test_calls_that_are_not_there_to_be_made_raise_nothing() -> None:
    """A source that yields little: two calls are under way at a time, however many might be."""
    level = AdaptiveLevel()
    for number in range(20_000):
        level.record_answer(number * 0.5, 1.0, 0)
    assert level.limit == START


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("done"), st.floats(0, 1e4), st.integers(0, 5_000)),
            st.tuples(st.sampled_from(["no", "bad"]), st.just(0.0), st.just(0)),
        ),
        max_size=2_000,
    ),
    st.integers(1, 40),
    st.integers(1, 64),
)
@settings(max_examples=50, deadline=None)
def test_whatever_comes_the_level_stays_within_its_bounds(
    events: list[tuple[str, float, int]], start: int, most: int
) -> None:
    level = AdaptiveLevel(start, most)
    now = 0.0
    for number, (what, seconds, n_tokens) in enumerate(events):
        now += seconds / 16
        before = level.limit
        if what == "done":
            level.record_answer(now, seconds, n_tokens)
        else:
            level.record_rejection(now, may_be_the_input=what == "bad")
        assert 1 <= level.limit <= most, number
        assert level.limit <= 2 * before
        assert math.floor(before * 0.7) <= level.limit or level.limit == before // 2
    assert len(level.history) <= 64
    assert level.highest >= level.limit


def test_a_fixed_level_is_fixed() -> None:
    level = FixedLevel(7)
    found = course(level, refusing(lambda now: 5, 1.0), 500)
    assert set(found.limits) == {7}
    assert level.n_refused == found.n_refused > 0
    assert level.n_falls == 0


def test_changes_are_remembered_with_their_reasons() -> None:
    level = AdaptiveLevel()
    course(level, slots(20, 1.0), 2_000)
    reasons = [change.why for change in level.history]
    assert reasons[0] == "testing whether more are faster"
    assert "more concurrent requests only increased the wait" in reasons
    assert [change.now for change in level.history] == sorted(change.now for change in level.history)
    assert level.history[-1].limit == level.limit
