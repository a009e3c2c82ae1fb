from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.results.pages.spreads import compute_calibration, compute_distribution, compute_thinking_curve


@given(
    st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=50),
    st.sampled_from(["s", "", "tokens"]),
)
def test_every_value_is_counted_between_edges_that_rise(values: list[float], unit: str) -> None:
    if unit == "tokens":
        values = [float(round(value)) for value in values]
    found = compute_distribution("x", unit, "ppl", array("d", values))
    assert sum(found.counts) == found.n == len(values)
    assert len(found.edges) == len(found.counts) + 1
    assert all(low < high for low, high in zip(found.edges, found.edges[1:], strict=False))


def test_values_that_differ_by_rounding_alone_are_one_value() -> None:
    """Bins as narrow as the last digit of a float leave a plot without distinguishable ticks."""
    share = 0.1 + 0.2
    found = compute_distribution("model time", "s", "ppl", array("d", [share, 0.3, 0.3]))
    assert share != 0.3
    assert found.edges[-1] == pytest.approx(0.6)
    assert found.counts[0] == 3


def test_an_error_of_calibration_weighs_bins_by_their_answers() -> None:
    found = compute_calibration("t", "prob", array("d", [0.95, 0.95, 0.95, 0.15]), array("d", [1, 1, 0, 1]))
    assert found.error == pytest.approx(3 / 4 * (0.95 - 2 / 3) + 1 / 4 * (1 - 0.15))


@given(st.lists(st.tuples(st.integers(0, 60), st.booleans()), min_size=1, max_size=300))
def test_a_thinking_curve_counts_every_sample_once_by_length(samples: list[tuple[int, bool]]) -> None:
    tokens = array("d", [n for n, _ in samples])
    right = array("d", [float(is_right) for _, is_right in samples])
    curve = compute_thinking_curve("t", "gen", tokens, right)
    assert sum(one.n for one in curve.bins) == curve.n == len(samples)
    assert all(before.most < after.least for before, after in zip(curve.bins, curve.bins[1:], strict=False))
    for one in curve.bins:
        inside = [is_right for n, is_right in samples if one.least <= n <= one.most]
        assert len(inside) == one.n
        assert sum(inside) / len(inside) == pytest.approx(one.right)
        assert one.low <= one.right <= one.high


def test_a_thinking_curve_shows_that_long_thoughts_fail() -> None:
    tokens = array("d", range(100))
    right = array("d", [1.0] * 50 + [0.0] * 50)
    curve = compute_thinking_curve("t", "gen", tokens, right)
    assert [one.right for one in (curve.bins[0], curve.bins[-1])] == [1.0, 0.0]
    assert len(curve.bins) == 8
