from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench import page_shapes as shapes
from assay.bench import pool as pool_module
from assay.bench.over_time import CountsOverTime
from assay.bench.page_shapes import (
    bucket_edges,
    bucket_width,
    build_cumulative_curve,
    build_histogram,
    choose_round_step,
)
from assay.bench.pool import Pool

VALUES = st.lists(st.floats(0, 1e4, allow_subnormal=False), min_size=1, max_size=60)


def pool_of(values: list[float]) -> Pool:
    pool = Pool()
    pool.add(values)
    return pool


@given(VALUES)
def test_every_value_is_in_one_bin(values: list[float]) -> None:
    binned = build_histogram(pool_of(values))
    expected = [sum(left <= value < right for value in values) for left, right in pairwise(binned.edges)]
    assert list(binned.counts) == expected
    assert binned.n_below == sum(value < binned.edges[0] for value in values)
    assert sum(binned.counts) + binned.n_below == len(values)
    assert list(binned.edges) == sorted(set(binned.edges))
    assert len(binned.counts) <= 2 * shapes.N_BINS
    if not binned.is_log:
        assert binned.n_below == 0


def test_wide_values_get_a_logarithmic_axis() -> None:
    assert build_histogram(pool_of([0.01, 0.02, 5.0])).is_log
    assert not build_histogram(pool_of([0.01, 0.02, 0.09])).is_log


def test_what_a_logarithmic_axis_has_no_place_for_is_counted() -> None:
    binned = build_histogram(pool_of([0.0] + [0.01] * 500 + [5.0]))
    assert binned.is_log
    assert binned.n_below == 1


@given(VALUES)
def test_each_point_of_the_curve_is_exact(values: list[float]) -> None:
    pool = pool_of(values)
    binned = build_histogram(pool)
    curve = build_cumulative_curve(pool, binned)
    for x, y in zip(curve.xs, curve.ys, strict=True):
        assert y == sum(value < x for value in values) / len(values)
    assert curve.ys[-1] == 1
    assert (curve.xs[0], curve.xs[-1]) == pytest.approx((binned.edges[0], binned.edges[-1]))
    assert len(curve.xs) == shapes.N_CURVE


def test_values_in_bins_are_counted_within_a_bins_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "EXACT_UP_TO", 100)
    values = np.random.default_rng(3).lognormal(-4, 0.6, 20_000)
    values[:500] = 0.0
    pool = Pool()
    pool.add(values)
    borders = np.geomspace(values[500:].min(), values.max(), 50)
    counted = pool.count_below(borders)
    for border, n in zip(borders, counted, strict=True):
        assert (values < border / 1.003).sum() <= n <= (values < border * 1.003).sum()
    ends = np.array([0.0, values.max() * (1 + 1e-9), values.max() * 2])
    assert pool.count_below(ends).tolist() == [0.0, 20_000.0, 20_000.0]


@given(st.lists(st.floats(1000, 1500), min_size=1, max_size=40), st.floats(900, 1600))
def test_counts_before_a_moment(times: list[float], moment: float) -> None:
    counts = CountsOverTime(2)
    counts.add(1, np.array(times), np.full(len(times), 2.0))
    n, everything = counts.count_before(1, np.array([moment, np.inf]))
    # A moment cuts a bucket; those of 500 seconds are no wider than an eighth of one.
    assert (
        2 * sum(time < moment - 0.125 for time in times)
        <= n
        <= 2 * sum(time < moment + 0.125 for time in times)
    )
    assert everything == 2 * len(times)
    assert counts.count_before(0, np.array([np.inf])).tolist() == [0.0]


@given(st.floats(1e-9, 1e9))
def test_round_steps_are_round_and_near(least: float) -> None:
    step = choose_round_step(least)
    assert least * (1 - 1e-8) <= step <= least * 2.51
    assert float(f"{step:.1e}") == pytest.approx(step, rel=1e-12)


@given(st.floats(0, 1e5), st.integers(4, 200))
def test_stretches_of_time_are_few_and_none_is_short(duration: float, n_max: int) -> None:
    width = bucket_width(duration, n_max)
    edges = bucket_edges(duration, width)
    assert len(edges) - 1 <= n_max + 1
    widths = np.diff(edges)
    assert np.allclose(widths[:-1], width)
    if duration >= width:
        assert edges[-1] == duration
        assert 0.5 * width * (1 - 1e-6) <= widths[-1] <= 1.5 * width * (1 + 1e-6)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 5)), min_size=1, max_size=50))
def test_rates_means_and_peaks(points: list[tuple[float, float]]) -> None:
    times, values = (np.array(column) for column in zip(*points, strict=True))
    rate = shapes.compute_rate(times, 10.0, 0.5)
    means, peaks = shapes.compute_means_and_peaks(times, values, 10.0, 0.5)
    for place in range(20):
        start, end = place * 0.5, (place + 1) * 0.5
        inside = [value for time, value in points if start <= time < end or time == end == 10.0]
        assert rate.values[place] == pytest.approx(len(inside) / 0.5)
        assert means.values[place] == pytest.approx(sum(inside) / max(len(inside), 1))
        assert peaks.values[place] == max(inside, default=0.0)
    assert rate.end == 10.0
