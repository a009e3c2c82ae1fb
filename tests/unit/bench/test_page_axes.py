from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench import page_axes as axes
from assay.bench.page_numbers import (
    format_number,
    format_percent,
    format_round_time,
    format_seconds,
    format_short,
)

POSITIVE = st.floats(1e-6, 1e6)


@given(st.floats(0, 1e5), POSITIVE, st.integers(2, 10))
def test_even_ticks_are_few_and_inside(low: float, length: float, n: int) -> None:
    ticks = axes.even_ticks(low, low + length, n)
    assert len(ticks) <= n + 1
    slack = length * 1e-6 + low * 1e-9
    assert all(low - slack <= tick <= low + length + slack for tick in ticks)


@given(st.floats(1e-6, 1e3), st.floats(10, 1e8))
def test_log_ticks_are_few_and_inside(low: float, ratio: float) -> None:
    ticks = axes.log_ticks(low, low * ratio)
    assert 1 <= len(ticks) <= 7
    assert all(low * 0.999 <= tick <= low * ratio * 1.001 for tick in ticks)
    assert ticks == sorted(ticks)


@given(st.just(0.0) | st.floats(1e-9, 1e9))
def test_an_axis_of_amounts_holds_the_greatest(high: float) -> None:
    axis = axes.build_amount_axis(high)
    assert axis.low == 0
    assert axis.high >= high * (1 - 1e-9)
    assert axis.ticks[-1][0] == axis.high
    assert 2 <= len(axis.ticks) <= 6


@given(st.integers(0, 10**6))
def test_ticks_of_counts_are_whole(high: int) -> None:
    axis = axes.build_count_axis(high)
    assert axis.high >= high
    assert all(tick == int(tick) for tick, _ in axis.ticks)
    assert 2 <= len({label for _, label in axis.ticks}) == len(axis.ticks) <= 6


@given(POSITIVE, st.floats(1.5, 1e4), st.booleans(), st.floats(-1, 2))
def test_places_keep_the_order_and_stay_inside(low: float, ratio: float, is_log: bool, share: float) -> None:
    axis = axes.build_latency_axis(low, low * ratio, is_log=is_log)
    assert axis.at(low) == pytest.approx(0)
    assert axis.at(low * ratio) == pytest.approx(1)
    place = axis.at(low + share * low * (ratio - 1))
    assert 0 <= place <= 1
    assert axis.at(low + (share + 0.1) * low * (ratio - 1)) >= place


def test_times_have_the_unit_that_fits() -> None:
    assert [format_seconds(value) for value in (0.0000123, 0.0123, 1.23, 200.0, 7300.0, 0.0, None)] == [
        "12.3 µs",
        "12.3 ms",
        "1.23 s",
        "3.33 min",
        "2.03 h",
        "0 s",
        "–",
    ]
    assert [format_round_time(value) for value in (0.1 * 10, 0.5, 200, 120, 1000, 0.0)] == [
        "1 s",
        "500 ms",
        "200 s",
        "2 min",
        "1000 s",
        "0 s",
    ]


def test_numbers_have_three_digits_that_count() -> None:
    assert [format_number(value) for value in (0, 0.01234, 0.99996, 1.5, 12.345, 1234.5, None)] == [
        "0",
        "0.0123",
        "1.00",
        "1.50",
        "12.3",
        "1,234",
        "–",
    ]
    assert [format_short(value) for value in (0.25, 5000, 20_000, 1_500_000)] == [
        "0.25",
        "5000",
        "20k",
        "1.5M",
    ]


def test_none_and_all_are_never_rounded_to() -> None:
    assert [format_percent(share) for share in (0, 1, 0.5, 0.9999999, 0.0000001)] == [
        "0 %",
        "100 %",
        "50.0 %",
        "99.99 %",
        "0.01 %",
    ]
