from __future__ import annotations

import pytest

from assay.core.errors import SHOWN_AT_MOST, AuthorError, Problem, Problems


class NotHere(AuthorError):
    """A more exact kind."""


def raising(kind: type[AuthorError], n: int = 1) -> int:
    raise kind([Problem("X-001", f"{at}", "mend it") for at in range(n)], total=n)


def test_what_is_made_is_returned_and_what_is_raised_is_noted() -> None:
    problems = Problems()
    assert problems.noted(lambda: 5) == 5
    problems.raise_if_any()
    assert problems.noted(lambda: raising(AuthorError)) is None
    problems.add(Problem("X-002", "one more", "mend it"))
    with pytest.raises(AuthorError) as caught:
        problems.raise_if_any()
    assert [one.code for one in caught.value.problems] == ["X-001", "X-002"]


def test_other_errors_are_not_held_back() -> None:
    with pytest.raises(ZeroDivisionError):
        Problems().noted(lambda: 1 / 0)


def test_a_kind_of_error_is_kept_where_all_are_of_it() -> None:
    problems = Problems()
    problems.noted(lambda: raising(NotHere))
    problems.noted(lambda: raising(NotHere))
    with pytest.raises(NotHere):
        problems.raise_if_any()
    problems.noted(lambda: raising(AuthorError))
    with pytest.raises(AuthorError) as caught:
        problems.raise_if_any()
    assert type(caught.value) is AuthorError


def test_the_first_few_are_kept_and_all_are_counted() -> None:
    problems = Problems()
    for _ in range(2):
        problems.noted(lambda: raising(AuthorError, SHOWN_AT_MOST - 1))
    with pytest.raises(AuthorError) as caught:
        problems.raise_if_any()
    assert len(caught.value.problems) == SHOWN_AT_MOST
    assert caught.value.total == 2 * (SHOWN_AT_MOST - 1)
