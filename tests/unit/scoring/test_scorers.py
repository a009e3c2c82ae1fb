from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import PlanError
from assay.core.origin import Origin
from assay.core.prompt import Prompt
from assay.core.request import Ask, Generate, Labels, Sampling, Span, make_request
from assay.core.response import Completion, Failure, Finish, LabelProbs, Likelihood, Outcome, Output, Response
from assay.core.sample import Sample
from assay.core.score import Verdict
from assay.core.task import AnsweredRequest, ComponentSpec, Scorer
from assay.scoring.scorers.generated import GeneratedAnswer, GeneratedOption
from assay.scoring.scorers.grading import token_f1
from assay.scoring.scorers.likelihood import OptionLikelihood, TextLikelihood, WholeTextLikelihood
from assay.scoring.scorers.probability import LabelProbability
from assay.scoring.scorers.registry import SCORERS, explain_output, make_scorer

PROMPT: Prompt = "Question"
ASKS: dict[str, Ask] = {
    "option": Span(PROMPT, 0),
    "text": Span(PROMPT, 0),
    "unconditional": Span(PROMPT, 0),
    "labels": Labels(PROMPT, (("A",), ("B",))),
    "answer": Generate(PROMPT, Sampling()),
}


def sample(**changes: Any) -> Sample:
    given: dict[str, Any] = {
        "id": "s1",
        "fields": {},
        "origin": Origin("data.csv"),
        "choices": ("red", "green", "blue"),
        "labels": ("A", "B", "C"),
        "gold": (1,),
        "group": "colours",
        "cluster": "page 1",
    }
    return Sample(**{**given, **changes})


def free(*targets: str) -> Sample:
    return sample(choices=(), labels=(), gold=(), targets=targets)


def answered(role: str, index: int, outcome: Outcome) -> AnsweredRequest:
    requests = make_request("task", "s1", "track", role, index, ASKS[role])
    return AnsweredRequest(requests, Response(requests.id, requests.key, outcome))


def likelihood(total: float, tokens: int = 1, chars: int = 1, size: int | None = None) -> Likelihood:
    return Likelihood(total, tokens, chars, chars if size is None else size, True, 3)


def options(*outcomes: Outcome, role: str = "option") -> list[AnsweredRequest]:
    return [answered(role, index, outcome) for index, outcome in enumerate(outcomes)]


def reply(text: str, finish: Finish = Finish.END) -> list[AnsweredRequest]:
    return [answered("answer", 0, Completion((Output(text, finish, 5),), 3))]


FAILURE = Failure("too_long", "1200 tokens, room for 1024")

# Each normalisation picks another option: sum A, per_token B, per_char C, per_byte A, pmi B.
MIXED = (
    likelihood(-4.0, tokens=1, chars=1, size=8),
    likelihood(-6.0, tokens=6, chars=2, size=6),
    likelihood(-9.0, tokens=4, chars=9, size=9),
)
MIXED_ALONE = (likelihood(-5.0), likelihood(-9.0), likelihood(-9.5))


@pytest.mark.parametrize(
    ("score_by", "answer", "margin"),
    [
        ("sum", "A", 2.0),
        ("per_token", "B", 1.25),
        ("per_char", "C", 2.0),
        ("per_byte", "A", 0.5),
        ("pmi", "B", 2.0),
    ],
)
def test_option_likelihood_under_each_normalisation(score_by: Any, answer: str, margin: float) -> None:
    answers = options(*MIXED) + options(*MIXED_ALONE, role="unconditional")
    score = OptionLikelihood(score_by=score_by).score(sample(), answers)
    assert (score.answer, score.rule, score.verdict) == (answer, score_by, Verdict.SCORED)
    assert score.value == float(answer == "B")
    assert score.margin == pytest.approx(margin)
    assert score.also == {
        "accuracy_sum": 0.0,
        "accuracy_per_token": 1.0,
        "accuracy_per_char": 0.0,
        "accuracy_per_byte": 0.0,
        "accuracy_pmi": 1.0,
    }
    assert (score.task, score.sample_id, score.track) == ("task", "s1", "ppl")
    assert (score.metric, score.target, score.group, score.cluster) == ("accuracy", "B", "colours", "page 1")
    assert [option.label for option in score.options] == ["A", "B", "C"]
    assert score.options[2].unconditional == -9.5


