"""PassAtK against HumanEval's official numbers, and its errors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.core.errors import AssayError, AuthorError, PlanError
from assay.scoring.metrics.pass_at_k import PassAtK
from assay.scoring.sandbox import Limits, Status

ADD = "def add(a, b):\n{pred}\nassert add(1, 2) == 3\n"
RIGHT = "    return a + b"
WRONG = "    return a - b"


def code_of(error: AssayError) -> str:
    return error.problems[0].code


def reference(problem: dict[str, Any], head: str = "") -> str:
    """The program of the official scorer: prompt, completion, test, call of the test."""
    return f"{head}{problem['prompt']}{{pred}}\n{problem['test']}\ncheck({problem['entry_point']})"


def test_pass_at_one_and_two() -> None:
    predictions = [[RIGHT, WRONG, WRONG], [WRONG, WRONG, WRONG]]
    metric = PassAtK(k=1)
    assert metric(predictions, [ADD, ADD]) == {"pass@1": pytest.approx(100 / 6)}
    assert metric.last_score_lists == {"pass@1": [pytest.approx(1 / 3), 0.0]}
    assert [[ran.status for ran in row] for row in metric.ran] == [
        [Status.OK, Status.ERROR, Status.ERROR],
        [Status.ERROR] * 3,
    ]
    assert metric.protections is not None
    metric.set_k(2)
    assert metric(predictions, [ADD, ADD]) == {"pass@2": pytest.approx(100 / 3)}


def test_one_text_is_one_sample() -> None:
    assert PassAtK(1)([RIGHT], [ADD]) == {"pass@1": 100.0}


def test_k_comes_from_the_run() -> None:
    metric = PassAtK()
    metric.setup_metric(None, SimpleNamespace(pass_at_k=2), None, None)
    assert metric([[RIGHT, WRONG]], [ADD]) == {"pass@2": 100.0}
    metric.setup_metric(None, SimpleNamespace(pass_at_k=None), None, None)
    assert metric.k == 2


def test_samples_may_hold_anything() -> None:
    odd = [
        "    return a + b  # {pred} {0} %s \\n",
        "",
        "{pred}",
        "    return a + b\n\nimport sys; sys.exit(0)",
        RIGHT,
    ]
    metric = PassAtK(1)
    metric([odd], [ADD])
    statuses = [ran.status for ran in metric.ran[0]]
    assert statuses == [Status.OK, Status.ERROR, Status.ERROR, Status.EXITED, Status.OK]


def test_a_main_block_is_not_run() -> None:
    sample = RIGHT + "\n\nif __name__ == '__main__':\n    print(add(int(input()), int(input())))"
    assert PassAtK(1)([sample], [ADD]) == {"pass@1": 100.0}


def test_an_unknown_k() -> None:
    with pytest.raises(PlanError) as caught:
        PassAtK()([RIGHT], [ADD])
    assert code_of(caught.value) == "CODE-003"
    for wrong in (0, -1, True, "1"):
        with pytest.raises(PlanError) as caught:
            PassAtK(wrong)  # type: ignore[arg-type]
        assert code_of(caught.value) == "CODE-003"


def test_fewer_samples_than_k() -> None:
    with pytest.raises(PlanError) as caught:
        PassAtK(2)([[RIGHT, RIGHT], [RIGHT]], [ADD, ADD])
    assert code_of(caught.value) == "CODE-004"
    assert "row 2" in str(caught.value)
    with pytest.raises(PlanError):
        PassAtK(1)([[]], [ADD])


def test_lists_that_do_not_fit() -> None:
    for predictions, references in (
        ([RIGHT], ["assert True"]),
        ([RIGHT], [3]),
        ([[3]], [ADD]),
    ):
        with pytest.raises(AuthorError) as caught:
            PassAtK(1)(predictions, references)
        assert code_of(caught.value) == "CODE-005"


def test_a_package_that_no_program_could_import() -> None:
    with pytest.raises(AuthorError) as caught:
        PassAtK(1)([RIGHT], ["import no_such_package\n" + ADD])
    assert code_of(caught.value) == "CODE-006"
    assert "'no_such_package'" in str(caught.value)
    # A sample's own imports are the model's affair.
    assert PassAtK(1)(["    import no_such_package\n" + RIGHT], [ADD]) == {"pass@1": 0.0}
    # So is a word in a text.
    assert PassAtK(1)([RIGHT], ['"""\nfrom here on\n"""\n' + ADD]) == {"pass@1": 100.0}


def test_humaneval_examples_give_the_official_number(shared_data: Path) -> None:
    folder = shared_data / "humaneval"
    problem = json.loads((folder / "example_problem.jsonl").read_text())
    samples = [
        json.loads(line)["completion"] for line in (folder / "example_samples.jsonl").read_text().splitlines()
    ]
    metric = PassAtK(k=1)
    assert metric([samples], [reference(problem)])["pass@1"] == pytest.approx(49.99999999999999)
    expected = [Status.ERROR, Status.TIMEOUT, Status.ERROR, Status.OK, Status.OK, Status.OK]
    assert [ran.status for ran in metric.ran[0]] == expected


@pytest.mark.parametrize("head", ["", "import numpy\nimport numpy as np\n"], ids=["alone", "with numpy"])
def test_humaneval_canonical_solutions_pass(shared_data: Path, head: str) -> None:
    if head:
        pytest.importorskip("numpy")
    with gzip.open(shared_data / "humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as file:
        problems = [json.loads(line) for line in file]
    assert len(problems) == 164
    # Generous, so that a machine under load does not decide.
    metric = PassAtK(k=1, limits=Limits(seconds=30))
    metric([problem["canonical_solution"] for problem in problems], [reference(p, head) for p in problems])
    failed = {p["task_id"]: row[0] for p, row in zip(problems, metric.ran, strict=True) if not row[0].is_ok}
    assert failed == {}


def test_humaneval_without_a_solution_fails(shared_data: Path) -> None:
    with gzip.open(shared_data / "humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as file:
        problems = [json.loads(line) for line in file][:20]
    metric = PassAtK(k=1)
    assert metric(["    return None\n"] * 20, [reference(problem) for problem in problems]) == {"pass@1": 0.0}
