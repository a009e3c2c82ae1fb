"""Evaluators by name: every wrong name and argument is an error before the run."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from assay.core.errors import AuthorError, PlanError
from assay.scoring.originals.opencompass.evaluators import EVALUATORS, make_evaluator, mathematics, texts

NEEDED: dict[str, dict[str, Any]] = {
    "OptionSimAccEvaluator": {"options": ["A", "B"]},
    "CircularOptionSimAccEvaluator": {"options": ["A", "B"]},
}
PACKAGES = {
    "JiebaRougeEvaluator": "jieba",
    "BleuFloresEvaluator": "sentencepiece",
    "MATHVerifyEvaluator": "math_verify",
}


@pytest.mark.parametrize("name", EVALUATORS)
@pytest.mark.parametrize("is_faithful", [False, True])
def test_every_evaluator_is_made_in_both_modes(name: str, is_faithful: bool) -> None:
    if (package := PACKAGES.get(name)) and importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}")
    made = make_evaluator(name, NEEDED.get(name, {}), is_faithful=is_faithful)
    assert made.is_faithful is is_faithful
    assert made.has_details is EVALUATORS[name].has_details


def test_an_unknown_name_is_reported_with_the_nearest() -> None:
    with pytest.raises(PlanError, match=r"SCORE-004 unknown evaluator 'AccEvalutor' .*'AccEvaluator'"):
        make_evaluator("AccEvalutor", {}, is_faithful=False)


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("AccEvaluator", {"pred_postprocesor": "x"}, "did you mean 'pred_postprocessor'"),
        ("AccEvaluator", {"pred_postprocessor": "nosuch"}, "unknown post-processor 'nosuch'"),
        ("EMEvaluator", {"is_faithful": True}, "has no argument 'is_faithful'"),
        ("MATHEvaluator", {"version": "v3"}, "'version' = 'v3'"),
        ("OptionSimAccEvaluator", {}, "needs the argument 'options'"),
        ("OptionSimAccEvaluator", {"options": ["a", "B"]}, "expected capital letters"),
        ("MBPPEvaluator", {"metric": "MBPPPlus"}, "evalplus"),
        ("HumanEvalEvaluator", {"k": [0]}, "of at least 1"),
        ("BBoxIoUEvaluator", {"iou_threshold": "half"}, "'iou_threshold' = 'half'"),
    ],
)
def test_a_wrong_argument(name: str, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(PlanError, match="SCORE-005") as caught:
        make_evaluator(name, arguments, is_faithful=False)
    assert says in str(caught.value)


def test_wrong_arguments_come_together() -> None:
    with pytest.raises(PlanError) as caught:
        make_evaluator("OptionSimAccEvaluator", {"option": 1, "x": 2}, is_faithful=False)
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    ("name", "module", "line"),
    [
        ("JiebaRougeEvaluator", texts, "pip install jieba"),
        ("BleuFloresEvaluator", texts, "pip install sentencepiece"),
        ("MATHVerifyEvaluator", mathematics, r"pip install 'assay-eval\[math\]'"),
    ],
)
def test_a_missing_package_is_reported_before_the_run(
    name: str, module: Any, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda package: None)
    with pytest.raises(AuthorError, match=f"METRIC-004 .*{line}"):
        make_evaluator(name, {}, is_faithful=False)
