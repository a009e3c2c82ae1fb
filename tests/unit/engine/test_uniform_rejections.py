"""Identical rejections at the start of a run."""

from __future__ import annotations

import pytest

from assay.core.errors import BackendError
from assay.core.response import Completion, Failure, Finish, Output, Response
from assay.engine.uniform_rejections import AT_MOST, check_uniform_rejections


def refused(number: int, status: int = 400) -> Response:
    message = f"HTTP status {status}: max_tokens is too large for input {number}"
    return Response(str(number), str(number), Failure("refused", message))


def answered(number: int) -> Response:
    return Response(str(number), str(number), Completion((Output("4", Finish.END, 1),), 7))


def passed(responses: list[Response], *, was_answered: bool = False) -> list[Response]:
    return list(check_uniform_rejections(iter(responses), lambda: was_answered))


def test_a_run_that_is_rejected_from_the_first_ends() -> None:
    given = iter([refused(n) for n in range(1_000)])
    stream = check_uniform_rejections(given, lambda: False)
    with pytest.raises(BackendError, match=rf"MODEL-010.*first {AT_MOST} requests.*max_tokens is too large"):
        next(stream)
    assert next(given).request_id == str(AT_MOST), "no more are asked"


@pytest.mark.parametrize(
    "other",
    [answered(99), refused(99, 422), Response("99", "99", Failure("timeout", "no reply within 1 s"))],
    ids=["answer", "other status", "other trouble"],
)
@pytest.mark.parametrize("place", [0, 1, AT_MOST - 1])
def test_anything_else_among_the_first_lets_all_pass_in_order(other: Response, place: int) -> None:
    responses = [refused(n) for n in range(1_000)]
    responses.insert(place, other)
    assert passed(responses) == responses


def test_few_refusals_pass() -> None:
    few = [refused(n) for n in range(AT_MOST - 1)]
    assert passed(few) == few
    assert passed([]) == []


def test_refusals_beside_kept_answers_pass() -> None:
    many = [refused(n) for n in range(100)]
    assert passed(many, was_answered=True) == many
