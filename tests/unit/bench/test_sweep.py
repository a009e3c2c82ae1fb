"""Sweeps and searches over levels of load."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.bench.limits import LoadLimits
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.bench.search import SearchPlan, find_highest_level
from assay.bench.sweep import LevelKind, LoadTrial, TrialLength, build_trial_load, parse_levels, run_ladder
from assay.core.errors import UsageError
from fakes.attempts import attempted, attempts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2,4", (1, 2, 4)),
        ("8", (8,)),
        ("1..8", (1, 2, 4, 8)),
        ("1..10", (1, 2, 4, 8, 10)),
        ("3..5", (3, 5)),
        (" 2 , 3 ", (2, 3)),
    ],
)
def test_levels_are_read(text: str, expected: tuple[float, ...]) -> None:
    assert parse_levels(text, "concurrency") == expected


def test_rates_need_not_be_whole() -> None:
    assert parse_levels("0.5..3", "rate") == (0.5, 1, 2, 3)


@pytest.mark.parametrize("text", ["", "a", "0,1", "2,1", "1,1", "4..2", "1..inf", "-1..4", "1.5,2", "1...4"])
def test_what_are_no_levels_is_reported(text: str) -> None:
    with pytest.raises(UsageError, match="LOAD-007"):
        parse_levels(text, "concurrency")


def test_the_load_of_a_level_is_long_enough_by_both_measures() -> None:
    base = Load(OpenLoad(Arrivals(ramp=Ramp(1, 2), burstiness=1, seed=9), 7), n=3, seconds=4, think_s=1)
    at_20 = build_trial_load(base, "rate", 20, TrialLength(100, 10))
    assert at_20.shape == OpenLoad(Arrivals(rate=20, burstiness=1, seed=9), 7)
    assert (at_20.n, at_20.seconds, at_20.think_s) == (200, None, 1)
    assert build_trial_load(base, "rate", 2.05, TrialLength(100, 10)).n == 100
    assert build_trial_load(Load(OpenLoad(TraceArrivals())), "rate", 20.05, TrialLength(1, 10)).n == 201
    closed = build_trial_load(Load(ClosedLoad(3, starts_per_s=5)), "concurrency", 64, TrialLength(100, 10))
    assert closed.shape == ClosedLoad(64, starts_per_s=5, least_seconds=10)
    assert closed.n == 320


def test_a_ladder_tells_the_level_with_the_highest_throughput() -> None:
    attempt, levels = attempts(lambda level: attempted(per_s=min(level, 6) - level / 100))
    reported: list[LoadTrial] = []
    swept = asyncio.run(run_ladder((1, 2, 4, 8), "concurrency", attempt, on_trial=reported.append))
    assert levels == [1, 2, 4, 8]
    assert swept.best == 8
    assert (swept.ended, swept.is_partial) == ("all levels were tested", False)
    assert tuple(reported) == swept.trials


def test_a_ladder_ends_when_throughput_fell_twice_in_a_row() -> None:
    through = {1: 10.0, 2: 20, 3: 18, 4: 19, 8: 21, 16: 20, 32: 19, 64: 99}
    attempt, levels = attempts(lambda level: attempted(per_s=through[int(level)]))
    swept = asyncio.run(run_ladder(list(through), "concurrency", attempt))
    assert levels == [1, 2, 3, 4, 8, 16, 32]
    assert swept.best == 8
    assert swept.ended == "throughput fell twice, from 21 to 19 requests/s"


@pytest.mark.parametrize(("failed", "message"), [(0.06, "6.0% of the requests failed"), (1.0, "100.0%")])
def test_a_ladder_ends_when_too_many_calls_fail(failed: float, message: str) -> None:
    attempt, levels = attempts(lambda level: attempted(per_s=level, failed=failed if level > 2 else 0.05))
    swept = asyncio.run(run_ladder((1, 2, 4, 8), "rate", attempt))
    assert levels == [1, 2, 4]
    assert message in swept.ended


def test_a_person_may_end_a_ladder() -> None:
    attempt, levels = attempts(lambda level: attempted(is_partial=level == 2))
    swept = asyncio.run(run_ladder((1, 2, 4), "rate", attempt))
    assert levels == [1, 2]
    assert swept.is_partial


LIMITS = LoadLimits.parse(["p99 ttft < 500ms"])


@given(
    start=st.floats(0.1, 300), capacity=st.floats(0.05, 5000), tolerance=st.sampled_from([0.01, 0.05, 0.3])
)
@settings(max_examples=60, deadline=None)
def test_a_search_finds_the_rate_from_which_on_limits_break(
    start: float, capacity: float, tolerance: float
) -> None:
    attempt, levels = attempts(lambda level: attempted(n=3, ttft_s=0.1 if level <= capacity else 0.6))
    plan = SearchPlan("rate", start, tolerance=tolerance)
    swept = asyncio.run(find_highest_level(plan, LIMITS, attempt))
    if capacity < start / 64:
        assert swept.best is None or swept.best <= capacity
        assert min(levels) >= start / 128
        return
    assert swept.best is not None
    assert swept.best <= capacity <= swept.best * (1 + tolerance) + 1e-9
    assert all(bool(trial.broken) == (trial.level > capacity) for trial in swept.trials)
    # Doubling and halving, then bisection: no more trials than it takes.
    far = abs(math.log2(capacity / start)) + 2
    assert len(levels) <= far + math.log2(1 / tolerance) + 2


@given(start=st.integers(1, 300), capacity=st.integers(0, 3000))
@settings(max_examples=60, deadline=None)
def test_a_search_finds_the_number_of_clients_exactly_where_few_are_kept(start: int, capacity: int) -> None:
    attempt, levels = attempts(lambda level: attempted(n=3, ttft_s=0.1 if level <= capacity else 0.6))
    swept = asyncio.run(find_highest_level(SearchPlan("concurrency", start, tolerance=0.01), LIMITS, attempt))
    assert all(level == int(level) >= 1 for level in levels)
    assert len(set(levels)) == len(levels)
    if capacity == 0:
        assert swept.best is None
        assert swept.ended == "even 1 does not meet the limits"
    elif capacity < 100:
        assert swept.best == capacity
    else:
        assert swept.best is not None
        assert swept.best <= capacity <= swept.best * 1.01


def test_a_search_goes_no_higher_than_it_may() -> None:
    attempt, levels = attempts(lambda level: attempted())
    swept = asyncio.run(find_highest_level(SearchPlan("rate", 3, most=20), LIMITS, attempt))
    assert levels == [3, 6, 12, 20]
    assert swept.best == 20
    assert swept.ended == "20 meets the limits, and it is the highest level allowed"
    swept = asyncio.run(find_highest_level(SearchPlan("rate", 3, trials_at_most=4), LIMITS, attempt))
    assert (len(swept.trials), swept.best) == (4, 24)
    assert "maximum of 4 trials was reached" in swept.ended


def test_a_level_at_which_the_client_was_the_limit_is_no_level_of_the_server() -> None:
    attempt, _ = attempts(lambda level: attempted(is_client_bound=level > 50))
    swept = asyncio.run(find_highest_level(SearchPlan("rate", 10, tolerance=0.1), LIMITS, attempt))
    assert swept.best is not None
    assert 45 <= swept.best <= 50
    assert any("client was the bottleneck" in message for trial in swept.trials for message in trial.broken)


def test_a_search_ends_when_the_client_is_the_bottleneck_at_every_level() -> None:
    attempt, levels = attempts(lambda level: attempted(is_client_bound=True))
    swept = asyncio.run(find_highest_level(SearchPlan("rate", 32), LIMITS, attempt))
    assert levels == [32, 16, 8]
    assert swept.best is None
    assert swept.ended.startswith("the client was the bottleneck at 32, 16, 8 requests per second")
    swept = asyncio.run(find_highest_level(SearchPlan("concurrency", 1), LIMITS, attempt))
    assert swept.ended.startswith("the client was the bottleneck at 1 concurrent clients")


def test_the_verdict_of_a_search_says_when_the_client_was_the_limit() -> None:
    attempt, _ = attempts(lambda level: attempted(is_client_bound=level > 2))
    swept = asyncio.run(find_highest_level(SearchPlan("concurrency", 1), LIMITS, attempt))
    assert (swept.best, swept.ended) == (
        2,
        "2 meets the limits; at 3 the client was the bottleneck, not the server",
    )


def test_a_person_may_end_a_search() -> None:
    attempt, levels = attempts(lambda level: attempted(is_partial=level > 3))
    swept = asyncio.run(find_highest_level(SearchPlan("rate", 1), LIMITS, attempt))
    assert levels == [1, 2, 4]
    assert (swept.best, swept.is_partial, swept.ended) == (2, True, "interrupted")
    assert swept.limits == ("p99 ttft < 500ms",)


def test_a_search_needs_a_limit_that_levels_can_break() -> None:
    attempt, levels = attempts(lambda level: attempted())
    with pytest.raises(UsageError, match="LOAD-005 there is no limit on all requests"):
        asyncio.run(find_highest_level(SearchPlan("rate"), LoadLimits.parse(["ttft < 500ms"]), attempt))
    assert levels == []


@pytest.mark.parametrize(
    ("of", "values", "message"),
    [
        ("rate", {"start": 0}, "starts at 0"),
        ("rate", {"start": 9, "most": 3}, "from 9 to 3"),
        ("rate", {"tolerance": 0}, "tolerance is 0"),
        ("rate", {"trials_at_most": 0}, "0 trials"),
        ("concurrency", {"start": 1.5}, "integers"),
        ("concurrency", {"start": 1, "most": 2.5}, "integers"),
    ],
)
def test_searches_that_cannot_be_are_reported(of: LevelKind, values: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError) as error:
        SearchPlan(of, **values)  # type: ignore[arg-type]
    assert error.value.problems[0].code == "LOAD-007"
    assert message in str(error.value)


@pytest.mark.parametrize("values", [(0, 1.0), (1, -1.0), (1, math.inf)])
def test_trials_that_cannot_be_are_reported(values: tuple[int, float]) -> None:
    with pytest.raises(UsageError, match="LOAD-007"):
        TrialLength(*values)


def test_a_search_goes_no_lower_once_calls_were_alone_and_broke_a_limit() -> None:
    attempt, levels = attempts(lambda level: attempted(ttft_s=9.0, n=100 if level > 8 else 1))
    swept = asyncio.run(find_highest_level(SearchPlan("rate", 32), LIMITS, attempt))
    assert levels == [32, 16, 8]
    assert (swept.best, swept.ended) == (
        None,
        "even 8 does not meet the limits, although no two requests were concurrent",
    )


def test_calls_that_were_alone_end_no_search_that_may_still_find_a_level() -> None:
    # Above a level that passed, the answer is in between.
    attempt, levels = attempts(lambda level: attempted(ttft_s=0.1 if level <= 3 else 9.0, n=1))
    assert asyncio.run(find_highest_level(SearchPlan("rate", 2), LIMITS, attempt)).best == pytest.approx(
        3, rel=0.06
    )
    assert len(levels) > 3
    # And where only the client was too slow, a lower level may be kept.
    attempt, levels = attempts(lambda level: attempted(n=1, is_client_bound=level > 3))
    assert asyncio.run(find_highest_level(SearchPlan("rate", 8), LIMITS, attempt)).best == pytest.approx(
        3, rel=0.06
    )


def test_a_ladder_goes_no_higher_when_no_call_ended() -> None:
    attempt, levels = attempts(lambda level: attempted(n=0))
    swept = asyncio.run(run_ladder((1, 2), "concurrency", attempt))
    assert (levels, swept.best) == ([1], None)
    assert "at 1 no request succeeded" in swept.ended


def test_the_levels_of_a_ladder_say_which_limits_they_broke() -> None:
    attempt, _ = attempts(lambda level: attempted(ttft_s=level))
    swept = asyncio.run(run_ladder((0.1, 2), "rate", attempt, limits=LIMITS))
    assert [trial.broken for trial in swept.trials] == [(), ("p99 ttft < 500ms: measured 2000ms",)]