def test_pmi_is_left_out_without_unconditional_numbers() -> None:
    score = OptionLikelihood().score(sample(), options(*MIXED))
    assert "accuracy_pmi" not in score.also
    assert len(score.also) == 4


def test_responses_may_come_in_any_order_and_ties_go_to_the_first() -> None:
    answers = options(likelihood(-2.0), likelihood(-1.0), likelihood(-1.0))
    forward = OptionLikelihood().score(sample(), answers)
    assert forward == OptionLikelihood().score(sample(), answers[::-1])
    assert (forward.answer, forward.margin) == ("B", 0.0)


def test_an_empty_option_is_no_division_by_zero() -> None:
    answers = options(likelihood(-3.0, chars=4), likelihood(-1.0, chars=0), likelihood(-2.0, chars=4))
    score = OptionLikelihood().score(sample(), answers)
    assert set(score.also) == {"accuracy_sum", "accuracy_per_token"}
    failed = OptionLikelihood(score_by="per_char").score(sample(), answers)
    assert failed.verdict is Verdict.FAILED
    assert "per_char" in str(failed.why)


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (options(likelihood(-1.0), FAILURE, likelihood(-2.0)), "too_long: 1200 tokens, room for 1024"),
        (options(likelihood(-1.0), likelihood(-2.0)), "no response for option 'C'"),
        (options(likelihood(-1.0), likelihood(math.nan), likelihood(-2.0)), "option 'B' is not a number"),
        (options(likelihood(-1.0), LabelProbs((1.0,), 1.0, 1), likelihood(-2.0)), "expected Likelihood"),
        ([], "no response"),
    ],
)
@pytest.mark.parametrize("scorer", [OptionLikelihood(), WholeTextLikelihood()])
def test_a_failed_option_fails_the_sample(
    scorer: Scorer, answers: Sequence[AnsweredRequest], why: str
) -> None:
    score = scorer.score(sample(), answers)
    assert score.verdict is Verdict.FAILED
    assert score.value is None
    assert why in str(score.why)
    assert score.group == "colours"


def test_a_failed_unconditional_request_matters_only_to_pmi() -> None:
    answers = options(*MIXED) + options(likelihood(-1.0), FAILURE, likelihood(-1.0), role="unconditional")
    assert OptionLikelihood().score(sample(), answers).verdict is Verdict.SCORED
    failed = OptionLikelihood(score_by="pmi").score(sample(), answers)
    assert failed.verdict is Verdict.FAILED
    assert failed.why == "too_long: 1200 tokens, room for 1024", "the request's own failure, not its effect"


def test_impossible_options_have_no_margin() -> None:
    score = OptionLikelihood().score(sample(), options(*[likelihood(-math.inf)] * 3))
    assert (score.answer, score.margin) == ("A", None)


def test_whole_text_mean_counts_the_unscored_first_token() -> None:
    # Divided by scored tokens alone B would win (-1.5 against -2.0); with the first token counted A does.
    answers = options(likelihood(-2.0, tokens=1), likelihood(-6.0, tokens=4), likelihood(-30.0, tokens=4))
    score = WholeTextLikelihood().score(sample(gold=(0,)), answers)
    assert (score.answer, score.value) == ("A", 1.0)
    assert score.margin == pytest.approx(6.0 / 5 - 2.0 / 2)
    tied = options(*[likelihood(-1.0)] * 3)
    assert WholeTextLikelihood().score(sample(), tied).answer == "A"


