"""Authors' evaluators: their arguments, results and scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from assay.core.errors import AuthorError
from assay.scoring.metrics.list_metric import MetricUnit
from assay.scoring.originals.opencompass.evaluators import AuthorEvaluator, EvaluatedRow
from assay.scoring.originals.opencompass.evaluators.author import RowTable

PERCENT, OWN = MetricUnit(100.0, True), MetricUnit(1.0, False)


def wrapped(score: Callable[..., Any]) -> AuthorEvaluator:
    return AuthorEvaluator(type("MyEvaluator", (), {"score": staticmethod(score)})(), "mine.py")


def rows(golds: Sequence[Any]) -> list[EvaluatedRow]:
    return [EvaluatedRow(gold, {"question": f"q{at}"}, f"p{at}") for at, gold in enumerate(golds)]


def share(predictions: Sequence[Any], references: Sequence[Any]) -> float:
    return sum(map(str.__eq__, predictions, references)) / len(predictions)


def test_details_give_the_rows_and_the_scale() -> None:
    def score(predictions: list[str], references: list[str]) -> dict[str, Any]:
        details = {
            str(at): {"pred": one, "is_correct": one == gold}
            for at, (one, gold) in enumerate(zip(predictions, references, strict=True))
        }
        return {
            "accuracy": 100 * share(predictions, references),
            "loss": 2.5,
            "n_right": 2,
            "details": details,
        }

    metric = wrapped(score)
    assert metric(["A", "B", "C"], rows("ABA")) == {
        "accuracy": pytest.approx(200 / 3),
        "loss": 2.5,
        "n_right": 2,
    }
    assert metric.last_correct == [1.0, 1.0, 0.0]
    assert metric.units == {"accuracy": PERCENT, "loss": OWN, "n_right": OWN}


def test_a_fraction_of_right_rows_keeps_its_scale_and_has_their_values() -> None:
    details = [{"correct": True}, {"correct": False}]
    metric = wrapped(lambda predictions, references: {"acc": np.float32(0.5), "details": details})
    assert metric(["A", "B"], rows("AA")) == {"acc": 0.5}
    assert metric.units == {"acc": OWN}
    assert metric.last_score_lists == {"acc": [1.0, 0.0]}


@pytest.mark.parametrize("n", [1, 3, 100, 200])
@pytest.mark.parametrize("value", [0.0, 0.25, 0.5, 1.0, 37.5, 50.0, 100.0])
def test_without_details_a_value_is_shown_as_returned_whatever_the_number_of_rows(
    value: float, n: int
) -> None:
    metric = wrapped(lambda predictions, references: {"acc": value, "accuracy": value / 2})
    assert metric(["A"] * n, rows("A" * n)) == {"acc": value, "accuracy": value / 2}
    assert metric.units == {"acc": OWN, "accuracy": OWN}
    assert metric.last_correct is None


def test_a_value_of_another_name_keeps_its_own_scale() -> None:
    metric = wrapped(lambda predictions, references: {"rouge": 50.0, "faccade": 50.0})
    metric(["A", "B"], rows("AA"))
    assert metric.units == {"rouge": OWN, "faccade": OWN}


def test_only_what_the_signature_names_is_given() -> None:
    seen: dict[str, Any] = {}

    def score(predictions: Any, test_set: Any, origin_prompt: Any, weight: int = 3) -> dict[str, Any]:
        seen.update(
            predictions=predictions, columns=test_set["question"], prompts=origin_prompt, weight=weight
        )
        return {"x": 1.0}

    wrapped(score)(["A", "B"], rows("AA"))
    assert seen == {"predictions": ["A", "B"], "columns": ["q0", "q1"], "prompts": ["p0", "p1"], "weight": 3}


def test_what_the_inferencer_recorded_is_given_by_its_name() -> None:
    metric = wrapped(lambda ppl, token_len: {"x": sum(ppl) / sum(token_len)})
    assert metric([{"ppl": 3.0, "token_len": 2}, {"ppl": 1.0, "token_len": 2}], rows([None, None])) == {
        "x": 1.0
    }


def test_keywords_take_everything() -> None:
    metric = wrapped(lambda predictions, **kwargs: {"x": float(len(kwargs))})
    assert metric(["A"], rows("A")) == {"x": 4.0}  # references, gold, test_set, origin_prompt


def test_values_that_are_no_numbers_are_left_out_with_a_note() -> None:
    returned = {"accuracy": np.float64(100.0), "is_fine": True, "table": {"a": 1}, "name": "x", "none": None}
    metric = wrapped(lambda predictions, references: returned)
    assert metric(["A"], rows("A")) == {"accuracy": 100.0, "is_fine": 1.0}
    assert "'table', 'name', 'none'" in metric.notes()[0]


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (0.5, "score returned float, expected a dict"),
        (None, "score returned NoneType"),
        ({"error": "different length"}, "score returned an error: different length"),
        ({"accuracy": 1.0, "details": [{}]}, "details has 1 entries for 2 rows"),
        ({"accuracy": 1.0, "details": 7}, "details is int"),
        ({"table": []}, "score returned no number, only 'table'"),
        ({}, "score returned no number, only nothing"),
    ],
)
def test_a_wrong_shape_is_one_clear_error(returned: Any, says: str) -> None:
    with pytest.raises(AuthorError, match=r"SCORE-006 mine\.py: the evaluator MyEvaluator") as caught:
        wrapped(lambda predictions, references: returned)(["A", "B"], rows("AA"))
    assert says in str(caught.value)


def test_a_parameter_that_nobody_knows() -> None:
    with pytest.raises(AuthorError, match=r"unknown parameter 'prediction'.*did you mean 'predictions'"):
        wrapped(lambda prediction: {})(["A"], rows("A"))


def test_an_object_without_score() -> None:
    with pytest.raises(AuthorError, match="has no method `score`"):
        AuthorEvaluator(object())


def test_rows_that_are_partly_judged_are_not_taken() -> None:
    details = [{"correct": True}, {"pred": "x"}]
    metric = wrapped(lambda predictions, references: {"accuracy": 50.0, "details": details})
    metric(["A", "B"], rows("AA"))
    assert metric.last_correct is None
    assert "only for 1 of 2 rows" in metric.notes()[0]


def test_a_table_of_rows_reads_as_the_hub_library_has_it() -> None:
    table = RowTable([{"a": 1, "b": 2}, {"a": 3}])
    assert (table[0], table["a"], table[-1], len(table)) == ({"a": 1, "b": 2}, [1, 3], {"a": 3}, 2)
    assert table[0:1] == {"a": [1], "b": [2]}
    assert table.select([1]).to_list() == [{"a": 3}]
    assert [row["a"] for row in table] == [1, 3]
    with pytest.raises(KeyError, match="no column 'c'"):
        table["c"]


def test_details_that_are_numbered_belong_to_their_rows() -> None:
    right = {"2": {"correct": False}, "type": "GEN", "0": {"correct": True}, "1": {"correct": True}}
    metric = wrapped(lambda predictions, references: {"accuracy": 200 / 3, "details": right})
    metric(["A", "B", "C"], rows("ABA"))
    assert metric.last_correct == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("value", "unit"),
    [(66.67, PERCENT), (67, PERCENT), (66.7, PERCENT), (66.5, OWN), (0.7, OWN)],
)
def test_a_rounded_share_is_the_share_of_its_rows(value: float, unit: MetricUnit) -> None:
    details = [{"correct": True}, {"correct": True}, {"correct": False}]
    metric = wrapped(lambda predictions, references: {"accuracy": value, "details": details})
    found = metric(["A", "B", "C"], rows("ABA"))
    assert metric.units == {"accuracy": unit}
    expected = unit.scale * 2 / 3 if unit.is_share else value
    assert found == {"accuracy": pytest.approx(expected, rel=1e-12)}


def test_only_a_share_by_its_name_may_be_rounded_or_whole() -> None:
    details = [{"correct": True}, {"correct": True}]
    metric = wrapped(lambda predictions, references: {"n_right": 100, "f1": 99.99, "details": details})
    metric(["A", "B"], rows("AB"))
    assert metric.units == {"n_right": OWN, "f1": OWN}


def test_names_may_be_numbers() -> None:
    metric = wrapped(lambda predictions, references: {1: 0.25, "accuracy": 50.0})
    assert metric(["A", "B"], rows("AA")) == {"1": 0.25, "accuracy": 50.0}


def test_an_error_that_is_a_number_is_a_value() -> None:
    metric = wrapped(lambda predictions, references: {"error": 0.25})
    assert metric(["A", "B"], rows("AA")) == {"error": 0.25}


def test_no_number_is_reported() -> None:
    metric = wrapped(lambda predictions, references: {"accuracy": float("nan")})
    metric(["A"], rows("A"))
    assert metric.notes() == ("MyEvaluator returned nan for 'accuracy', so there is no value",)


def test_what_an_author_changes_in_place_is_not_the_rows() -> None:
    def score(predictions: list[str], references: list[list[str]], test_set: RowTable) -> dict[str, Any]:
        right = [one in gold for one, gold in zip(predictions, references, strict=True)]
        for gold, row in zip(references, test_set, strict=True):
            gold.clear()
            row["options"].clear()
        return {"accuracy": 100 * sum(right) / len(right)}

    golds = [["A"], ["B"]]
    held = [EvaluatedRow(gold, {"options": ["A", "B"]}) for gold in golds]
    metric = wrapped(score)
    assert metric(["A", "B"], held) == metric(["A", "B"], held) == {"accuracy": 100.0}
    assert golds == [["A"], ["B"]]
    assert held[0].fields == {"options": ["A", "B"]}


@pytest.mark.parametrize("right", [0, 1])
def test_a_share_of_some_rows_does_not_pass_for_that_of_all_where_it_is_0_or_100(right: int) -> None:
    def score(predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, Any]:
        details = [{"correct": bool(right)} for _ in predictions]
        return {"accuracy": 100.0 * right, "accuracy of the first": 100.0 * right, "details": details}

    metric = wrapped(score)
    metric(["a", "b", "c"], rows(["a", "b", "c"]))
    assert metric.last_score_lists == {"accuracy": [float(right)] * 3}
