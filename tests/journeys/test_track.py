"""Runs logged to real trackers, in their local mode, and read back from what these stored.

Each test needs the package of its tracker and skips without it. Trackers run in a process of their own: they
change the whole process that they are imported into.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cli import Result, assay

QUESTIONS = "question,A,B,answer\n1+1=,2,3,A\n2+2=,5,4,B\n3+3=,6,7,A\n4+4=,9,8,B\n"


@pytest.fixture
def data(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (workdir / "data.csv").write_text(QUESTIONS, encoding="utf-8")
    for name in [name for name in os.environ if name.startswith(("MLFLOW_", "WANDB_", "TRACKIO_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TRACKIO_DIR", str(workdir / "trackio"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    return workdir


def require(package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"the package {package} is not installed: pip install 'assay-eval[trackers]'")


def run_program(*arguments: str, **environment: str) -> Result:
    """Run `assay` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "assay", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return Result(done.returncode, done.stdout, done.stderr)


def query(database: Path, command: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(command).fetchall()


def read_scores(folder: Path) -> dict[str, float]:
    return {
        f"{one['task']}/{one['method']}/{one['metric']}": one["value"]
        for one in json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        if one["group"] is None and one["value"] is not None
    }


def test_mlflow(data: Path) -> None:
    require("mlflow")
    require("alembic")
    line = ("run", "data.csv", "-m", "mock", "--judge-arg", "api_key=s3cret-s3cret", "--method", "ppl,gen")
    result = run_program(*line, "--seed", "7", "--track", "mlflow:quiz", "--out", "run")
    assert result.status == 0, result.err
    assert "logged to mlflow:quiz: run " in result.out
    store = data / "mlflow.db"
    names = query(store, "select e.name, r.status from runs r join experiments e using (experiment_id)")
    assert names == [("quiz", "FINISHED")]
    metrics = dict(query(store, "select key, value from latest_metrics"))
    assert {name: metrics[name] for name in read_scores(data / "run")} == read_scores(data / "run")
    assert metrics["data/gen/n"] == 4
    assert (
        metrics["data/gen/accuracy_low"] <= metrics["data/gen/accuracy"] <= metrics["data/gen/accuracy_high"]
    )
    parameters = dict(query(store, "select key, value from params"))
    assert (parameters["model"], parameters["seed"], parameters["method"]) == ("mock", "7", "ppl,gen")
    manifest = json.loads((data / "run" / "manifest.json").read_text(encoding="utf-8"))
    tags = dict(query(store, "select key, value from tags"))
    assert tags["dataset.hash"] == manifest["tasks"][0]["data_hash"]
    assert query(store, "select name from datasets") == [("data",)]
    files = {path.name: path for path in (data / "mlruns").rglob("*") if path.is_file()}
    assert {"report.html", "summary.json", "manifest.json", "scores.jsonl", "samples.json"} <= set(files)
    table = json.loads(files["samples.json"].read_text(encoding="utf-8"))
    assert len(table["data"]) == 8
    for path in (store, *files.values()):
        assert b"s3cret" not in path.read_bytes()


def test_wandb_offline(data: Path) -> None:
    require("wandb")
    result = run_program(
        "run", "data.csv", "-m", "mock", "--track", "wandb:quiz", "--offline", "--out", "run"
    )
    assert result.status == 0, result.err
    (folder,) = (data / "wandb").glob("offline-run-*")
    (log,) = folder.glob("*.wandb")
    content = log.read_bytes()
    for text in (b"data/gen/accuracy_low", b"dataset.hash", b"quiz", b"report.html"):
        assert text in content
    (table,) = folder.rglob("*.table.json")
    assert len(json.loads(table.read_text(encoding="utf-8"))["data"]) == 4


def test_trackio(data: Path) -> None:
    require("trackio")
    result = run_program(
        "run", "data.csv", "-m", "mock", "--seed", "7", "--track", "trackio:quiz", "--out", "run"
    )
    assert result.status == 0, result.err
    store = data / "trackio" / "quiz.db"
    ((logged,),) = query(store, "select metrics from metrics")
    values = json.loads(logged)
    assert {name: values[name] for name in read_scores(data / "run")} == read_scores(data / "run")
    assert [row["sample"] for row in values["samples"]["_value"]] != []
    ((config,),) = query(store, "select config from configs")
    assert (json.loads(config)["model"], json.loads(config)["seed"]) == ("mock", 7)
    stored = [path.read_bytes() for path in (data / "trackio").rglob("*") if path.is_file()]
    assert (data / "run" / "report.html").read_bytes() in stored


def test_the_same_results_are_logged_once_by_a_run_and_again_by_track(data: Path) -> None:
    require("trackio")
    line = ("run", "data.csv", "-m", "mock", "--track", "trackio:quiz", "--out", "run")
    assert run_program(*line).status == 0
    assert "logged before, with the same results" in run_program(*line).out
    store = data / "trackio" / "quiz.db"
    assert query(store, "select count(*) from configs") == [(1,)]
    answer = json.loads(run_program("track", "run", "--to", "trackio:quiz", "--json").out)
    assert (answer["kind"], answer["tracking"][0]["problem"]) == ("tracking", None)
    assert query(store, "select count(*) from configs") == [(2,)]
    assert len(json.loads((data / "run" / "tracking.json").read_text(encoding="utf-8"))) == 2


def test_a_tracker_that_fails_leaves_the_result_and_has_its_own_status(data: Path) -> None:
    require("trackio")
    (data / "file").write_text("a file, not a folder", encoding="utf-8")
    line = ("run", "data.csv", "-m", "mock", "--track", "trackio", "--out", "run")
    result = run_program(*line, TRACKIO_DIR=str(data / "file" / "trackio"))
    assert result.status == 6, result.err
    assert "TRACK-004" in result.err
    assert "assay track run --to trackio" in result.err
    assert "the run itself is complete and stored" in result.err
    assert read_scores(data / "run")
    assert run_program("track", "run", "--to", "trackio").status == 0


def test_a_tracker_that_is_missing_ends_the_command_before_the_run(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    result = assay("run", "data.csv", "-m", "hf:nowhere", "--track", "trackio,wandb:quiz", "--out", "run")
    expected = "TRACK-002"
    if find_spec("trackio") is None:
        assert "trackio" in result.err
    assert (result.status, expected in result.err) == (2, True)
    assert not (data / "run").exists()


def test_a_run_without_scores_is_not_logged(data: Path) -> None:
    require("trackio")
    assert assay("run", "data.csv", "-m", "mock", "--stage", "infer", "--out", "run").status == 0
    result = run_program("track", "run", "--to", "trackio")
    assert (result.status, "TRACK-005" in result.err) == (2, True)


def test_every_run_of_several_models_is_logged(data: Path) -> None:
    require("trackio")
    line = ("run", "data.csv", "-m", "a=mock", "-m", "b=mock", "--model-arg", "b.answer=A")
    result = run_program(*line, "--track", "trackio:both", "--out", "runs")
    assert result.status == 0, result.err
    assert result.out.count("logged to trackio:both: run ") == 2
    assert (data / "runs" / "a" / "tracking.json").is_file()
    assert (data / "runs" / "b" / "tracking.json").is_file()