def test_a_normalised_text_is_compared_by_its_difference_per_token() -> None:
    """The difference is larger for A, the difference per token for B; the first token is scored here."""
    own = options(likelihood(-4.0, tokens=4), likelihood(-1.0, tokens=1), likelihood(-9.0, tokens=3))
    alone = options(likelihood(-8.0), likelihood(-3.0), likelihood(-9.0), role="unconditional")
    score = WholeTextLikelihood(normalised=True).score(sample(), own + alone)
    assert (score.answer, score.value, score.rule) == ("B", 1.0, "mean_difference")
    assert score.margin == pytest.approx(2.0 / 1 - 4.0 / 4)


def test_a_normalised_text_needs_its_likelihood_without_the_question() -> None:
    own = options(likelihood(-1.0), likelihood(-1.0), likelihood(-1.0))
    alone = options(likelihood(-1.0), likelihood(-1.0), role="unconditional")
    score = WholeTextLikelihood(normalised=True).score(sample(), own + alone)
    assert (score.verdict, score.why) == (
        Verdict.FAILED,
        "no response for option 'C' without the question",
    )


def test_label_probability() -> None:
    probs = LabelProbs((0.1, 0.3, 0.1), 0.5, 7)
    score = LabelProbability().score(sample(), [answered("labels", 0, probs)])
    assert (score.verdict, score.value, score.answer, score.mass) == (Verdict.SCORED, 1.0, "B", 0.5)
    assert [option.prob for option in score.options] == pytest.approx([0.2, 0.6, 0.2])
    assert score.margin == pytest.approx(0.4)
    assert score.also["prob_gold"] == pytest.approx(0.6)
    assert score.also["brier"] == pytest.approx(0.04 + 0.16 + 0.04)


def test_brier_runs_from_zero_to_two_and_shares_several_right_labels() -> None:
    def brier(probs: tuple[float, ...], gold: tuple[int, ...]) -> float:
        outcome = LabelProbs(probs, sum(probs), 1)
        return LabelProbability().score(sample(gold=gold), [answered("labels", 0, outcome)]).also["brier"]

    assert brier((0.0, 0.5, 0.0), (1,)) == 0.0
    assert brier((0.5, 0.0, 0.0), (1,)) == 2.0
    assert brier((0.2, 0.2, 0.0), (0, 1)) == 0.0


def test_no_mass_on_any_label_is_no_answer() -> None:
    score = LabelProbability().score(sample(), [answered("labels", 0, LabelProbs((0.0, 0.0, 0.0), 0.0, 1))])
    assert (score.verdict, score.value, score.answer, score.mass) == (Verdict.UNANSWERED, None, None, 0.0)
    assert score.also == {"prob_gold": 0.0, "brier": 1.0}


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=3),
    st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=20),
)
def test_a_label_wins_within_bounds_only_if_it_wins_everywhere_within_them(
    bounds: list[tuple[float, float]], places: list[list[float]]
) -> None:
    lows, widths = zip(*bounds, strict=True)
    highs = tuple(low + width for low, width in bounds)
    outcome = LabelProbs(tuple(lows), math.fsum(lows), 1, at_most=highs)
    score = LabelProbability().score(sample(), [answered("labels", 0, outcome)])
    assert score.also == {}, "beliefs need every probability"
    assert score.margin is None
    for option, most in zip(score.options, highs, strict=True):
        assert option.prob is not None
        assert option.prob_at_most is not None
        assert most == 0 or option.prob_at_most >= option.prob - 1e-9
    corners = [[float(at == winner) for at in range(3)] for winner in range(3)]
    winners = set()
    for place in [*corners, *places]:
        values = [low + share * width for low, share, width in zip(lows, place, widths, strict=True)]
        winners.add(values.index(max(values)))
    if score.verdict is Verdict.SCORED:
        assert winners == {sample().labels.index(score.answer or "")}
        assert score.rule == "label_probability"
    else:
        assert score.verdict is Verdict.UNANSWERED
        assert score.answer is None
        assert len(winners) > 1 or not any(lows)
        assert not any(highs) or "undecided" in (score.rule or "")


