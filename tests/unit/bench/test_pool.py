from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench import pool
from assay.bench.pool import RELATIVE_ERROR, Pool

VALUES = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=60)


def percentile(values: list[float], percent: float) -> float:
    """Interpolate between the two nearest of the sorted values, by hand."""
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100
    low = ordered[math.floor(rank)]
    return low + (ordered[math.ceil(rank)] - low) * (rank - math.floor(rank))


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_what_a_pool_says_is_what_the_values_say(parts: list[list[float]]) -> None:
    found = Pool()
    for part in parts:
        found.add(part)
        found.percentile(50)  # Asking in between changes nothing.
    values = [value for part in parts for value in part]
    stats = found.stats("s")
    assert stats is not None
    assert (stats.n, stats.min, stats.max) == (len(values), min(values), max(values))
    assert stats.mean == pytest.approx(statistics.fmean(values), rel=1e-9, abs=1e-9)
    assert stats.std == pytest.approx(statistics.pstdev(values), rel=1e-6, abs=1e-6)
    for percent in (50, 75, 90, 95, 99):
        assert getattr(stats, f"p{percent}") == pytest.approx(percentile(values, percent), rel=1e-9, abs=1e-9)


def test_a_pool_without_values_says_nothing() -> None:
    found = Pool()
    found.add([])
    assert found.stats("s") is None
    assert found.percentile(50) is None


@given(
    st.lists(st.floats(-1e4, 1e6).filter(lambda value: not 0 < abs(value) < 1e-8), min_size=12, max_size=80),
    st.sampled_from([0.0, 50, 75, 90, 95, 99, 100]),
)
def test_beyond_its_bound_percentiles_are_within_the_promised_error(
    values: list[float], percent: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "EXACT_UP_TO", 10)
        found = Pool()
        found.add(values[:5])
        found.percentile(50)
        found.add(values[5:])
        assert not found.is_exact
        stats = found.stats("s")
        got = found.percentile(percent)
    assert stats is not None
    assert got is not None
    assert (stats.n, stats.min, stats.max) == (len(values), min(values), max(values))
    assert stats.mean == pytest.approx(statistics.fmean(values), rel=1e-9, abs=1e-9)
    # Each of the two neighbours is off by at most 0.1 % of itself.
    rank = (len(values) - 1) * percent / 100
    near = [abs(sorted(values)[at]) for at in (math.floor(rank), math.ceil(rank))]
    assert abs(got - percentile(values, percent)) <= RELATIVE_ERROR * max(near) + 1e-9


def test_a_million_gaps_and_one_more_take_little_memory_and_stay_right() -> None:
    drawn = np.random.default_rng(1).lognormal(-4, 1, pool.EXACT_UP_TO + 1)
    found = Pool()
    found.add(drawn[:-1])
    exact, was_exact = found.stats("s"), found.is_exact
    found.add(drawn[-1:])
    rough, is_exact = found.stats("s"), found.is_exact
    assert (was_exact, is_exact) == (True, False)
    assert exact is not None
    assert rough is not None
    assert exact.p99 == np.percentile(drawn[:-1], 99)
    assert rough.p99 == pytest.approx(np.percentile(drawn, 99), rel=RELATIVE_ERROR)
    assert rough.mean == pytest.approx(drawn.mean(), rel=1e-12)
    assert rough.std == pytest.approx(drawn.std(), rel=1e-9)
