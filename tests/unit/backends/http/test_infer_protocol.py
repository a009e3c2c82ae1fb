"""The server request for an ask, and the meaning of its replies."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.backends.http.infer_protocol import (
    PROBE,
    SCORING,
    InferPart,
    read_infer_replies,
    split_infer_request,
)
from assay.core.prompt import Message
from assay.core.request import Ask, Generate, Labels, Request, Sampling, Span, Windows, make_request
from assay.core.response import Failure, Finish, Likelihood, Output
from fakes.infer_server import PIECE, logprobs


def make_ask(ask: Ask, index: int = 0) -> Request:
    return make_request("t", "1", "any", "answer", index, ask)


def parts(ask: Ask, index: int = 0) -> list[InferPart]:
    found = split_infer_request(make_ask(ask, index))
    assert not isinstance(found, Failure)
    return found


def scored(ask: Span, *replies: Any) -> Likelihood | Failure:
    (part,) = parts(ask)
    outcome = read_infer_replies(part, replies)
    assert not isinstance(outcome, Output)
    return outcome


def written(reply: Any, **sampling: Any) -> Output:
    (part,) = parts(Generate("p", Sampling(**sampling)))
    outcome = read_infer_replies(part, [reply])
    assert isinstance(outcome, Output)
    return outcome


def test_every_key_is_sent_each_time_since_servers_keep_what_is_left_out() -> None:
    (greedy,) = parts(Generate("p", Sampling(max_tokens=7, top_p=0.5, seed=3)))
    (drawn,) = parts(Generate("p", Sampling(max_tokens=7, temperature=0.5, top_p=0.8, stop=("\n",), seed=3)))
    assert (greedy.params.top_p, greedy.params.seed, greedy.params.stop) == (1.0, None, None)
    assert (drawn.params.top_p, drawn.params.seed, drawn.params.stop) == (0.8, 3, ("\n",))
    assert greedy.params.prompt_logprobs is drawn.params.prompt_logprobs is None
    assert (SCORING.prompt_logprobs, SCORING.stop, SCORING.max_tokens) == (0, None, 1)


def test_repeats_have_seeds_of_their_own() -> None:
    sampling = Sampling(temperature=1.0, seed=3, n=4)
    seeds = [part.params.seed for index in range(3) for part in parts(Generate("p", sampling), index)]
    assert seeds[0] == 3
    assert len(set(seeds)) == len(seeds) == 12
    other = [part.params.seed for part in parts(Generate("another", sampling))]
    assert other == seeds[:4], "requests of one index share a call"
    assert [part.params.seed for part in parts(Generate("p", Sampling(temperature=1.0, n=2)))] == [None] * 2
    assert len(parts(Generate("p", Sampling(seed=3, n=4)))) == 1, "greedy repeats are equal"


def test_a_bare_text_is_the_sum_of_all_that_the_server_scores() -> None:
    outcome = scored(Span(" two words ", 0, scores_first_token=False), [-1.5, -0.25])
    expected = Likelihood(-1.75, 2, 9, 9, None, 1, token_logprobs=(-1.5, -0.25))
    assert outcome == expected


def test_greedy_is_said_only_where_it_is_certain() -> None:
    def is_greedy(*numbers: float) -> bool | None:
        outcome = scored(Span("text", 0, scores_first_token=False), list(numbers))
        assert isinstance(outcome, Likelihood)
        return outcome.is_greedy

    assert is_greedy(-0.1, -0.69) is True
    assert is_greedy(-0.1, math.log(0.5)) is None, "two tokens may have half each"


CONTEXT = [-1.0, -2.0, -3.0]


@pytest.mark.parametrize(
    ("context", "whole", "scored_part", "straddles"),
    [
        (CONTEXT, [*CONTEXT, -4.0, -5.0], [-4.0, -5.0], False),
        (CONTEXT, [-1.0, -2.0, -7.0, -4.0], [-7.0, -4.0], True),
        (CONTEXT, [-1.0, -7.0], [-7.0], True),
        # A text has at least one token of its own, however alike the numbers are.
        (CONTEXT, CONTEXT, [-3.0], True),
        # A context of one token is all unscored.
        ([], [-4.0], [-4.0], False),
        # Off by the last digits of half precision, and once by more, far from the join.
        (CONTEXT, [-1.6, -2.03, -3.05, -4.0], [-4.0], False),
    ],
)
def test_what_follows_a_context_is_scored_from_where_both_agree(
    context: list[float], whole: list[float], scored_part: list[float], straddles: bool
) -> None:
    outcome = scored(Span("context text", 7), context, whole)
    assert isinstance(outcome, Likelihood)
    assert list(outcome.token_logprobs) == scored_part
    assert outcome.sum_logprob == math.fsum(scored_part)
    assert outcome.n_prompt_tokens == 1 + len(whole) - len(scored_part)
    assert outcome.straddles is straddles
    assert (outcome.n_chars, outcome.token_ids) == (4, ())


@given(st.text("ab \n", min_size=1, max_size=40), st.text("ab \n", min_size=1, max_size=12), st.booleans())
def test_the_scored_tokens_are_those_that_end_after_the_join(before: str, after: str, has_bos: bool) -> None:
    """Against the pieces themselves, which the server knows and the client does not."""
    text = before + after
    ends = [piece.end() for piece in PIECE.finditer(text)]
    first = sum(end <= len(before) for end in ends)
    context, whole = (logprobs(one, has_bos=has_bos) for one in (before, text))
    assume(first > 0 or has_bos)
    at = first if has_bos else first - 1
    # Numbers of different tokens may agree by chance: then nobody can tell.
    assume(at >= len(context) or at >= len(whole) or abs(context[at] - whole[at]) > 0.2)
    outcome = scored(Span(text, len(before)), context, whole)
    if at >= len(whole):
        assert isinstance(outcome, Failure)
        return
    assert isinstance(outcome, Likelihood)
    assert list(outcome.token_logprobs) == whole[at:]
    assert outcome.straddles == (first < len(PIECE.findall(before)))


def test_beginnings_that_do_not_agree_are_no_answer() -> None:
    outcome = scored(Span("context text", 7), [-1.0] * 40, [-2.0] * 41)
    assert isinstance(outcome, Failure)
    assert "16 tokens" in outcome.message


def test_the_first_token_needs_something_before_it() -> None:
    ask = Span("text", 0)
    assert parts(ask)[0].instances == (PROBE, "text")
    refused = scored(ask, [], [-1.0])
    assert isinstance(refused, Failure)
    assert "no special token" in refused.message
    with_bos = scored(ask, [-4.0], [-1.0, -2.0])
    assert isinstance(with_bos, Likelihood)
    assert (with_bos.token_logprobs, with_bos.n_prompt_tokens) == ((-1.0, -2.0), 1)
    # Two special tokens, of which the second has a number that is no part of the text.
    with_two = scored(ask, [-0.5, -4.0], [-0.5, -1.0, -2.0])
    assert isinstance(with_two, Likelihood)
    assert (with_two.token_logprobs, with_two.n_prompt_tokens) == ((-1.0, -2.0), 2)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("a text", "expected a list of log-probabilities"),
        (None, "expected a list of log-probabilities"),
        ([-1.0, None], "None among them"),
        ([-1.0, True], "True among them"),
        ([math.nan], "not a finite number"),
        ([-math.inf], "not a finite number"),
        ([1.5], "at most 0"),
        ([], "no token"),
    ],
)
def test_what_is_no_list_of_logprobs_is_no_answer(reply: Any, message: str) -> None:
    outcome = scored(Span("text", 0, scores_first_token=False), reply)
    assert isinstance(outcome, Failure)
    assert message in outcome.message


def test_why_a_text_ended_is_said_as_far_as_it_is_known() -> None:
    stops = ("\n\n", "Q:")
    assert written("4\nQ: 5\n\nQ:", stop=stops) == Output("4\n", Finish.STOP, 0)
    assert written("4", max_tokens=2, stop=stops) == Output("4", Finish.END, 0)
    assert written("42", max_tokens=2, stop=stops) == Output("42", Finish.LENGTH, 0)
    assert written("é", max_tokens=2) == Output("é", Finish.LENGTH, 0), "its bytes may be two tokens"
    assert written("", max_tokens=2) == Output("", Finish.END, 0)


def test_a_reply_that_is_no_text_is_no_answer() -> None:
    (part,) = parts(Generate("p", Sampling()))
    outcome = read_infer_replies(part, [[-1.0]])
    assert isinstance(outcome, Failure)
    assert "expected a text" in outcome.message


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (Labels("p", ((" A",),)), "labels"),
        (Span("text", 4), "empty"),
        (Span("text", 0, windows=Windows("classic")), "windows"),
        (Generate("p", Sampling(max_tokens=0)), "max_tokens"),
        (Generate((Message("user", "hi"),), Sampling()), "chat"),
    ],
)
def test_what_the_server_cannot_do_is_not_sent(ask: Ask, kind: str) -> None:
    refused = split_infer_request(make_ask(ask))
    assert isinstance(refused, Failure)
    assert refused.kind == kind