@pytest.mark.parametrize(
    "outcome", [FAILURE, LabelProbs((0.5, 0.5), 1.0, 1), LabelProbs((math.nan, 0.0, 0.0), 1.0, 1)]
)
def test_label_probability_failures(outcome: Outcome) -> None:
    score = LabelProbability().score(sample(), [answered("labels", 0, outcome)])
    assert score.verdict is Verdict.FAILED
    assert score.why


def test_generated_option() -> None:
    score = GeneratedOption().score(sample(gold=(1, 2)), reply("The answer is C."))
    assert (score.verdict, score.value, score.answer, score.target) == (Verdict.SCORED, 1.0, "C", "B|C")
    assert (score.rule, score.span, score.is_truncated) == ("stated_label", (4, 15), False)
    assert GeneratedOption().score(sample(), reply("A")).value == 0.0


def test_of_several_replies_those_without_an_answer_have_no_vote() -> None:
    texts = ("I cannot say.", "No idea.", "The answer is B.")
    answers = [
        answered("answer", n, Completion((Output(text, Finish.END, 5),), 3)) for n, text in enumerate(texts)
    ]
    score = GeneratedOption().score(sample(), answers)
    assert (score.verdict, score.answer, score.value, score.rule) == (Verdict.SCORED, "B", 1.0, "vote")
    silent = GeneratedOption().score(sample(), answers[:2])
    assert (silent.verdict, silent.answer) == (Verdict.UNANSWERED, None)


def test_of_two_answers_to_one_request_the_first_counts() -> None:
    answers = [*reply("The answer is B."), *reply("The answer is A.")]
    assert GeneratedOption().score(sample(), answers).answer == "B"


def test_generated_option_abstains_and_notes_truncation() -> None:
    score = GeneratedOption().score(sample(), reply("<think>It may be B", Finish.LENGTH))
    assert (score.verdict, score.value, score.answer) == (Verdict.UNANSWERED, None, None)
    assert score.is_truncated


@pytest.mark.parametrize("scorer", [GeneratedOption(), GeneratedAnswer()])
def test_generation_failures(scorer: Scorer) -> None:
    for answers in ([answered("answer", 0, FAILURE)], [answered("answer", 0, Completion((), 1))], []):
        assert scorer.score(sample(targets=("x",)), answers).verdict is Verdict.FAILED


@pytest.mark.parametrize("text", ["", "xyz", "None of them", "b", "D", "  "])
def test_the_original_never_abstains(text: str) -> None:
    question = sample(choices=("1", "2", "3"), gold=(0,))
    faithful = GeneratedOption(faithful=True).score(question, reply(text))
    assert (faithful.answer, faithful.value, faithful.verdict) == ("A", 1.0, Verdict.SCORED)


@pytest.mark.parametrize(
    ("text", "targets", "value"),
    [
        ("She makes 9 * 2 = $18 a day.\n#### 18", ("18",), 1.0),
        ("The answer is 18.00 dollars", ("18",), 1.0),
        ("18 eggs...", ("18", "20"), 1.0),
        ("19", ("18",), 0.0),
        ("Paris", ("Paris",), 1.0),
        ("The answer is paris.", ("Rome", "Paris"), 1.0),
        ("Line one\nline two", ("line one line two",), 1.0),
        ("It is Paris", ("Paris",), 1.0),
        ("It is not Paris", ("Paris",), 0.0),
        ("18", ("18", "eighteen"), 1.0),
    ],
)
def test_generated_answer(text: str, targets: tuple[str, ...], value: float) -> None:
    score = GeneratedAnswer().score(free(*targets), reply(text))
    assert (score.verdict, score.value, score.target) == (Verdict.SCORED, value, targets[0])


def test_generated_answer_beside_exact_match() -> None:
    score = GeneratedAnswer().score(free("Oslo", "the city of Paris"), reply("The city of Paris, France"))
    assert score.value == 1.0
    assert score.also == {"exact": 0.0, "f1": pytest.approx(2 * 3 / 7), "contains": 1.0}
    missing = GeneratedAnswer().score(free("Paris"), reply(""))
    assert missing.verdict is Verdict.UNANSWERED
    assert missing.also == {"exact": 0.0, "f1": 0.0, "contains": 0.0}


