from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.scoring.metrics import GaokaoBenchMetric


def key(task: str, *answers: str, score: float = 6) -> dict[str, Any]:
    return {"answer": list(answers), "task": task, "score": score}


@pytest.mark.parametrize(
    ("answers", "reference", "share"),
    [
        (["A"], key("single_answer_mcq", "A"), 1.0),
        (["B"], key("single_answer_mcq", "A"), 0.0),
        ([], key("single_answer_mcq", "A"), 0.0),
        (None, key("single_answer_mcq", "A"), 0.0),
        (["A", "C", "D"], key("multi_mcqs", "A", "B", "D"), 2 / 3),
        (["A"], key("multi_mcqs", "A", "B"), 1 / 2),
        (["A", "B", "C"], key("seven_option", "A", "B"), 1.0),
        (["ABD"], key("multi_answers_mcq", "ABD"), 1.0),
        (["DBA"], key("multi_answers_mcq", "ABD"), 1.0),
        (["AB"], key("multi_answers_mcq", "ABD"), 0.5),
        (["ABC"], key("multi_answers_mcq", "ABD"), 0.0),
        ([""], key("multi_answers_mcq", "ABD"), 0.0),  # the original gives half
        (["AAA"], key("multi_answers_mcq", "ABD"), 0.5),  # the original gives all
    ],
)
def test_points_of_one_row(answers: Any, reference: dict[str, Any], share: float) -> None:
    metric = GaokaoBenchMetric()
    assert metric([answers], [[reference]]) == {"Scoring rate": pytest.approx(100 * share)}
    assert metric.last_score_lists == {"Scoring rate": [pytest.approx(share)]}
    assert metric([answers], [reference]) == {"Scoring rate": pytest.approx(100 * share)}


def test_rows_weigh_by_their_points() -> None:
    metric = GaokaoBenchMetric()
    references = [[key("single_answer_mcq", "A", score=2)], [key("multi_mcqs", "B", "C", score=4)]]
    assert metric([("A",), ("B", "D")], references) == {"Scoring rate": pytest.approx(60.0)}
    assert metric.last_score_lists == {"Scoring rate": [1.0, 0.5]}


def test_the_best_of_several_keys_counts() -> None:
    keys = [key("single_answer_mcq", "A"), key("single_answer_mcq", "B")]
    assert GaokaoBenchMetric()([["B"]], [keys]) == {"Scoring rate": 100.0}


@pytest.mark.parametrize(
    "reference",
    ["A", [], [{"answer": ["A"]}], key("essay", "A"), key("multi_mcqs"), key("multi_mcqs", "A", score=0)],
)
def test_a_reference_without_points_is_an_error(reference: Any) -> None:
    with pytest.raises(AuthorError, match="METRIC-002 GaokaoBenchMetric, row 1"):
        GaokaoBenchMetric()([["A"]], [reference])
