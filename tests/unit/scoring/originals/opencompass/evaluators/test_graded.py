"""Grades from 1 to 10 by a judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from assay.core.errors import PlanError
from assay.core.prompt import Message
from assay.core.response import Failure
from assay.core.score import Verdict
from assay.scoring.judges.judgement import Question, Unaskable
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow
from assay.scoring.originals.opencompass.evaluators.graded import (
    BuildQuestions,
    GradedEvaluator,
    GradeReading,
    make_grade_reading,
)
from fakes.author_lists import scored
from fakes.judges import Reply, ScriptedJudge

ROW = EvaluatedRow(None, {})


def grading(read: GradeReading | None = None) -> BuildQuestions:
    """Return the questions of a run: one for each row."""
    reading = read or make_grade_reading("mtbench")

    def questions(_: EvaluatedRow, prediction: Any) -> list[Question]:
        if not isinstance(prediction, str):
            raise Unaskable("the prediction is no text")
        prompt = (Message("user", prediction),)
        return [Question("answer", prompt, reading.rules, float, reading.is_raw)]

    return questions


def graded(predictions: Sequence[object]) -> tuple[GradedEvaluator, dict[str, float]]:
    def script(text: str) -> Reply:
        return Failure("timeout", "slow") if text == "gone" else text

    evaluator = GradedEvaluator(grading())
    evaluator.bind(ScriptedJudge(script))
    return evaluator, evaluator(predictions, [ROW] * len(predictions))


def test_the_score_is_the_mean_of_the_grades() -> None:
    evaluator, values = graded(["[[4]]", "[[10]]", "gone", "fine", None])
    assert values == {"score": 7.0}
    assert [one.verdict for one in evaluator.last_verdicts] == [
        *[Verdict.SCORED, Verdict.SCORED, Verdict.FAILED, Verdict.UNANSWERED, Verdict.FAILED]
    ]
    assert evaluator.last_verdicts[4].why == "the prediction is no text"


def test_without_a_grade_there_is_no_score() -> None:
    _, values = graded(["no grade"])
    assert math.isnan(values["score"])


def test_the_originals_rating_is_the_first_and_of_any_number() -> None:
    for is_faithful, expected in ((True, [3.0, 12.0, None]), (False, [5.0, None, 7.0])):
        evaluator = GradedEvaluator(grading(make_grade_reading("mtbench", is_faithful=is_faithful)))
        evaluator.bind(ScriptedJudge(lambda text: text))
        evaluator(["Rating: [[3]] Rating: [[5]]", "Rating: [[12]]", "[[7]]"], [ROW] * 3)
        assert [one.value for one in evaluator.last_verdicts] == expected
    with pytest.raises(PlanError, match="JUDGE-005"):
        make_grade_reading("mtbnch")


def test_in_a_run_grades_are_no_shares() -> None:
    evaluator = GradedEvaluator(grading())
    evaluator.bind(ScriptedJudge(lambda text: text))
    evaluation, metrics = scored([evaluator], ["[[7]]", "[[9]]", "hm"], [ROW] * 3)
    assert [one.value for one in evaluation.scores] == [7.0, 9.0, None]
    assert (metrics["score", None].value, metrics["score", None].is_share) == (8.0, False)
    assert metrics["score", None].n_failed == 1
