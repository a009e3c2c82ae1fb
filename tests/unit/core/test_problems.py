from __future__ import annotations

import signal
import sys
from collections.abc import Generator

import pytest

from assay.core.errors import (
    MAX_SHOWN_PROBLEMS,
    AuthorError,
    Problem,
    Problems,
    calling_author,
    describe_exception,
)


class NotHere(AuthorError):
    """A more exact kind."""


def raising(kind: type[AuthorError], n: int = 1) -> int:
    raise kind([Problem("X-001", f"{at}", "fix it") for at in range(n)], total=n)


def test_what_is_made_is_returned_and_what_is_raised_is_noted() -> None:
    problems = Problems()
    assert problems.collect(lambda: 5) == 5
    problems.raise_if_any()
    assert problems.collect(lambda: raising(AuthorError)) is None
    problems.add(Problem("X-002", "one more", "fix it"))
    with pytest.raises(AuthorError) as caught:
        problems.raise_if_any()
    assert [one.code for one in caught.value.problems] == ["X-001", "X-002"]


def test_other_errors_are_not_held_back() -> None:
    with pytest.raises(ZeroDivisionError):
        Problems().collect(lambda: 1 / 0)


def test_a_kind_of_error_is_kept_where_all_are_of_it() -> None:
    problems = Problems()
    problems.collect(lambda: raising(NotHere))
    problems.collect(lambda: raising(NotHere))
    with pytest.raises(NotHere):
        problems.raise_if_any()
    problems.collect(lambda: raising(AuthorError))
    with pytest.raises(AuthorError) as caught:
        problems.raise_if_any()
    assert type(caught.value) is AuthorError


def test_the_first_few_are_kept_and_all_are_counted() -> None:
    problems = Problems()
    for _ in range(2):
        problems.collect(lambda: raising(AuthorError, MAX_SHOWN_PROBLEMS - 1))
    with pytest.raises(AuthorError) as caught:
        problems.raise_if_any()
    assert len(caught.value.problems) == MAX_SHOWN_PROBLEMS
    assert caught.value.total == 2 * (MAX_SHOWN_PROBLEMS - 1)


def test_an_interrupt_that_code_raises_itself_is_not_taken_for_ctrl_c() -> None:
    with pytest.raises(RuntimeError, match=r"it raised \(KeyboardInterrupt mine\)"), calling_author("it"):
        raise KeyboardInterrupt("mine")
    with pytest.raises(RuntimeError, match=r"it ended the program \(SystemExit 0\)"), calling_author("it"):
        sys.exit(0)


def test_a_generator_exit_that_code_raises_itself_is_its_own_error() -> None:
    with pytest.raises(RuntimeError, match=r"it raised \(GeneratorExit mine\)"), calling_author("it"):
        raise GeneratorExit("mine")


def test_an_exception_is_described_even_without_a_message() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise ValueError

    described = [describe_exception(error) for error in (MemoryError(), KeyError("x"), Broken())]
    assert described == [
        "MemoryError",
        "KeyError: 'x'",
        "Broken: its message cannot be shown (ValueError)",
    ]


def test_ctrl_c_goes_through_the_code_that_it_meets() -> None:
    with pytest.raises(KeyboardInterrupt), calling_author("score"):
        signal.raise_signal(signal.SIGINT)


def test_a_generator_may_be_closed_inside_the_code_of_an_author() -> None:
    def walk() -> Generator[int, None, None]:
        with calling_author("score"):
            yield 1

    steps = walk()
    assert next(steps) == 1
    steps.close()
