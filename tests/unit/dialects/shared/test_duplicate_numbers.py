from __future__ import annotations

from array import array
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.dialects.shared import duplicate_numbers
from assay.dialects.shared.duplicate_numbers import DuplicateNumbers, sort_numbers

NUMBERS = st.lists(st.one_of(st.integers(0, 12), st.integers(0, 2**64 - 1)), max_size=60)


@pytest.mark.parametrize("few", [0, 1_000], ids=["with numpy", "without"])
@given(NUMBERS)
def test_what_comes_again_is_what_a_count_says(few: int, numbers: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(duplicate_numbers, "_NUMPY_THRESHOLD", few)
        found = DuplicateNumbers(array("Q", numbers))
    again = {number: n for number, n in Counter(numbers).items() if n > 1}
    assert len(found) == len(again)
    assert {number for number in numbers if number in found} == again.keys()
    places = [place for number in set(numbers) if (place := found.place(number)) is not None]
    assert sorted(places) == list(range(len(again)))
    assert found.n_more == sum(again.values()) - len(again)
    if not again:
        assert found.first is None
        return
    assert found.first is not None
    earlier, later = found.first
    assert earlier < later
    assert numbers[earlier] == numbers[later]
    assert not any(number in again for number in numbers[:earlier])


@given(NUMBERS)
def test_numbers_are_put_in_order_and_the_list_stays_as_it_is(numbers: list[int]) -> None:
    given_ = array("Q", numbers)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(duplicate_numbers, "_NUMPY_THRESHOLD", 0)
        assert sort_numbers(given_).tolist() == sorted(numbers)
    assert given_.tolist() == numbers
