from __future__ import annotations

from typing import Any

import pytest

from assay.scoring.metrics.answers import get_answers


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
