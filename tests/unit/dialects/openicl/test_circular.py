"""Rows multiplied by the orders of their options: texts move, and the answer moves with its text."""

from __future__ import annotations

from math import factorial
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.dialects.openicl.circular import circular_rows


@given(st.integers(2, 4), st.data(), st.sampled_from(["circular", "all_possible"]))
def test_the_answer_stays_with_its_text(
    n: int, data: st.DataObject, pattern: Literal["circular", "all_possible"]
) -> None:
    keys = list("ABCD"[:n])
    answers = data.draw(st.lists(st.sampled_from(keys), max_size=3))
    rows = [{**{key: f"{at}{key}" for key in keys}, "answer": one} for at, one in enumerate(answers)]
    made = list(circular_rows(rows, keys, "answer", pattern))
    per_row = n if pattern == "circular" else factorial(n)
    assert len(made) == per_row * len(rows)
    for at, turned in enumerate(made):
        original = rows[at // per_row]
        assert turned["qid"] == at // per_row
        assert turned[turned["answer"]] == original[original["answer"]]
        assert sorted(turned[key] for key in keys) == sorted(original[key] for key in keys)
        assert [turned[place] for place in turned["circular_pattern"]] == [original[key] for key in keys]
    assert [{key: one[key] for key in (*keys, "answer")} for one in made[::per_row]] == rows


@pytest.mark.parametrize(
    ("row", "says"),
    [({"A": "x", "B": "y", "answer": "b"}, "row 1: 'answer' is 'b'"), ({"A": "x", "answer": "A"}, "no 'B'")],
)
def test_a_row_that_cannot_be_turned(row: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        list(circular_rows([row], ["A", "B"], "answer"))


def test_options_and_patterns_that_are_none() -> None:
    with pytest.raises(ValueError, match="at least two"):
        list(circular_rows([], ["A"], "answer"))
    with pytest.raises(ValueError, match="no pattern"):
        list(circular_rows([], ["A", "B"], "answer", "spiral"))  # type: ignore[arg-type]
