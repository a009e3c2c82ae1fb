"""Programs against the tests of their rows, in the sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.scoring.originals.opencompass.evaluators import EvaluatedRow, make_evaluator
from assay.scoring.originals.opencompass.evaluators.programs import guard_assertions

TWICE = {
    "prompt": "def twice(x):\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    "entry_point": "twice",
}
RIGHT, WRONG = "    return 2 * x\n", "    return x\n"


def test_humaneval_over_samples_of_a_row_and_over_repeated_rows() -> None:
    metric = make_evaluator("HumanEvalEvaluator", {"k": [1, 2, 10]}, is_faithful=False)
    row = EvaluatedRow("HumanEval/0", TWICE)
    together = metric([[RIGHT, WRONG]], [row])
    assert together == {"humaneval_pass@1": 50.0, "humaneval_pass@2": 100.0}
    assert metric([RIGHT, WRONG], [row, row]) == together
    assert metric.last_correct == [1.0, 0.0]
    assert metric.last_ratios["humaneval_pass@1"] == [(0.25, 0.5), (0.25, 0.5)]
    assert any("1 passed, 1 gave a wrong answer" in note for note in metric.notes())


def test_humaneval_without_its_columns() -> None:
    with pytest.raises(AuthorError, match="no column 'test'"):
        make_evaluator("HumanEvalEvaluator", {}, is_faithful=False)(
            [RIGHT], [EvaluatedRow("x", {"prompt": ""})]
        )


@pytest.mark.parametrize(
    ("reply", "tests", "corrected", "original"),
    [
        ("[BEGIN]\ndef f(x): return x\n[DONE]", "assert f(3) == 3", 1, 1),
        ("```python\ndef f(x): return float(x)\n```", "assert f(3) == 3", 1, 0),
        ("def f(x): return x + 1", "assert f(3) == 3", 0, 0),
        (
            "class E:\n    def __eq__(self, other): return True\ndef f(x): return E()",
            "assert f(3) == 3",
            0,
            0,
        ),
        (
            "class E(list):\n    def __eq__(self, other): return True\ndef f(x): return [E()]",
            "assert f(3) == [[3]]",
            0,
            0,
        ),
        ("def f(x): return {1: (x, [2])}", "assert f(3) == {1: (3, [2])}", 1, 1),
        ("def f(x): return {x, 1}", "assert f(3) == {1, 3}\nassert f(3) != {2}", 1, 1),
        ("def f(x): return x * OFFSET", "assert f(3) == 6", 1, 0),
        ("import sys; sys.exit(0)", "assert f(3) == 3", 0, 0),
        ("", "assert f(3) == 3", 0, 0),
    ],
)
def test_mbpp(reply: str, tests: str, corrected: float, original: float) -> None:
    row = EvaluatedRow(tests, {"test_setup_code": "OFFSET = 2"})
    for is_faithful, expected in ((False, corrected), (True, original)):
        metric = make_evaluator("MBPPEvaluator", {}, is_faithful=is_faithful)
        assert metric([reply], [row]) == {"score": 100.0 * expected}, is_faithful


def test_mbpp_over_tasks() -> None:
    gold: dict[str, Any] = {"test_list_2": "assert f(1) == 1", "task_id": 7}
    metric = make_evaluator("MBPPPassKEvaluator", {"k": [1, 2]}, is_faithful=False)
    right, wrong = "def f(x): return x", "def f(x): return 2"
    assert metric([right, wrong], [EvaluatedRow(gold, {})] * 2) == {"pass@1": 50.0, "pass@2": 100.0}
    with pytest.raises(AuthorError, match="task_id"):
        metric([right], [EvaluatedRow("assert f(1) == 1", {})])


def test_tests_that_are_no_program_stay_as_they_are() -> None:
    assert guard_assertions("assert (", mixes_numbers=True) == "assert ("