def test_numbers_have_no_words_to_compare_and_may_be_missing() -> None:
    score = GeneratedAnswer().score(free("18"), reply("quite a few"))
    assert (score.verdict, score.also) == (Verdict.UNANSWERED, {})


def test_faithful_answer_is_equal_to_the_letter() -> None:
    for text, value in (("Paris", 1.0), ("Paris ", 0.0), ("paris", 0.0), ("", 0.0)):
        score = GeneratedAnswer(faithful=True).score(free("Paris"), reply(text))
        assert (score.verdict, score.value, score.answer) == (Verdict.SCORED, value, text)


@pytest.mark.parametrize(
    ("answer", "target", "f1"),
    [
        ("the cat", "cat", 1.0),
        ("cat dog", "cat", 2 / 3),
        ("cat cat", "cat", 2 / 3),
        ("x", "y", 0.0),
        ("", "", 1.0),
        ("", "x", 0.0),
    ],
)
def test_token_f1(answer: str, target: str, f1: float) -> None:
    assert token_f1(answer, target) == pytest.approx(f1)
    assert token_f1(target, answer) == pytest.approx(f1)


def test_without_gold_the_answer_is_kept_and_not_graded() -> None:
    ungraded = sample(gold=())
    scores = [
        OptionLikelihood().score(ungraded, options(*MIXED)),
        WholeTextLikelihood().score(ungraded, options(*MIXED)),
        LabelProbability().score(ungraded, [answered("labels", 0, LabelProbs((0.5, 0.2, 0.1), 0.8, 1))]),
        GeneratedOption().score(ungraded, reply("A")),
    ]
    for score in scores:
        assert (score.verdict, score.value, score.target, score.also) == (Verdict.UNGRADED, None, None, {})
    assert [score.answer for score in scores] == ["A", "B", "A", "A"]
    open_question = GeneratedAnswer().score(free(), reply("Paris"))
    assert (open_question.verdict, open_question.answer, open_question.value) == (
        Verdict.UNGRADED,
        "Paris",
        None,
    )


def text(sum_logprob: float, n_tokens: int = 4, n_bytes: int = 20, n_words: int = 3) -> Outcome:
    return Likelihood(sum_logprob, n_tokens, n_bytes, n_bytes, False, 1, n_words=n_words)


def test_a_text_brings_its_part_of_each_ratio() -> None:
    score = TextLikelihood().score(free(), [answered("text", 0, text(-8.0))])
    assert (score.metric, score.verdict) == ("perplexity_token", Verdict.SCORED)
    assert score.value == pytest.approx(math.exp(2))
    parts = {name: (ratio.numerator, ratio.denominator) for name, ratio in score.ratios.items()}
    assert parts == {
        "perplexity_token": (8.0, 4),
        "perplexity_word": (8.0, 3),
        "perplexity_byte": (8.0, 20),
        "bits_per_byte": (8.0 / math.log(2), 20),
    }


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (Failure("windows", "the text has 3 tokens"), "windows: the text has 3 tokens"),
        (text(math.nan), "nan"),
        (text(-4000.0, n_tokens=1), "-4000"),
        (text(0.0, n_tokens=0), "no token"),
    ],
)
def test_a_text_without_a_number_is_failed(outcome: Outcome, why: str) -> None:
    score = TextLikelihood().score(free(), [answered("text", 0, outcome)])
    assert (score.metric, score.verdict, score.value) == ("perplexity_token", Verdict.FAILED, None)
    assert why in (score.why or "")


