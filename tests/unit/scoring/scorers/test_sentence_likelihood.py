from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import PlanError
from assay.core.origin import Origin
from assay.core.request import Span, make_request
from assay.core.response import Failure, Likelihood, Outcome, Response
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest, ComponentSpec, Scorer
from assay.scoring.scorers.registry import make_scorer

Tokens = Sequence[tuple[int, float]]
"""Ids and log-probabilities of a sentence."""

PROMPT: Tokens = ((5, -3.0), (6, -2.0))


def sample(*worths: float, **fields: Any) -> Sample:
    scores = {f"option {at}": worth for at, worth in enumerate(worths)}
    return Sample(
        "s1",
        {"target_scores": scores, **fields},
        Origin("data.jsonl"),
        choices=tuple(scores),
        labels=tuple("ABCDEFGH"[: len(worths)]),
        gold=tuple(at for at, worth in enumerate(worths) if worth > 0),
    )


def sentence(tokens: Tokens, *, has_ids: bool = True, has_tokens: bool = True) -> Likelihood:
    return Likelihood(
        math.fsum(value for _, value in tokens),
        len(tokens),
        1,
        1,
        False,
        1,
        tuple(id for id, _ in tokens) if has_ids and has_tokens else (),
        tuple(value for _, value in tokens) if has_tokens else (),
    )


def answers(*outcomes: Outcome) -> list[AnsweredRequest]:
    requests = [
        make_request("task", "s1", "ppl", "option", at, Span("prompt", 0)) for at in range(len(outcomes))
    ]
    return [
        AnsweredRequest(one, Response(one.id, one.key, outcome))
        for one, outcome in zip(requests, outcomes, strict=True)
    ]


def scorer(
    type_: str = "log_prob",
    *,
    normalised: bool = False,
    faithful: bool = False,
    metrics: Mapping[str, Any] | None = None,
) -> Scorer:
    named = metrics or {"accuracy": {"type": type_}}
    args = {"metrics": named, "normalised": normalised, "faithful": faithful}
    made = make_scorer(ComponentSpec("sentence_likelihood", args))
    assert isinstance(made, Scorer)
    return made


def score(one: Sample, *sentences: Tokens, **settings: Any) -> Score:
    return scorer(**settings).score(one, answers(*map(sentence, sentences)))


# B has the larger sum, A the larger mean behind the prompt.
LONG: Tokens = (*PROMPT, (1, -0.5), (2, -0.5), (3, -0.5))
SHORT: Tokens = (*PROMPT, (4, -1.0))


@pytest.mark.parametrize("faithful", [False, True])
def test_plain_and_normalised(faithful: bool) -> None:
    plain = score(sample(1, 0), LONG, SHORT, faithful=faithful)
    assert (plain.answer, plain.target, plain.value, plain.verdict) == ("B", "A", 0.0, Verdict.SCORED)
    assert plain.rule == "sentence_sum"
    assert plain.margin == pytest.approx(0.5)
    normalised = score(sample(1, 0), LONG, SHORT, normalised=True, faithful=faithful)
    assert (normalised.answer, normalised.value, normalised.rule) == ("A", 1.0, "sentence_per_token")
    assert normalised.margin == pytest.approx(0.5)
    for one in (plain, normalised):
        assert one.also == {"accuracy_sum": 0.0, "accuracy_per_token": 1.0}
        # What a person compares comes after what all options share.
        assert [(option.sum_logprob, option.n_tokens) for option in one.options] == [(-1.5, 3), (-1.0, 1)]


def test_any_number_may_be_given_for_an_option_and_several_may_be_right() -> None:
    assert score(sample(0, 2.5), LONG, SHORT).value == 2.5
    assert score(sample(1, 1), LONG, SHORT).value == 1.0
    assert score(sample(0, 0), LONG, SHORT).verdict is Verdict.UNGRADED
    assert score(sample(0, 0), LONG, SHORT, faithful=True).value == 0.0


