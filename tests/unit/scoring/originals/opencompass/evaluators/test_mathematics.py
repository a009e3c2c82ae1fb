"""Comparison of formulas by value, with math-verify in the sandbox."""

from __future__ import annotations

import pytest

from assay.core.errors import AuthorError
from assay.scoring.latex_answers import are_alike, loose_form
from assay.scoring.originals.opencompass.evaluators import EvaluatedRow, make_evaluator

CASES = [
    (r"so \boxed{\frac{1}{2}}", "0.5", 1, 1),
    (r"so \boxed{\frac12}", "0.5", 1, 0),
    (r"\boxed{\{1,2\}}", r"\{2,1\}", 1, 1),
    (r"\boxed{x=3}", "3", 1, 1),
    ("42", "42", 1, 0),
    ("$42$.", "42", 1, 0),
    ("", "1", 0, 0),
    (r"\boxed{5}", "7", 0, 0),
    (r"\boxed{9^{9^{9^{9}}}}", "7", 0, 0),
]


@pytest.mark.slow
def test_formulas_are_compared_by_their_value() -> None:
    pytest.importorskip("math_verify")
    predictions = [case[0] for case in CASES]
    rows = [EvaluatedRow(case[1], {}) for case in CASES]
    for is_faithful, expected in ((False, [case[2] for case in CASES]), (True, [case[3] for case in CASES])):
        metric = make_evaluator("MATHVerifyEvaluator", {}, is_faithful=is_faithful)
        metric(predictions, rows)
        assert metric.last_correct == expected
        assert "sandbox" in metric.notes()[0]


def test_a_right_answer_that_is_no_formula_fails_its_row() -> None:
    pytest.importorskip("math_verify")
    row = [EvaluatedRow("", {})]
    with pytest.raises(AuthorError, match=r"METRIC-002.*no formula"):
        make_evaluator("MATHVerifyEvaluator", {}, is_faithful=False)(["1"], row)
    assert make_evaluator("MATHVerifyEvaluator", {}, is_faithful=True)(["1"], row) == {"accuracy": 0.0}


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (r"5\text{ cm}", "5"),
        (r"\text{cm}", "{cm}"),
        ("3.00", "3"),
        ("3.05", "3.05"),
        ("10.0x", "10x"),
        (r"\$5", "5"),
        (r"50\%", "50"),
        ("infinity", r"\infty"),
        (r"+\infty", r"+\infty"),
        ("2j", "2i"),
        (r"\sqrt3", r"\sqrt{3}"),
        (r"90^\circ", "90"),
    ],
)
def test_what_is_around_an_answer_goes(written: str, plain: str) -> None:
    assert loose_form(written) == plain


def test_likeness_goes_both_ways() -> None:
    texts = ["1/2", "0.5", r"\frac12", "50%", "5 cm", "18.0", "18", "x=3", "3", r"\sqrt\pi", r"\sqrt{\pi}"]
    for one in texts:
        for other in texts:
            alike = are_alike(one, other, "v1", is_faithful=False)
            assert alike is are_alike(other, one, "v1", is_faithful=False)
            assert alike or one != other
