from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.results.pages.spreads import compute_calibration, compute_distribution


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
