from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError, Problem
from assay.sources.splits import SplitPart, parse_split

ProblemOf = Callable[[Callable[[], object]], Problem]


def taken(split: str, n_rows: int) -> list[int]:
    rows = list(range(n_rows))
    return [row for part in parse_split(split) for row in rows[part.rows(n_rows)]]


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("test", list(range(20))),
        ("train[5:]", list(range(5, 20))),
        ("train[:3]", [0, 1, 2]),
        ("train[-3:]", [17, 18, 19]),
        ("train[:-18]", [0, 1]),
        ("train[2:4]", [2, 3]),
        ("train[:10%]", [0, 1]),
        ("train[90%:]", [18, 19]),
        ("train[-10%:]", [18, 19]),
        ("train[:13%]", [0, 1, 2]),  # 2.6 rows
        ("train[:12%]", [0, 1]),  # 2.4 rows
        ("train[18:400]", [18, 19]),
        ("train[:1]+test[-1:]", [0, 19]),
        (" train[:1] + train[:2] ", [0, 0, 1]),
        ("train[10%:5]", [2, 3, 4]),
    ],
)
def test_what_is_taken(split: str, expected: list[int]) -> None:
    assert taken(split, 20) == expected


def test_names() -> None:
    assert [part.name for part in parse_split("validation_matched+dev_r2[:5]")] == [
        "validation_matched",
        "dev_r2",
    ]
    assert [str(part) for part in parse_split("a[:5] + b[-3%:]+c")] == ["a[:5]", "b[-3%:]", "c"]


@given(st.integers(1, 60), st.none() | st.integers(-70, 70), st.none() | st.integers(-70, 70))
def test_rows_are_those_of_a_python_slice(n_rows: int, start: int | None, stop: int | None) -> None:
    text = f"train[{'' if start is None else start}:{'' if stop is None else stop}]"
    expected = list(range(n_rows))[start:stop]
    if expected:
        assert taken(text, n_rows) == expected
    else:
        with pytest.raises(AuthorError, match="DATA-002"):
            taken(text, n_rows)


@given(st.integers(1, 500), st.integers(1, 99))
def test_two_percentages_share_the_rows_without_gap_or_overlap(n_rows: int, percent: int) -> None:
    head, tail = SplitPart("train", None, f"{percent}%"), SplitPart("train", f"{percent}%", None)
    rows = list(range(n_rows))
    parts = []
    for part in (head, tail):
        try:
            parts += rows[part.rows(n_rows)]
        except AuthorError:  # all rows lie on the other side
            continue
    assert parts == rows


@pytest.mark.parametrize(
    "text",
    ["", "train[5]", "train[::2]", "train[a:b]", "train+", "{{prompt['text']}}", "train[:101%]", "t[-101%:]"],
)
def test_what_is_not_a_split(problem_of: ProblemOf, text: str) -> None:
    problem = problem_of(lambda: parse_split(text))
    assert problem.code == "DATA-002"
    assert repr(text) in problem.what


def test_a_stretch_without_rows(problem_of: ProblemOf) -> None:
    problem = problem_of(lambda: taken("train[50:]", 50))
    assert "'train[50:]' selects none of the 50 rows" in problem.what
