"""Asks whose answers must be the same from a model here and behind a server, and how answers are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from assay.core.ports import Backend
from assay.core.prompt import Message, Prompt
from assay.core.request import Ask, Labels, Span, make_request
from assay.core.response import LabelProbs, Likelihood, Outcome

QUESTION = "Question: which of these is a fruit?\nA. apple\nB. stone\nAnswer:"
TEXTS = ["A", "B", "apple", "a stone wall", "日本語のテキスト", "🙂 café", "two\n\nlines "]
SPANS = [
    *(Span(f"{QUESTION} {text}", len(QUESTION)) for text in TEXTS),
    *(Span(f"日本語 🙂{text}", len("日本語 🙂")) for text in TEXTS),
    Span("hello world", 9),
    Span("hello worldly things", 9),
    Span("日本語のテキスト 🙂 café", 3),
    Span("The capital of France", 3, scores_first_token=False),
]
CHAT = (Message("user", "Which is a fruit?"), Message("assistant", "Answer: an apple, 日本 🙂"))
CHATS = [Span(CHAT, 0), Span(CHAT, 7), Span(CHAT, 11), Span(CHAT, 17), Span(CHAT, 21)]
LETTERS = ((" A", "A"), (" B", "B"))
LABELS = [
    Labels(QUESTION, LETTERS),
    Labels(QUESTION + "  ", LETTERS),
    Labels("hello world, the answer is", ((" yes", "yes"), (" no", "no"))),
    Labels("hello world, the answer is", ((" yes", " yes, but"), (" no", "não", " 日本"))),
]


def outcomes(backend: Backend, asks: Sequence[Ask]) -> list[Outcome]:
    requests = [make_request("t", str(n), "any", "answer", 0, ask) for n, ask in enumerate(asks)]
    found = {one.request_id: one.outcome for one in backend.run(requests)}
    return [found[one.id] for one in requests]


def likelihoods(found: Sequence[Outcome]) -> list[Likelihood]:
    assert all(isinstance(one, Likelihood) for one in found), found
    return [one for one in found if isinstance(one, Likelihood)]


def same(one: Likelihood, other: Likelihood, *, has_ids: bool = True) -> None:
    assert one.token_logprobs == pytest.approx(other.token_logprobs, abs=1e-4)
    assert one.sum_logprob == pytest.approx(other.sum_logprob, abs=1e-4)
    assert one.token_ids == (other.token_ids if has_ids else ())
    counts = (one.n_tokens, one.n_chars, one.n_bytes, one.n_prompt_tokens, one.straddles)
    assert counts == (other.n_tokens, other.n_chars, other.n_bytes, other.n_prompt_tokens, other.straddles)
    assert one.is_greedy in (other.is_greedy, None)
    if one.token_starts:
        same_places(one.token_starts, other.token_starts)


def same_places(reported: Sequence[int], exact: Sequence[int]) -> None:
    """A server tells the text of a character's parts with the last of them: they share a place, no other."""
    assert len(reported) == len(exact)
    for at, (one, other) in enumerate(zip(reported, exact, strict=True)):
        shares = at > 0 and one == reported[at - 1]
        following = next((later for later in reported[at:] if later > one), math.inf)
        assert one == other or (shares and one < other < following), (reported, exact)


def close(one: Outcome, other: Outcome) -> None:
    assert isinstance(one, LabelProbs), one
    assert isinstance(other, LabelProbs)
    assert one.at_most == ()
    assert one.probs == pytest.approx(other.probs, abs=1e-4)
    assert one.mass == pytest.approx(other.mass, abs=1e-4)
    assert one.n_prompt_tokens == other.n_prompt_tokens


def in_chat(asks: Sequence[Labels]) -> list[Labels]:
    """The same after conversations: with a begun reply, and with none."""
    made: list[Labels] = []
    for ask in asks:
        assert isinstance(ask.prompt, str)
        begun: Prompt = (Message("user", "Which?"), Message("assistant", ask.prompt))
        made += [Labels(begun, ask.labels), Labels((Message("user", ask.prompt),), ask.labels)]
    return made
