"""AUC-ROC and Matthews' correlation against their definitions, written out."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.scoring.originals.opencompass.evaluators import EvaluatedRow, make_evaluator

scored = st.tuples(st.integers(0, 5).map(lambda one: one / 5), st.integers(0, 1))


@given(st.lists(scored, min_size=2, max_size=30))
def test_auc_is_the_share_of_pairs_in_order(rows: list[tuple[float, int]]) -> None:
    metric = make_evaluator("AUCROCEvaluator", {}, is_faithful=False)
    values = metric([[1 - p, p] for p, _ in rows], [EvaluatedRow(gold, {}) for _, gold in rows])
    pairs = [(p > q) + (p == q) / 2 for p, one in rows for q, other in rows if one == 1 and other == 0]
    assert values["accuracy"] == pytest.approx(100 * sum((p > 0.5) == gold for p, gold in rows) / len(rows))
    if not pairs:
        assert math.isnan(values["auc_score"])
        assert metric.notes() == ("all rows belong to one class, so there is no AUC",)
        return
    assert values["auc_score"] == pytest.approx(100 * sum(pairs) / len(pairs))
    low, high = metric.last_intervals["auc_score"]
    assert 0 <= low <= values["auc_score"] + 1e-9
    assert values["auc_score"] - 1e-9 <= high <= 100


def test_the_interval_of_an_auc_is_delongs() -> None:
    positive, negative = [0.9, 0.8, 0.4], [0.7, 0.3, 0.2, 0.1]
    over = [sum(p > q for q in negative) / 4 for p in positive]
    under = [sum(p > q for p in positive) / 3 for q in negative]
    area = sum(over) / 3
    variance = (
        sum((one - area) ** 2 for one in over) / 2 / 3 + sum((one - area) ** 2 for one in under) / 3 / 4
    )
    metric = make_evaluator("AUCROCEvaluator", {}, is_faithful=False)
    golds = [EvaluatedRow(1, {})] * 3 + [EvaluatedRow(0, {})] * 4
    metric([[1 - p, p] for p in positive + negative], golds)
    assert metric.last_intervals["auc_score"][0] == pytest.approx(
        100 * (area - 1.959964 * variance**0.5), abs=1e-3
    )


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_matthews_of_two_classes(pairs: list[tuple[bool, bool]]) -> None:
    metric = make_evaluator("MccEvaluator", {}, is_faithful=False)
    value = metric([str(got) for got, _ in pairs], [EvaluatedRow(gold, {}) for _, gold in pairs])
    tp, tn = sum(a and b for a, b in pairs), sum(not a and not b for a, b in pairs)
    fp, fn = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    spread = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    expected = 100 * (tp * tn - fp * fn) / math.sqrt(spread) if spread else 0.0
    assert value["matthews_correlation"] == pytest.approx(expected)
    assert metric.last_correct == [float(got == gold) for got, gold in pairs]


def test_a_prediction_without_probabilities() -> None:
    with pytest.raises(AuthorError, match="METRIC-002"):
        make_evaluator("AUCROCEvaluator", {}, is_faithful=False)(["A"], [EvaluatedRow(1, {})])
