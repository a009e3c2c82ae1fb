"""Delays in bins, against the sorted list."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from assay.bench.load_result import GRAIN_S, Delays


@given(st.lists(st.floats(0, 1.2), min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_never_too_small_and_at_most_a_grain_too_large(
    values: list[float], share: float
) -> None:
    delays = Delays()
    for value in values:
        delays.add(value)
    exact = sorted(values)[math.ceil(share * len(values)) - 1]
    found = delays.quantile(share)
    if exact < 1:
        assert exact - 1e-12 <= found <= exact + GRAIN_S + 1e-12
    else:
        assert found == max(values)


def test_what_is_late() -> None:
    delays = Delays()
    assert delays.stats() is None
    for value in (-0.001, 0.004, 0.005, 0.0051, 2.5):
        delays.add(value)
    stats = delays.stats()
    assert stats is not None
    assert (stats.n, stats.late_share, stats.max_s) == (5, 2 / 5, 2.5)