def test_the_first_metric_decides_and_others_stand_beside_it() -> None:
    metrics = {"mc2": {"type": "LOG_PROB_MC2"}, "acc": {"type": "log_prob"}}
    found = score(sample(1, 0), LONG, SHORT, metrics=metrics)
    assert found.metric == "mc2"
    assert found.value == pytest.approx(math.exp(-0.5) / (1 + math.exp(-0.5)))
    assert found.also == {"acc": 0.0, "accuracy_sum": 0.0, "accuracy_per_token": 1.0}


def test_an_option_that_begins_another_is_guarded_and_fails_when_faithful() -> None:
    shorter: Tokens = (*PROMPT, (1, -0.5))
    found = score(sample(1, 0), shorter, LONG, normalised=True)
    # One shared token counts for both: 0.5 of one token against 1.5 of three.
    assert [(option.sum_logprob, option.n_tokens) for option in found.options] == [(-0.5, 1), (-1.5, 3)]
    assert (found.verdict, found.answer) == (Verdict.SCORED, "A")
    asked = score(sample(1, 0), shorter, LONG, normalised=True, faithful=True)
    assert asked.verdict is Verdict.FAILED
    assert "mean over nothing" in (asked.why or "")


def test_the_shared_beginning_goes_by_ids_and_faithful_by_values() -> None:
    # The first own tokens differ and happen to be equally likely.
    one: Tokens = (*PROMPT, (1, -1.0), (2, -4.0))
    other: Tokens = (*PROMPT, (3, -1.0), (4, -6.0), (5, -0.0))
    by_ids = score(sample(1, 0), one, other, normalised=True)
    assert by_ids.answer == "B"  # 5/2 against 7/3
    by_values = score(sample(1, 0), one, other, normalised=True, faithful=True)
    assert by_values.answer == "B"  # 4/1 against 6/2
    assert by_values.margin == pytest.approx(1.0)
    assert by_ids.margin == pytest.approx(5 / 2 - 7 / 3)


def test_without_ids_values_tell_the_shared_beginning_and_the_rule_says_so() -> None:
    outcomes = [sentence(LONG, has_ids=False), sentence(SHORT, has_ids=False)]
    found = scorer(normalised=True).score(sample(1, 0), answers(*outcomes))
    assert (found.answer, found.rule) == ("A", "sentence_per_token_after_equal_values")


def test_without_tokens_sums_rank_and_means_fail() -> None:
    outcomes = [sentence(LONG, has_tokens=False), sentence(SHORT, has_tokens=False)]
    plain = scorer().score(sample(0, 1), answers(*outcomes))
    assert (plain.answer, plain.value, plain.rule) == ("B", 1.0, "sentence_sum_whole")
    assert plain.also == {"accuracy_sum": 1.0}
    means = scorer(normalised=True).score(sample(0, 1), answers(*outcomes))
    assert means.verdict is Verdict.FAILED


def test_ties_go_to_the_first_and_when_faithful_by_a_hash() -> None:
    losses = [-0.25, -1.0, -0.25, -0.25]
    sentences = [((at, value),) for at, value in enumerate(losses)]
    assert score(sample(1, 0, 0, 0), *sentences).answer == "A"
    digest = hashlib.sha256(struct.pack("=4d", *(-value for value in losses))).hexdigest()
    chosen = "ACD"[int(digest, 16) % 3]
    assert score(sample(1, 0, 0, 0), *sentences, faithful=True).answer == chosen


VALUES = st.lists(st.floats(-30, -0.01), min_size=2, max_size=6)


