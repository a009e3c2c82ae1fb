"""Moments at which calls are due, against the formulas written out."""

from __future__ import annotations

import math
from itertools import islice

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.core.errors import UsageError

rates = st.floats(0.05, 5000)


def moments(arrivals: Arrivals, n: int) -> list[float]:
    return list(arrivals.moments(n))


@given(rate=rates, n=st.integers(0, 9000))
@settings(max_examples=30, deadline=None)
def test_a_fixed_rate_is_even(rate: float, n: int) -> None:
    assert moments(Arrivals(rate=rate), n) == [number / rate for number in range(n)]


@pytest.mark.parametrize("burstiness", [0.0, math.inf])
def test_no_burstiness_and_endless_burstiness_are_even_gaps(burstiness: float) -> None:
    arrivals = Arrivals(rate=4, burstiness=burstiness)
    assert moments(arrivals, 3) == [0, 0.25, 0.5]
    # Stored and read again it is the same: JSON has no infinity.
    assert msgspec.json.decode(msgspec.json.encode(arrivals), type=Arrivals) == arrivals


@pytest.mark.parametrize("burstiness", [0.25, 1.0, 4.0])
def test_gaps_have_the_mean_and_the_spread_of_their_gamma_distribution(burstiness: float) -> None:
    # 40,000 gaps of a fixed seed: what is found is found always. The spread of a gamma distribution is
    # 1 / sqrt(shape) of its mean; five standard errors of each are allowed.
    n = 40_000
    gaps = np.diff(moments(Arrivals(rate=20, burstiness=burstiness, seed=1), n + 1)) * 20
    spread = 1 / math.sqrt(burstiness)
    assert gaps.mean() == pytest.approx(1, abs=5 * spread / math.sqrt(n))
    excess = 6 / burstiness
    assert gaps.var() == pytest.approx(1 / burstiness, rel=5 * math.sqrt((2 + excess) / n))
    if burstiness == 1:
        # Of a Poisson process the share of gaps above x is exp(-x).
        for x in (0.1, 1.0, 3.0):
            assert (gaps > x).mean() == pytest.approx(math.exp(-x), abs=0.0125)


@given(seed=st.integers(0, 2**40), n=st.integers(1, 9000), other=st.integers(1, 9000))
@settings(max_examples=20, deadline=None)
def test_a_schedule_depends_on_its_seed_alone(seed: int, n: int, other: int) -> None:
    arrivals = Arrivals(rate=7, burstiness=1, seed=seed)
    fewer, more = sorted((n, other))
    assert moments(arrivals, fewer) == moments(arrivals, more)[:fewer]
    assert moments(arrivals, fewer) == list(islice(arrivals.moments(), fewer))
    if fewer > 1:
        assert moments(Arrivals(rate=7, burstiness=1, seed=seed + 1), fewer) != moments(arrivals, fewer)


@given(
    start=rates,
    end=rates,
    form=st.sampled_from(["linear", "exponential"]),
    n=st.integers(1, 300),
    burstiness=st.sampled_from([0.0, 0.5, 1.0]),
)
@settings(max_examples=60, deadline=None)
def test_a_ramp_over_the_calls_divides_each_gap_by_the_rate_of_its_call(
    start: float, end: float, form: str, n: int, burstiness: float
) -> None:
    ramp = Ramp(start, end, "linear" if form == "linear" else "exponential")
    found = moments(Arrivals(ramp=ramp, burstiness=burstiness, seed=5), n)
    # Gaps of mean 1 are those of the same seed at rate 1; the first one is not waited for.
    unit = [0.0, *np.diff(moments(Arrivals(rate=1, burstiness=burstiness, seed=5), n))]
    at, expected = 0.0, []
    for number in range(n):
        along = number / (n - 1) if n > 1 else 0.0
        rate = start + (end - start) * along if form == "linear" else start * (end / start) ** along
        at += unit[number] / rate
        expected.append(at)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_ramp_over_the_calls_by_hand() -> None:
    # Rates 1, 2, 3, 4 and 1, 2, 4, 8: the gap before a call is one over the call's rate.
    linear = moments(Arrivals(ramp=Ramp(1, 4)), 4)
    assert linear == pytest.approx([0, 1 / 2, 1 / 2 + 1 / 3, 1 / 2 + 1 / 3 + 1 / 4])
    assert moments(Arrivals(ramp=Ramp(1, 8, "exponential")), 4) == pytest.approx([0, 0.5, 0.75, 0.875])
    # With the wait before the first, as the original has it, and not rescaled.
    like_original = Arrivals(ramp=Ramp(1, 4), is_rescaled=True)
    assert moments(like_original, 4) == pytest.approx(np.cumsum([1, 1 / 2, 1 / 3, 1 / 4]))


