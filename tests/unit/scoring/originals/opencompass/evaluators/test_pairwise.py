"""Pairwise comparison with a rival: orders, values of choices, and agreement between orders."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import PlanError
from assay.core.prompt import Message, Prompt
from assay.core.response import Failure
from assay.core.score import Verdict
from assay.scoring.judges.judgement import Unaskable
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow
from assay.scoring.originals.opencompass.evaluators.pairwise import (
    COMPARISONS,
    PairwiseEvaluator,
    make_comparison,
)
from fakes.author_lists import scored
from fakes.judges import Reply, ScriptedJudge

ROW = EvaluatedRow(None, {"rival": "rival"}, "question")


def render(row: EvaluatedRow, first: str, second: str) -> Prompt:
    return (Message("user", f"{first}|{second}"),)


def rival(row: EvaluatedRow) -> str:
    if "rival" not in row.fields:
        raise Unaskable("the row has no rival")
    return str(row.fields["rival"])


def favourite(text: str) -> Reply:
    """Choose as the model's own answer says: itself, the rival, a place, neither, or nothing."""
    first, second = text.split("|")
    own = first if second == "rival" else second
    is_first = first == own
    if own.startswith("first"):
        return "[[A]]"
    if own.startswith("tie"):
        return "[[C]]"
    if own.startswith("gone"):
        return Failure("timeout", "slow") if is_first else "[[A]]"
    wins = own.startswith("good")
    return "[[A]]" if wins == is_first else "[[B]]"


def compared(
    predictions: Sequence[Any], **options: Any
) -> tuple[PairwiseEvaluator, dict[str, float], ScriptedJudge]:
    evaluator = PairwiseEvaluator(render, rival, **options)
    judge = ScriptedJudge(favourite)
    evaluator.bind(judge)
    return evaluator, evaluator(predictions, [ROW] * len(predictions)), judge


def test_both_orders_are_asked_and_their_agreement_is_reported() -> None:
    evaluator, values, judge = compared(["good", "bad", "first", "tie", "gone"])
    assert judge.n_calls == 1
    assert judge.users[:2] == ["good|rival", "rival|good"]
    assert evaluator.last_score_lists["win_rate"][:4] == [1, 0, 0.5, 0.5]
    assert evaluator.last_score_lists["agreement"][:4] == [1, 1, 0, 1]
    assert evaluator.last_score_lists["position_bias"][:4] == [0, 0, 1, 0]
    assert math.isnan(evaluator.last_score_lists["agreement"][4])
    assert values == {"win_rate": 50.0, "agreement": 75.0, "position_bias": 25.0}


@pytest.mark.parametrize(("order", "asked"), [("model_first", "first|rival"), ("rival_first", "rival|first")])
def test_one_order_has_no_agreement(order: Any, asked: str) -> None:
    _, values, judge = compared(["first"], order=order)
    assert judge.users == [asked]
    assert values == {"win_rate": 100.0 if order == "model_first" else 0.0}


@given(st.lists(st.integers(0, 99), min_size=2, max_size=12, unique=True), st.integers(0, 5))
def test_a_drawn_order_depends_on_the_row_alone(numbers: list[int], seed: int) -> None:
    answers = [f"good {number}" for number in numbers]
    _, values, judge = compared(answers, order="random", seed=seed)
    # A judge that looks at the answers alone gives the same in any order.
    assert values == {"win_rate": 100.0}
    _, _, without_first = compared(answers[1:], order="random", seed=seed)
    assert judge.users[1:] == without_first.users


def test_a_drawn_order_goes_both_ways() -> None:
    _, _, judge = compared([f"good {number}" for number in range(200)], order="random")
    assert 60 < sum(user.startswith("rival") for user in judge.users) < 140


def test_faithful_draws_as_the_original_does() -> None:
    answers = [f"good {number}" for number in range(20)]
    _, _, judge = compared(answers, order="random", is_faithful=True)
    shared = random.Random(666)
    expected = []
    for answer in answers:
        pair = ["rival", answer]
        shared.shuffle(pair)
        expected.append("|".join(pair))
    assert judge.users == expected


@pytest.mark.parametrize(
    ("name", "reply", "faithful", "corrected"),
    [
        ("brackets", "[[A]] or rather [[B]]", 1.0, 0.0),
        ("compassarena", "选择：A", 1.0, 1.0),
        ("compassarena", "Choice: B ... no, Choice: C", 0.0, 0.0),
        ("compassarena", "**Choice**: A", None, 1.0),
        ("arenahard", "My verdict is [[A>>B]]", 1.0, 1.0),
        ("arenahard", "[[A=B]]", 0.5, 0.5),
        ("alpacaeval", "m", 1.0, 1.0),
        ("alpacaeval", "M", 0.0, 0.0),
        ("alpacaeval", "maybe the first", 1.0, None),
    ],
)
def test_comparisons_by_name(name: str, reply: str, faithful: float | None, corrected: float | None) -> None:
    for is_faithful, expected in ((True, faithful), (False, corrected)):
        comparison = make_comparison(name, is_faithful=is_faithful)
        evaluator = PairwiseEvaluator(render, rival, comparison, order="model_first")
        evaluator.bind(ScriptedJudge(lambda _: reply))
        evaluator(["own"], [ROW])
        assert [one.value for one in evaluator.last_verdicts] == [expected]


def test_a_tie_is_worth_what_the_config_says_to_both_sides() -> None:
    for arguments, worth in (({}, 0.0), ({"summary_type": "half_add", "check_pos_bias": False}, 50.0)):
        evaluator = PairwiseEvaluator(render, rival, make_comparison("compassarena_postprocess", arguments))
        evaluator.bind(ScriptedJudge(lambda _: "Choice: C"))
        assert evaluator(["own"], [ROW]) == {"win_rate": worth, "agreement": 100.0, "position_bias": 0.0}


def test_a_wrong_name_or_argument_is_an_error() -> None:
    with pytest.raises(PlanError, match="did you mean 'arenahard'"):
        make_comparison("arenahrd")
    with pytest.raises(PlanError, match="check_pos_bias = 'yes'"):
        make_comparison("compassarena", {"check_pos_bias": "yes"})
    assert all(make_comparison(name).differences for name in COMPARISONS)


def test_in_a_run_a_row_that_lacks_one_order_or_a_rival_fails() -> None:
    evaluator = PairwiseEvaluator(render, rival)
    evaluator.bind(ScriptedJudge(favourite))
    rows = [ROW, ROW, EvaluatedRow(None, {})]
    evaluation, metrics = scored([evaluator], ["good", "gone", "good"], rows)
    assert [one.verdict for one in evaluation.scores] == [Verdict.SCORED, Verdict.FAILED, Verdict.FAILED]
    assert evaluation.scores[1].why == "no verdict from the judge: model first: timeout: slow"
    assert evaluation.scores[2].why == "no verdict from the judge: the row has no rival"
    assert evaluation.scores[0].also == {"agreement": 1.0, "position_bias": 0.0}
    assert metrics["win_rate", None].value == 1.0
