from __future__ import annotations

import random

import pytest

from assay.dialects.openicl.dataset_rows import select_range_rows


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (None, [0, 1, 2, 3, 4]),
        ("", [0, 1, 2, 3, 4]),
        ("[1:3]", [1, 2]),
        ("[:2]", [0, 1]),
        ("[-2:]", [3, 4]),
        ("[::2]", [0, 2, 4]),
        ("[0:4][1:3]", [1, 2]),
        (5, [0, 1, 2, 3, 4]),
        (0, [0, 1, 2, 3, 4]),
        ("[9:]", []),
    ],
)
def test_ranges(wanted: int | str | None, expected: list[int]) -> None:
    assert list(select_range_rows(wanted, 5)) == expected


def test_a_number_draws_the_rows_that_the_original_draws() -> None:
    rows = list(range(100))
    random.Random(10).shuffle(rows)
    assert select_range_rows(10, 100) == rows[:10]
    assert select_range_rows(0.1, 100) == rows[:10]


@pytest.mark.parametrize("wanted", ["[0]", "range(3)", "[0:__import__('os')]", "0:3"])
def test_what_is_no_slice_is_rejected_and_never_run(wanted: str) -> None:
    with pytest.raises(ValueError, match="slice"):
        select_range_rows(wanted, 5)