def test_make_scorer() -> None:
    made = make_scorer(ComponentSpec("option_likelihood", {"track": "prob", "score_by": "per_char"}))
    assert isinstance(made, OptionLikelihood)
    assert (made.track, made.score_by) == ("prob", "per_char")
    by_themselves = [
        name for name in SCORERS if name not in ("author_metrics", "row_metrics", "task_results")
    ]
    assert {name: make_scorer(ComponentSpec(name)).track for name in by_themselves} == {
        "option_likelihood": "ppl",
        "whole_text_likelihood": "ppl",
        "text_likelihood": "ppl",
        "sentence_likelihood": "ppl",
        "label_probability": "prob",
        "generated_option": "gen",
        "generated_answer": "gen",
        "assertions": "gen",
        "inspect_scores": "gen",
    }


@pytest.mark.parametrize(
    ("spec", "code", "says"),
    [
        (ComponentSpec("option_likelyhood"), "SCORE-001", "did you mean 'option_likelihood'?"),
        (ComponentSpec("bleu"), "SCORE-001", "'generated_answer'"),
        (ComponentSpec("generated_option", {"faithfull": True}), "SCORE-002", "did you mean 'faithful'?"),
        (ComponentSpec("option_likelihood", {"score_by": "words"}), "SCORE-002", "'words'"),
        (ComponentSpec("option_likelihood", {"track": "ppl2"}), "SCORE-002", "'ppl2'"),
    ],
)
def test_make_scorer_errors(spec: ComponentSpec, code: str, says: str) -> None:
    with pytest.raises(PlanError) as caught:
        make_scorer(spec)
    (problem,) = caught.value.problems
    assert problem.code == code
    assert says in problem.what


def test_explain_output_tries_the_rules_of_the_sample() -> None:
    tried = explain_output("The answer is B", sample())
    assert [attempt.found for attempt in tried if attempt.rule == "stated_label"] == ["B"]
    assert [attempt.rule for attempt in explain_output("18", free("18"))][-1] == "last_number"
    assert [attempt.rule for attempt in explain_output("x", free("Paris"))][-1] == "first_line"
    assert [attempt.rule for attempt in explain_output("x", free("Paris"), "number")][-1] == "last_number"


@pytest.mark.parametrize(
    ("text", "exact", "some"),
    [("B and C", 1.0, 1.0), ("B", 0.0, 1.0), ("A, B", 0.0, 0.0), ("A", 0.0, 0.0), ("B or C", None, None)],
)
def test_several_right_options_by_set_or_by_any(text: str, exact: float | None, some: float | None) -> None:
    question = sample(gold=(1, 2))
    by_set = GeneratedOption(several_right="exact").score(question, reply(text))
    by_any = GeneratedOption(several_right="any").score(question, reply(text))
    assert (by_set.metric, by_set.value, by_set.target) == ("exact_set", exact, "B|C")
    assert (by_any.metric, by_any.value) == ("any_right", some)
    with pytest.raises(ValueError, match="several_right must be exact or any"):
        GeneratedOption(several_right="all")  # type: ignore[arg-type]


def test_likelihoods_of_several_right_options_say_that_any_counts() -> None:
    scorer = make_scorer(ComponentSpec("option_likelihood", {"several_right": "any"}))
    assert scorer.gives[0] == "any_right"  # type: ignore[union-attr]
    assert make_scorer(ComponentSpec("label_probability", {"several_right": "any"})).gives[0] == "any_right"  # type: ignore[union-attr]
    for name in ("option_likelihood", "label_probability"):
        with pytest.raises(PlanError, match="one option is chosen"):
            make_scorer(ComponentSpec(name, {"several_right": "exact"}))


def test_the_question_that_was_asked_helps_to_read_the_reply() -> None:
    requests = make_request("task", "s1", "gen", "answer", 0, Generate("Who won Super Bowl 50?", Sampling()))
    text = "The Denver Broncos won Super Bowl 50."
    response = Response(requests.id, requests.key, Completion((Output(text, Finish.END, 8),), 5))
    scorer = GeneratedAnswer()
    assert scorer.score(free("Denver Broncos"), [AnsweredRequest(requests, response)]).value == 1.0
    listed = scorer.finish().judged_by
    assert listed == {("task", "gen", name) for name in ("accuracy", "exact", "contains")}
