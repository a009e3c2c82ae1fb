"""Every setting of a benchmark has its effect."""

from __future__ import annotations

from typing import Any

import pytest

from assay.app.bench import BenchPlan, Ladder
from assay.app.bench_settings import BenchSettings, build_bench_plan, build_item_settings
from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.bench.load import ClosedLoad, OpenLoad
from assay.bench.mooncake import TraceTimes
from assay.bench.search import SearchPlan
from assay.bench.sweep import TrialLength, build_trial_load
from assay.core.errors import UsageError


def plan(*, is_trace: bool = False, **message: Any) -> BenchPlan:
    return build_bench_plan(BenchSettings(model="openai:m@http://h/v1", **message), is_trace=is_trace)


@pytest.mark.parametrize(
    ("message", "shape"),
    [
        ({}, ClosedLoad(16)),
        ({"concurrency": 3}, ClosedLoad(3)),
        ({"rate": 5.0, "burstiness": 0.5, "seed": 7}, OpenLoad(Arrivals(5.0, None, 0.5, 7))),
        ({"rate": 5.0, "max_under_way": 9}, OpenLoad(Arrivals(5.0), 9)),
        ({"ramp": "1..50", "requests": 9}, OpenLoad(Arrivals(ramp=Ramp(1, 50)))),
        (
            {"ramp": "1..50", "ramp_form": "exponential", "ramp_seconds": 30.0},
            OpenLoad(Arrivals(ramp=Ramp(1, 50, "exponential", 30))),
        ),
        (
            {"rate": 5.0, "profile": "aisbench", "requests": 9},
            OpenLoad(Arrivals(5.0, None, 0.0, 0, is_rescaled=True)),
        ),
    ],
)
def test_the_shape_of_a_load(message: dict[str, Any], shape: ClosedLoad | OpenLoad) -> None:
    assert plan(**message).load.shape == shape


def test_a_trace_is_replayed_unless_something_else_is_said() -> None:
    assert plan(is_trace=True).load.shape == OpenLoad(TraceArrivals())
    assert plan(is_trace=True, concurrency=2).load.shape == ClosedLoad(2)
    assert plan(is_trace=True, rate=2.0).load.shape == OpenLoad(Arrivals(2.0))
    assert plan(is_trace=True, replay=False).load.shape == ClosedLoad(16)
    assert plan(is_trace=True, duration=5.0).load.goes_round is False
    assert plan(is_trace=True, duration=5.0, replay=False).load.goes_round is True


def test_how_much_how_long_and_how_it_is_written() -> None:
    load = plan(
        dataset="t.jsonl", requests=9, duration=5.0, grace=2.0, think=0.5, temperature=0.7, seed=3
    ).load
    assert (load.n, load.seconds, load.grace_s, load.think_s) == (9, 5.0, 2.0, 0.5)
    assert (load.goes_round, load.sampling.temperature, load.sampling.seed) == (True, 0.7, 3)
    assert plan(seed=3).load.sampling.seed is None, "nothing is drawn"
    assert plan(warm_up=4).n_warm_up == 4
    assert plan(seed=3).seed == 3


def test_the_part_of_a_trace_that_is_sent() -> None:
    asked = BenchSettings(model="m", trace_speed=2.0, trace_start_ms=10.0, trace_end_ms=20.0)
    assert build_item_settings(asked).trace == TraceTimes(10.0, 20.0, speed=2.0)
    assert build_item_settings(BenchSettings(model="m")).trace == TraceTimes()


def test_levels_of_a_sweep_and_of_a_search() -> None:
    swept = plan(sweep="rate", levels="2,4", burstiness=1.0, max_under_way=5, seed=2, trial_requests=7)
    assert swept.sweep == Ladder("rate", (2.0, 4.0))
    assert swept.trial == TrialLength(7, 10.0)
    of_level = build_trial_load(swept.load, "rate", 4.0, swept.trial)
    assert of_level.shape == OpenLoad(Arrivals(4.0, None, 1.0, 2), 5)
    searched = plan(search="concurrency", levels="2..8", limits=("failed < 1%",), trial_seconds=1.0)
    assert searched.sweep == SearchPlan("concurrency", 2.0, 8.0)
    assert searched.trial == TrialLength(100, 1.0)


def test_a_closed_sweep_has_no_gaps() -> None:
    with pytest.raises(UsageError, match="LOAD-010"):
        plan(sweep="concurrency", burstiness=1.0)