@given(
    start=rates,
    end=rates,
    form=st.sampled_from(["linear", "exponential"]),
    seconds=st.floats(0.1, 1000),
    burstiness=st.sampled_from([0.0, 1.0]),
)
@settings(max_examples=60, deadline=None)
def test_the_area_below_a_ramp_over_time_is_the_number_of_calls(
    start: float, end: float, form: str, seconds: float, burstiness: float
) -> None:
    ramp = Ramp(start, end, "linear" if form == "linear" else "exponential", seconds)
    n = 500

    def area(t: float) -> float:
        inside = min(t, seconds)
        if start == end:
            below = start * inside
        elif form == "linear":
            below = start * inside + (end - start) * inside**2 / (2 * seconds)
        else:
            growth = math.log(end / start)
            below = start * seconds / growth * math.expm1(growth * inside / seconds)
        return below + end * max(t - seconds, 0)

    found = moments(Arrivals(ramp=ramp, burstiness=burstiness, seed=2), n)
    unit = moments(Arrivals(rate=1, burstiness=burstiness, seed=2), n)
    assert found == sorted(found)
    assert [area(t) for t in found] == pytest.approx(unit, rel=1e-6, abs=1e-6)


def test_a_ramp_from_nothing_by_hand() -> None:
    # From 0 to 8 in 4 s: t^2 calls by t, 16 by the end of the ramp, and 8 a second from there on.
    found = moments(Arrivals(ramp=Ramp(0, 8, seconds=4)), 26)
    assert found[:17] == pytest.approx([math.sqrt(number) for number in range(17)])
    assert found[17:] == pytest.approx([4 + number / 8 for number in range(1, 10)])


@given(rate=rates, n=st.integers(1, 400), burstiness=st.sampled_from([0.0, 0.1, 1.0, 3.0]))
@settings(max_examples=40, deadline=None)
def test_the_original_puts_the_last_call_at_n_over_the_rate(rate: float, n: int, burstiness: float) -> None:
    found = moments(Arrivals(rate=rate, burstiness=burstiness, seed=4, is_rescaled=True), n)
    assert found[-1] == pytest.approx(n / rate)
    if burstiness == 0:
        assert found == pytest.approx([(number + 1) / rate for number in range(n)])
    elif n > 1:
        # The moments are ours, all stretched alike.
        ours = np.array(moments(Arrivals(rate=rate, burstiness=burstiness, seed=4), n))
        after_first = np.array(found) - found[0]
        assert after_first / after_first[-1] == pytest.approx(ours / ours[-1], abs=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Arrivals(rate=0), "the rate is 0"),
        (lambda: Arrivals(rate=math.inf), "the rate is inf"),
        (lambda: Arrivals(), "or neither"),
        (lambda: Arrivals(rate=1, ramp=Ramp(1, 2)), "either a rate or a ramp"),
        (lambda: Arrivals(rate=1, burstiness=-1), "the burstiness is -1"),
        (lambda: Arrivals(rate=1, burstiness=math.nan), "the burstiness is nan"),
        (lambda: Ramp(0, 5), "start is 0; expected requests per second, above 0"),
        (lambda: Ramp(0, 5, "exponential", 3), "start is 0"),
        (lambda: Ramp(-1, 5, "linear", 3), "start is -1; expected requests per second, 0 or more"),
        (lambda: Ramp(1, 0), "end is 0"),
        (lambda: Ramp(1, 2, seconds=0), "duration is 0"),
        (lambda: TraceArrivals(speed=0), "speed is 0"),
    ],
)
def test_values_that_make_no_schedule_are_reported(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(UsageError) as error:
        make()
    assert error.value.problems[0].code == "LOAD-001"
    assert message in str(error.value)


@pytest.mark.parametrize("arrivals", [Arrivals(ramp=Ramp(1, 2)), Arrivals(rate=2, is_rescaled=True)])
def test_a_schedule_over_the_calls_asks_for_their_number(arrivals: Arrivals) -> None:
    with pytest.raises(UsageError, match="LOAD-002"):
        arrivals.moments()
    assert moments(arrivals, 0) == []
