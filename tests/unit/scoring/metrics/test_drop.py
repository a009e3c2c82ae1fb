from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.metrics.answers import drop_score, get_answers
from assay.scoring.metrics.assignment import best_assignment

MATRICES = st.integers(1, 5).flatmap(
    lambda columns: st.lists(
        st.lists(st.floats(-10, 10), min_size=columns, max_size=columns), min_size=1, max_size=5
    )
)


@given(MATRICES)
def test_the_assignment_is_the_best_of_all(scores: list[list[float]]) -> None:
    n_rows, n_columns = len(scores), len(scores[0])
    if n_rows <= n_columns:
        totals = (
            sum(map(list.__getitem__, scores, order)) for order in permutations(range(n_columns), n_rows)
        )
    else:
        totals = (
            sum(scores[row][column] for column, row in enumerate(order))
            for order in permutations(range(n_rows), n_columns)
        )
    pairs = best_assignment(scores)
    assert len(pairs) == len({row for row, _ in pairs}) == len({column for _, column in pairs})
    assert len(pairs) == min(n_rows, n_columns)
    assert sum(scores[row][column] for row, column in pairs) == pytest.approx(max(totals))


def test_nothing_to_assign() -> None:
    assert best_assignment([]) == []
    assert best_assignment([[], []]) == []


def date(day: str = "", month: str = "", year: str = "") -> dict[str, str]:
    return {"day": day, "month": month, "year": year}


def answer(number: str = "", spans: tuple[str, ...] = (), **when: str) -> dict[str, Any]:
    return {"number": number, "date": date(**when), "spans": list(spans)}


def test_answers_of_a_row_each_once_and_the_main_one_first() -> None:
    others = [
        answer(spans=("Tom", "Ann")),
        answer(number="4"),
        answer(day="3", month="May", year="1999"),
        answer(),
    ]
    columns = {name: [other[name] for other in others] for name in ("number", "date", "spans")}
    row = {"answer": answer(number="4"), "validated_answers": columns}
    assert get_answers(row) == [("4",), ("Tom", "Ann"), ("3 May 1999",), ("",)]


def test_columns_of_different_length_are_an_error() -> None:
    row = {"answer": answer(number="4"), "validated_answers": {"number": ["4"], "date": [], "spans": [[]]}}
    with pytest.raises(ValueError, match="zip"):
        get_answers(row)


@pytest.mark.parametrize(
    ("prediction", "answers", "em", "f1"),
    [
        ("4", [("4",)], 1.0, 1.0),
        ("4.0", [("4",)], 1.0, 1.0),
        ("The 4 yards", [("4 yards",)], 1.0, 1.0),
        ("5 yards", [("4 yards",)], 0.0, 0.0),  # the number is wrong: the shared word is worth nothing
        ("yards", [("long yards",)], 0.0, 0.67),
        ("red and blue", [("red blue",)], 0.0, 0.8),  # `and` is a word
        (["Ann", "Tom"], [("Tom", "Ann")], 1.0, 1.0),
        ("Tom Ann", [("Tom", "Ann")], 0.0, 0.33),  # one span for two: the other has no partner
        (["Ann", "Ann"], [("Ann",)], 0.0, 0.5),
        ("Tom", [("Ann",), ("Tom",)], 1.0, 1.0),
        ("x", [("",), ("Ann",)], 0.0, 0.0),
        ("well-known", [("well known",)], 1.0, 1.0),
        ("", [("the x",)], 0.0, 0.0),
        ("-3", [("3",)], 1.0, 1.0),  # words are parted at hyphens, so a sign is lost
    ],
)
def test_scores_by_the_official_rules(
    prediction: str | list[str], answers: list[tuple[str, ...]], em: float, f1: float
) -> None:
    assert tuple(drop_score(prediction, answers)) == pytest.approx((em, f1))


def test_a_row_without_an_answer_cannot_be_scored() -> None:
    with pytest.raises(ValueError, match="no acceptable answer"):
        drop_score("x", [("",)])
