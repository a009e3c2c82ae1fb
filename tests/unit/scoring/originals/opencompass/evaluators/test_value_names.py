"""Evaluators return their declared metrics, and the page of metrics lists them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from assay.scoring.originals.opencompass.evaluators import EVALUATORS, EvaluatedRow, make_evaluator
from assay.scoring.originals.opencompass.evaluators.value_names import VALUE_NAMES

PAGE = Path(__file__).parents[6] / "docs" / "reference" / "metrics.md"
NOT_AMONG_THE_EVALUATORS = {"CascadeEvaluator"}
"""Made of two others."""
BOX = {"bbox": [0, 0, 9, 9], "image_width": 9, "image_height": 9}
ORDERS = ("ABCD", "BCDA", "CDAB", "DABC")
KINDS = ("clean", "input contamination", "input-and-label contamination")
Case = tuple[Any, Any, dict[str, Any]]
CASES: dict[str, list[Case]] = {
    "AccEvaluator": [("A", "A", {})],
    "AccContaminationEvaluator": [("A", "A", {"is_clean": kind}) for kind in KINDS],
    "BBHEvaluator": [("yes", "yes", {})],
    "SquadEvaluator": [("yes", "yes", {})],
    "RougeEvaluator": [("one two", "one two", {})],
    "BleuEvaluator": [("one two", "one two", {})],
    "MccEvaluator": [("1", "1", {})],
    "BBoxIoUEvaluator": [([0, 0, 9, 9], BOX, {})],
    "Gsm8kEvaluator": [("1", "1", {})],
    "MATHEvaluator": [("1", "1", {})],
    "CircularEvaluator": [("A", f"1--A--{order}", {}) for order in ORDERS],
    "datasets.CircularEvaluator": [("A", "A", {"qid": 1, "circular_pattern": order}) for order in ORDERS],
}
"""A prediction, the right answer and the other columns of each row."""


def test_every_evaluator_has_names() -> None:
    assert VALUE_NAMES.keys() == EVALUATORS.keys() | NOT_AMONG_THE_EVALUATORS


@pytest.mark.parametrize("name", CASES)
def test_the_names_are_those_of_the_values(name: str) -> None:
    predictions = [prediction for prediction, _, _ in CASES[name]]
    rows = [EvaluatedRow(gold, fields) for _, gold, fields in CASES[name]]
    values = make_evaluator(name, {}, is_faithful=False)(predictions, rows)
    assert [value for value in VALUE_NAMES[name] if value not in values] == []


def test_the_names_stand_in_the_page_of_metrics() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (`[^|]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    # Where a row of the page says KIND or k, the names depend on the rows.
    fixed = [name for name in EVALUATORS if re.fullmatch(r"(`[a-zL0-9_]+`(, )?)+", rows.get(name, ""))]
    assert len(fixed) >= 25
    for name in fixed:
        assert re.findall(r"`([^`]+)`", rows[name]) == list(VALUE_NAMES[name])
