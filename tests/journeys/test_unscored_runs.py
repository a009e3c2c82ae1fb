"""Runs without a complete score say so everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.leap_registry import write_task

pytest.importorskip("datasets")
RUN = ("--task-dir", "task", "-m", "mock", "--no-cache", "--out", "run")


@pytest.fixture
def folder(workdir: Path) -> Path:
    (workdir / "task").mkdir()
    return workdir / "task"


def written(name: str) -> Any:
    return json.loads(Path("run", name).read_text(encoding="utf-8"))


RAISING = {"norm = [one / len(text)": 'norm = [one / doc["nope"] / len(text)'}
CORRELATION = "float(np.corrcoef(golds, numbers)[0, 1])"


def test_rows_that_all_fail_in_the_authors_code_are_reported_with_file_and_line(folder: Path) -> None:
    write_task(folder, "bad", "Bad", edits=RAISING)
    result = assay("run", "task/bad.py", *RUN)
    assert result.status == 3
    line = next(
        line for line in result.out.splitlines() if line.startswith("bad ppl: no sample could be scored")
    )
    assert "every row failed; the first: process_results: raised KeyError: 'nope' (task/bad.py line " in line
    assert "names nothing to score" not in result.out
    assert "no sample could be scored: exit status 3" in result.err
    manifest = written("manifest.json")
    assert manifest["status"] == "unscored"
    assert [(one["task"], one["method"]) for one in manifest["unscored"]] == [("bad", "ppl")]
    assert "raised KeyError" in written("summary.json")[0]["why"]
    assert "**bad, ppl: no sample could be scored.**" in Path("run/report.md").read_text(encoding="utf-8")
    assert "unscored" in assay("ls", "--runs-dir", ".").out
    assert "no sample could be scored" in assay("report", "run").out
    assert json.loads(assay("report", "run", "--json").out)["is_failed"]
    assert "no sample could be scored" in assay("leaderboard", "--runs-dir", ".").out


def test_an_aggregation_that_raises_costs_its_own_task_alone(folder: Path) -> None:
    write_task(folder, "good", "Good")
    broken = {
        '"acc": mean, "acc_norm": mean, "pearson": pearson': "name: sum_of for name in METRICS",
        "def pearson(items):": "def sum_of(items):\n    return 1 / 0\n\n\ndef pearson(items):",
        "CONTINUATIONS =": 'METRICS = ("acc", "acc_norm", "pearson")\nCONTINUATIONS =',
    }
    write_task(folder, "lost", "Lost", edits=broken)
    result = assay("run", "task/good.py", "task/lost.py", *RUN)
    assert (result.status, "Traceback" in result.err) == (3, False)
    assert "SCORE-003 task/lost.py line 11: " in result.out
    assert "aggregation()['acc'] raised ZeroDivisionError" in result.out
    assert "no score for lost ppl: exit status 3" in result.err
    values = {(one["task"], one["metric"]): one["value"] for one in written("summary.json")}
    assert values["good", "acc"] is not None
    assert values["lost", "none"] is None
    assert written("manifest.json")["status"] == "complete"
    scores = [json.loads(line) for line in Path("run/scores.jsonl").read_text().splitlines()]
    assert {score["verdict"] for score in scores if score["task"] == "lost"} == {"failed"}
    assert {score["verdict"] for score in scores if score["task"] == "good"} == {"scored"}


def test_one_metric_that_raises_leaves_the_others(folder: Path) -> None:
    write_task(folder, "some", "Some", edits={CORRELATION: "1 / 0"})
    result = assay("run", "task/some.py", *RUN)
    assert result.status == 0
    assert "some ppl: pearson has no value: SCORE-003 task/some.py line " in result.out
    values = {one["metric"]: (one["value"], one["why"]) for one in written("summary.json")}
    assert values["acc"][0] is not None
    assert values["pearson"][0] is None
    assert "ZeroDivisionError" in values["pearson"][1]


def test_nan_is_reported_as_nan(folder: Path) -> None:
    edits = {
        '"acc": mean, "acc_norm": mean, "pearson": pearson': '"acc": nan, "acc_norm": nan, "pearson": nan',
        "def pearson(items):": 'def nan(items):\n    return float("nan")\n\n\ndef pearson(items):',
    }
    write_task(folder, "empty", "Empty", edits=edits)
    result = assay("run", "task/empty.py", *RUN)
    assert result.status == 3
    assert "empty ppl: no sample could be scored: aggregation()['acc'] returned nan" in result.out
    assert "known right answer" not in result.out
