from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.scoring.metrics.ifeval import IFEval

NO_COMMA: dict[str, Any] = {"prompt": "p", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
THREE: dict[str, Any] = {
    "prompt": "q",
    "instruction_id_list": ["punctuation:no_comma", "startend:quotation", "detectable_format:title"],
    "kwargs": [{}, {}, {}],
}


def test_each_instruction_counts_alike_and_so_does_each_prompt() -> None:
    metric = IFEval(type="strict")
    values = metric(["fine", 'a, "b"'], [NO_COMMA, THREE])
    assert values == {"IFEval(strict)": 25.0, "IFEval(strict):Prompt": 50.0}
    assert metric.last_score_lists == {"IFEval(strict)": [1.0, 0.0], "IFEval(strict):Prompt": [1.0, 0.0]}
    values = metric(["a, b", '"one"'], [NO_COMMA, THREE])
    assert values == {"IFEval(strict)": 50.0, "IFEval(strict):Prompt": 0.0}
    assert metric.last_score_lists["IFEval(strict)"] == [0.0, pytest.approx(2 / 3)]


def test_loose() -> None:
    metric = IFEval(type="loose")
    values = metric(["Well, yes:\nfine", "", '**"<<a>>"**'], [NO_COMMA, NO_COMMA, THREE])
    assert values == {
        "IFEval(loose)": pytest.approx(80.0),
        "IFEval(loose):Prompt": pytest.approx(200 / 3),
    }
    assert metric.last_score_lists["IFEval(loose):Prompt"] == [1.0, 0.0, 1.0]


def test_strict_is_the_default() -> None:
    assert IFEval().type == "strict"


def test_a_wrong_row_is_named() -> None:
    with pytest.raises(AuthorError, match="IFEVAL-002 row 2: unknown instruction 'x:y'"):
        IFEval()(["a", "b"], [NO_COMMA, {**NO_COMMA, "instruction_id_list": ["x:y"]}])


def test_another_reading() -> None:
    with pytest.raises(ValueError, match="'lose'"):
        IFEval(type="lose")  # type: ignore[arg-type]
