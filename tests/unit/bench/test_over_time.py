from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench import over_time
from assay.bench.over_time import CountsOverTime

MOMENTS = st.lists(st.floats(-50, 5_000, allow_subnormal=False), max_size=20)


@given(st.lists(st.tuples(st.integers(0, 1), MOMENTS), max_size=6), st.integers(1, 10))
def test_each_moment_is_counted_in_its_bucket(parts: list[tuple[int, list[float]]], at_most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(over_time, "_MOST", 16)
        found = CountsOverTime(2)
        for row, moments in parts:
            found.add(row, np.array(moments), np.full(len(moments), 2.5) if row else None)
        start, width, rows = found.buckets(at_most)
    assert len(rows[0]) <= at_most
    every = [moment for _, moments in parts for moment in moments]
    if every:
        assert start <= min(every)
        assert max(every) < start + width * len(rows[0])
    for row, weight in ((0, 1), (1, 2.5)):
        moments = [moment for which, part in parts for moment in part if which == row]
        for at, count in enumerate(rows[row]):
            low, high = start + at * width, start + (at + 1) * width
            assert count == pytest.approx(weight * sum(low <= moment < high for moment in moments))


def test_nothing_counted_has_no_buckets() -> None:
    _, _, rows = CountsOverTime(2).buckets(10)
    assert rows == [[], []]
