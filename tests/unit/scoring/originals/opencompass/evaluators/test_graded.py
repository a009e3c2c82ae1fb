"""Grades from 1 to 10 for each turn of a conversation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import PlanError
from assay.core.prompt import Message, Prompt
from assay.core.response import Failure
from assay.core.score import Verdict
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow
from assay.scoring.originals.opencompass.evaluators.graded import (
    GradedEvaluator,
    by_procedure,
    by_template,
    make_grade_reading,
)
from fakes.author_lists import scored
from fakes.judges import Reply, ScriptedJudge

ROW = EvaluatedRow(None, {"turns": ["one?", "two?"]})


def render(row: EvaluatedRow, answers: Sequence[str], turn: int) -> Prompt:
    return (Message("user", answers[turn - 1]),)


def graded(predictions: Sequence[object]) -> tuple[GradedEvaluator, dict[str, float]]:
    def script(text: str) -> Reply:
        return Failure("timeout", "slow") if text == "gone" else text

    evaluator = GradedEvaluator(by_template(render))
    evaluator.bind(ScriptedJudge(script))
    return evaluator, evaluator(predictions, [ROW] * len(predictions))


def test_each_turn_is_graded_and_a_row_is_the_mean_of_its_turns() -> None:
    evaluator, values = graded([("[[4]]", "[[8]]"), "[[10]]", ("[[9]]", "gone"), ("[[1]]", "fine")])
    assert values == {"score": 8.0, "turn 1": 7.0, "turn 2": 8.0}
    assert [one.verdict for one in evaluator.last_verdicts] == [
        *[Verdict.SCORED, Verdict.SCORED, Verdict.FAILED, Verdict.UNANSWERED]
    ]


@given(st.lists(st.tuples(st.integers(1, 10), st.integers(1, 10)), min_size=1, max_size=8))
def test_means_by_hand(rows: list[tuple[int, int]]) -> None:
    _, values = graded([tuple(f"[[{grade}]]" for grade in row) for row in rows])
    firsts, seconds = zip(*rows, strict=True)
    n = len(rows)
    assert values == pytest.approx(
        {
            "score": (sum(firsts) + sum(seconds)) / (2 * n),
            "turn 1": sum(firsts) / n,
            "turn 2": sum(seconds) / n,
        }
    )


def test_a_single_turn_has_no_values_of_turns() -> None:
    _, values = graded(["[[3]]", "[[4]]"])
    assert values == {"score": 3.5}
    _, values = graded(["no grade"])
    assert math.isnan(values["score"])


def test_conversations_are_graded_by_assays_own_prompts() -> None:
    evaluator = GradedEvaluator(by_procedure(lambda row: row.fields["turns"], lambda _: [None, "the truth"]))
    judge = ScriptedJudge(lambda text: "[[6]]" if "two?" in text else "[[2]]")
    evaluator.bind(judge)
    values = evaluator([("first answer", "second answer"), ("only one",)], [ROW, ROW])
    assert values == {"score": 4.0, "turn 1": 2.0, "turn 2": 6.0}
    assert "two?" not in judge.users[0]
    assert "the truth" in judge.users[1]
    assert evaluator.last_verdicts[1].why == "the row has 2 questions, the prediction 1 answers"


def test_the_originals_rating_is_the_first_and_of_any_number() -> None:
    for is_faithful, expected in ((True, [3.0, 12.0, None]), (False, [5.0, None, 7.0])):
        evaluator = GradedEvaluator(
            by_template(render, make_grade_reading("mtbench", is_faithful=is_faithful))
        )
        evaluator.bind(ScriptedJudge(lambda text: text))
        evaluator(["Rating: [[3]] Rating: [[5]]", "Rating: [[12]]", "[[7]]"], [ROW] * 3)
        assert [one.value for one in evaluator.last_verdicts] == expected
    with pytest.raises(PlanError, match="JUDGE-005"):
        make_grade_reading("mtbnch")


def test_in_a_run_grades_are_no_shares() -> None:
    evaluator = GradedEvaluator(by_template(render))
    evaluator.bind(ScriptedJudge(lambda text: text))
    evaluation, metrics = scored([evaluator], ["[[7]]", "[[9]]", "hm"], [ROW] * 3)
    assert [one.value for one in evaluation.scores] == [7.0, 9.0, None]
    assert (metrics["score", None].value, metrics["score", None].is_share) == (8.0, False)
    assert metrics["score", None].n_failed == 1
