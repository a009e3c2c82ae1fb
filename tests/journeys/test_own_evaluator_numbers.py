"""The numbers of a config's own evaluator: one scale and one headline, in every command and at any size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay

CONFIG = """
from {package}.datasets import CustomDataset
from {package}.openicl.icl_inferencer import GenInferencer
from {package}.openicl.icl_prompt_template import PromptTemplate
from {package}.openicl.icl_retriever import ZeroRetriever
from numbers_of_its_own import {evaluators}

models = [dict(type="Assay", abbr="m", model="mock", model_args=dict(answer="A"))]
datasets = [
    dict(
        type=CustomDataset, abbr=name, path="rows.jsonl",
        reader_cfg=dict(input_columns=["question"], output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template="{question}"),
            retriever=dict(type=ZeroRetriever), inferencer=dict(type=GenInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type=evaluator)),
    )
    for name, evaluator in (("plain", Plain), ("several", Several), ("percent", Percent), ("share", Share))
]
"""
CODE = """
class Plain:
    def score(self, predictions, references):
        return {"acc": 0.5}


class Several:
    def score(self, predictions, references):
        return {"length": 7.0, "f1": 0.25, "accuracy": 75.0, "bp": 1.0}


def _right(predictions, references):
    return [p == r for p, r in zip(predictions, references)]


class Percent:
    def score(self, predictions, references):
        right = _right(predictions, references)
        share = sum(right) / len(right)
        return {"other": 0.5, "acc": 100 * share, "details": [{"correct": one} for one in right]}


class Share:
    def score(self, predictions, references):
        right = _right(predictions, references)
        return {"acc": sum(right) / len(right), "details": [{"correct": one} for one in right]}
"""
EXPECTED = {
    "plain": {"acc": 0.5},
    "several": {"accuracy": 75.0, "f1": 0.25, "length": 7.0},
    "percent": {"acc": 25.0, "other": 0.5},
    "share": {"acc": 0.25},
}
HEADLINES = {"plain": "acc", "several": "accuracy", "percent": "acc", "share": "acc"}


def write(workdir: Path, package: str, n_rows: int) -> None:
    rows = [{"question": f"{n}?", "answer": "A" if n % 4 == 0 else "B"} for n in range(n_rows)]
    (workdir / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (workdir / "numbers_of_its_own.py").write_text(CODE, encoding="utf-8")
    text = CONFIG.replace("{package}", package).replace("{evaluators}", "Percent, Plain, Several, Share")
    (workdir / "run.py").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("fidelity", ["corrected", "faithful"])
@pytest.mark.parametrize("n_rows", [4, 100, 200])
@pytest.mark.parametrize(
    ("system", "package"), [("opencompass", "opencompass"), ("aisbench", "ais_bench.benchmark")]
)
def test_the_originals_files_and_tables_hold_what_the_evaluator_returned(
    workdir: Path, system: str, package: str, n_rows: int, fidelity: str
) -> None:
    write(workdir, package, n_rows)
    result = assay("as", system, "run.py", "--fidelity", fidelity)
    assert result.status == 0, result.err
    (folder,) = (workdir / "outputs" / "default").iterdir()
    found: dict[str, Any] = {}
    for path in (folder / "results" / "m").glob("*.json"):
        values = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = {
            name: value for name, value in values.items() if name not in ("details", "type", "bp")
        }
    assert found == EXPECTED
    (summary,) = (folder / "summary").glob("*.csv")
    rows = [line.split(",") for line in summary.read_text(encoding="utf-8").splitlines()[1:]]
    shown = {(row[0], row[2]): row[4] for row in rows}
    assert shown == {
        (task, name): f"{value:.2f}" for task, values in EXPECTED.items() for name, value in values.items()
    }
    first = {task: next(row[2] for row in rows if row[0] == task) for task in EXPECTED}
    assert first == HEADLINES
    (run,) = (folder / "runs" / "m").iterdir()
    check_headlines(run)


def test_a_run_has_the_same_headlines(workdir: Path) -> None:
    write(workdir, "opencompass", 8)
    result = assay("run", "run.py", "-m", "mock", "--model-arg", "answer=A", "--out", "made")
    assert result.status == 0, result.err
    check_headlines(workdir / "made")


def check_headlines(run: Path) -> None:
    metrics = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert {one["task"]: one["metric"] for one in metrics if one["is_headline"]} == HEADLINES
    assert {(one["task"], one["metric"]) for one in metrics if one["is_share"]} == {("percent", "acc")}