@given(VALUES, st.data())
def test_mc2_is_the_share_of_right_options_in_any_order(values: list[float], data: st.DataObject) -> None:
    worths = data.draw(st.lists(st.sampled_from([0, 1]), min_size=len(values), max_size=len(values)))
    sentences = [(*PROMPT, (at, value)) for at, value in enumerate(values)]
    found = score(sample(*worths), *sentences, type_="log_prob_mc2")
    if not any(worths):
        assert found.verdict is Verdict.UNGRADED
        return
    likelihoods = [math.exp(value) for value in values]
    right = sum(one for one, worth in zip(likelihoods, worths, strict=True) if worth)
    assert found.value == pytest.approx(right / sum(likelihoods))
    asked = score(sample(*worths), *sentences, type_="log_prob_mc2", faithful=True)
    if 0 in worths:
        first = sum(likelihoods[: worths.index(0)])
        assert asked.value == pytest.approx(first / sum(likelihoods))
    else:
        assert asked.verdict is Verdict.FAILED


def test_long_sentences_underflow_only_when_faithful() -> None:
    prompt: Tokens = ((5, -2000.0),)
    sentences: list[Tokens] = [(*prompt, (1, -1.0)), (*prompt, (2, -1.0))]
    assert score(sample(1, 0), *sentences, type_="log_prob_mc2").value == pytest.approx(0.5)
    asked = score(sample(1, 0), *sentences, type_="log_prob_mc2", faithful=True)
    assert (asked.verdict, asked.value) == (Verdict.FAILED, None)
    assert "0/0" in (asked.why or "")


@given(VALUES, st.floats(-500, -0.01))
def test_the_prompt_changes_nothing(values: list[float], prompt: float) -> None:
    worths = [1] + [0] * (len(values) - 1)
    bare = [((at, value),) for at, value in enumerate(values)]
    led = [((99, prompt), *one) for one in bare]
    for normalised in (False, True):
        for type_ in ("log_prob", "log_prob_mc2"):
            without = score(sample(*worths), *bare, type_=type_, normalised=normalised)
            assert score(sample(*worths), *led, type_=type_, normalised=normalised) == without


def test_no_number_fails_and_when_faithful_is_the_worst() -> None:
    broken: Tokens = ((1, math.nan),)
    fine: Tokens = ((2, -9.0),)
    assert score(sample(1, 0), broken, fine).verdict is Verdict.FAILED
    assert score(sample(1, 0), broken, fine, faithful=True).answer == "B"
    assert score(sample(1, 0), broken, broken, faithful=True).verdict is Verdict.FAILED
    shared = score(sample(1, 0), broken, fine, type_="log_prob_mc2", faithful=True)
    assert (shared.verdict, shared.value) == (Verdict.FAILED, None)
    assert score(sample(1, 0), ((1, -math.inf),), ((2, -math.inf),)).verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"target_scores": None}, "no target_scores"),
        ({"target_scores": {"x": 1}}, "expected a number for each of 2 options"),
        ({"target_scores": {"x": 1, "y": "one"}}, "expected numbers"),
    ],
)
def test_a_row_that_cannot_be_ranked_fails_with_the_reason(fields: dict[str, Any], why: str) -> None:
    found = score(sample(1, 0, **fields), LONG, SHORT)
    assert found.verdict is Verdict.FAILED
    assert why in (found.why or "")


def test_failed_and_missing_responses() -> None:
    found = scorer().score(sample(1, 0), answers(sentence(LONG), Failure("too_long", "1200 tokens")))
    assert (found.verdict, found.why) == (Verdict.FAILED, "too_long: 1200 tokens")
    found = scorer().score(sample(1, 0), answers(sentence(LONG)))
    assert found.why == "no response for option 'B'"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"metrics": {"a": {"type": "log_probs"}}}, "did you mean 'log_prob'?"),
        ({"metrics": {"a": {"type": "log_prob", "order": 1}}}, "no option 'order'"),
        ({"normalized": True}, "did you mean 'normalised'?"),
    ],
)
def test_unknown_names_are_plan_errors(args: dict[str, Any], says: str) -> None:
    with pytest.raises(PlanError) as caught:
        make_scorer(ComponentSpec("sentence_likelihood", args))
    assert says in caught.value.problems[0].what
