from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.backends.registry import open_backend
from assay.core.prompt import Message
from assay.core.request import Ask, Generate, Kind, Labels, Request, Sampling, Span, make_request
from assay.core.response import Completion, Failure, Finish, LabelProbs, Likelihood, Outcome


def answer(ask: Ask, **args: str) -> Outcome:
    (response,) = open_backend("mock", args).run([make_request("t", "s", "x", "answer", 0, ask)])
    return response.outcome


def text(ask: Generate, **args: str) -> str:
    outcome = answer(ask, **args)
    assert isinstance(outcome, Completion)
    return outcome.outputs[0].text


def test_replies_a_letter_of_the_last_question() -> None:
    prompt = "One?\nA. a\nB. b\nC. c\nD. d\nAnswer: D\n\nTwo {}?\nA. x\nB. y\nAnswer:"
    replies = {text(Generate(prompt.format(n), Sampling())) for n in range(40)}
    assert replies == {"A", "B"}


def test_replies_a_number_when_there_are_no_options() -> None:
    assert text(Generate("How many?", Sampling())).isdigit()


def test_fixed_answer_is_cut_by_stop_and_by_length() -> None:
    outcome = answer(Generate("x", Sampling(stop=(" is", "\n"))), answer="the answer is B\nmore")
    assert isinstance(outcome, Completion)
    assert (outcome.outputs[0].text, outcome.outputs[0].finish) == ("the answer", Finish.STOP)
    outcome = answer(Generate("x", Sampling(max_tokens=1)), answer="the answer")
    assert isinstance(outcome, Completion)
    assert (outcome.outputs[0].text, outcome.outputs[0].finish) == ("the", Finish.LENGTH)


def test_which_asks_fail_depends_on_the_ask_alone() -> None:
    requests = [
        make_request("t", str(n), "gen", "answer", 0, Generate(f"q{n}", Sampling())) for n in range(300)
    ]
    backend = open_backend("mock", {"fail_every": "7"})

    def failed(order: list[Request]) -> set[str]:
        return {r.request_id for r in backend.run(order) if isinstance(r.outcome, Failure)}

    assert failed(requests) == failed(requests[::-1])
    assert 20 < len(failed(requests)) < 70


def test_pulls_one_and_yields_one() -> None:
    pulled = 0

    def source() -> Iterator[Request]:
        nonlocal pulled
        while True:
            pulled += 1
            yield make_request("t", str(pulled), "gen", "answer", 0, Generate("q", Sampling()))

    stream = open_backend("mock", {}).run(source())
    for expected in (1, 2, 3):
        next(stream)
        assert pulled == expected


def test_span_counts_agree_with_its_tokens() -> None:
    backend = open_backend("mock", {})
    ask = Span("The capital of France is Paris ", 24)
    outcome = answer(ask)
    assert isinstance(outcome, Likelihood)
    scored = [token for token in backend.tokens(ask) if token.is_scored]
    assert outcome.n_tokens == len(scored) == len(outcome.token_logprobs)
    assert outcome.token_ids == tuple(token.id for token in scored)
    assert outcome.sum_logprob == pytest.approx(sum(outcome.token_logprobs))
    assert (outcome.n_chars, outcome.n_bytes) == (5, 5)
    assert "".join(token.text for token in backend.tokens(ask)) == ask.prompt


def test_span_of_nothing_is_a_failure_and_a_bare_text_may_skip_its_first_token() -> None:
    assert isinstance(answer(Span("abc", 3)), Failure)
    whole, bare = answer(Span("abcdefgh", 0)), answer(Span("abcdefgh", 0, scores_first_token=False))
    assert isinstance(whole, Likelihood)
    assert isinstance(bare, Likelihood)
    assert (whole.n_tokens, bare.n_tokens) == (2, 1)


def test_labels_share_a_mass_below_one() -> None:
    outcome = answer(Labels("Q", ((" A", "A"), (" B", "B"))))
    assert isinstance(outcome, LabelProbs)
    assert outcome.mass == pytest.approx(sum(outcome.probs))
    assert 0 < outcome.mass < 1


def test_sampled_repeats_differ_and_greedy_ones_do_not() -> None:
    hot = Generate("How many?", Sampling(temperature=1.0, n=5))
    outcome = answer(hot)
    assert isinstance(outcome, Completion)
    assert len({output.text for output in outcome.outputs}) == 5
    outcome = answer(Generate("How many?", Sampling(n=3)))
    assert isinstance(outcome, Completion)
    assert len({output.text for output in outcome.outputs}) == 1


def test_claims_follow_the_arguments() -> None:
    backend = open_backend("mock:me", {"kinds": "generate", "chat": "true"})
    assert backend.card.kinds == {Kind.GENERATE}
    assert backend.card.is_chat
    assert not backend.card.is_cacheable
    assert backend.identity().name == "mock:me"


def test_messages_count_from_their_last_content() -> None:
    prompt = (Message("user", "Capital?"), Message("assistant", "It is Paris"))
    outcome = answer(Span(prompt, 5))
    assert isinstance(outcome, Likelihood)
    assert outcome.n_chars == 5
