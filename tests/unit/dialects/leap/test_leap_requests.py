"""Requests can be unpacked, compared and printed as authors of both systems expect."""

from __future__ import annotations

import pytest

from assay.dialects.leap.author_requests import Request, RequestFactory
from assay.dialects.leap.loading import general_detokenize, positional_deprecated

rf = RequestFactory()


def test_a_loglikelihood_is_taken_apart() -> None:
    number, flag = rf.loglikelihood("ctx", " x")
    assert (number.index, flag.index) == (0, 1)
    assert number.args == flag.args == ("ctx", " x")
    assert rf.loglikelihood("ctx", " x")[0] == number
    assert rf.loglikelihood("ctx", " x").index is None
    assert number != flag
    assert number != "x"


@pytest.mark.parametrize("one", [rf.greedy_until("ctx", {"until": []}), rf.loglikelihood_rolling("text")])
def test_what_gives_one_value_is_not_taken_apart(one: Request) -> None:
    with pytest.raises(IndexError, match="one value"):
        one[0]
    with pytest.raises(IndexError):
        list(one)


def test_values_are_counted_as_in_a_list() -> None:
    one = rf.loglikelihood("a", "b")
    assert (one[-1].index, one[-2].index) == (1, 0)
    for beyond in (2, -3):
        with pytest.raises(IndexError):
            one[beyond]


def test_an_unknown_type_is_rejected_when_it_is_called() -> None:
    make = rf.likelihood
    with pytest.raises(NotImplementedError, match="likelihood"):
        make("ctx")


def test_a_request_shows_itself_and_has_no_hash() -> None:
    assert repr(rf.loglikelihood("a", " b")[1]) == "Req_loglikelihood('a', ' b')[1]\n"
    with pytest.raises(TypeError):
        hash(rf.loglikelihood("a", " b"))


def test_texts_of_tokens_are_joined() -> None:
    text = "he said \" no \" ( it is n't ) , right . the dog 's"
    assert general_detokenize(text) == "he said\"no\"(it isn't), right. the dog's"


def test_the_decorator_does_nothing() -> None:
    def function() -> None: ...

    assert positional_deprecated(function) is function
