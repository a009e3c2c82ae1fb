from __future__ import annotations

import pytest

from assay.dialects.shared.plain_rows import LazyRows


def test_what_is_made_of_a_row_is_made_when_it_is_asked_for() -> None:
    made: list[int] = []

    def double(number: int) -> int:
        made.append(number)
        return 2 * number

    doubled = LazyRows(range(5), double)
    assert (len(doubled), made) == (5, [])
    assert (doubled[1], doubled[-1], doubled[1:3]) == (2, 8, [2, 4])
    assert made == [1, 4, 1, 2]
    assert list(doubled) == [0, 2, 4, 6, 8]
    with pytest.raises(IndexError):
        doubled[5]
