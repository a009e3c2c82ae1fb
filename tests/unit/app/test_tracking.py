"""Logging finished runs: what is skipped, what is recorded, and what a failure leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.app.tracking import RECORD, track_run, track_stored_run
from assay.core.errors import StoreError
from assay.core.run import RunStatus
from assay.results.read import StoredRun
from assay.results.trackers import mlflow_tracker, registry, trackio_tracker
from assay.results.trackers.registry import TrackerChoice
from assay.results.trackers.tracked_run import TrackedRun
from fakes.run_folders import append_samples, write_run

CHOICE = TrackerChoice("trackio", "quiz")


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[TrackedRun]:
    """A Trackio that accepts every run, and the runs that it was given; MLflow is out of order."""
    runs: list[TrackedRun] = []

    def log_run(run: TrackedRun, project: str | None, *, is_offline: bool) -> str:
        runs.append(run)
        return f"{project} {len(runs)}"

    def fail(run: TrackedRun, project: str | None, *, is_offline: bool) -> str:
        raise OSError("out of order")

    monkeypatch.setattr(registry, "find_spec", lambda name: object())
    monkeypatch.setattr(trackio_tracker, "log_run", log_run)
    monkeypatch.setattr(mlflow_tracker, "log_run", fail)
    monkeypatch.setattr(mlflow_tracker, "find_problem", lambda is_offline: None)
    return runs


def test_the_same_results_are_logged_once_unless_asked_for(tmp_path: Path, logged: list[TrackedRun]) -> None:
    run = StoredRun(write_run(tmp_path / "run", ["yes"]))
    assert [(one.where, one.is_new) for one in track_run(run, [CHOICE])] == [("quiz 1", True)]
    assert [(one.where, one.is_new) for one in track_run(run, [CHOICE])] == [("quiz 1", False)]
    assert [one.where for one in track_run(run, [TrackerChoice("trackio", "other")])] == ["other 2"]
    assert [one.where for one in track_stored_run(run, ["trackio:quiz"])] == ["quiz 3"]
    (run.path / RECORD).write_text("damaged", encoding="utf-8")
    assert [one.where for one in track_run(run, [CHOICE])] == ["quiz 4"]


def test_one_that_fails_does_not_prevent_the_others(tmp_path: Path, logged: list[TrackedRun]) -> None:
    run = StoredRun(write_run(tmp_path / "run", ["yes"]))
    failed, accepted = track_run(run, [TrackerChoice("mlflow", None), CHOICE])
    assert failed.where is None
    assert failed.problem is not None
    assert (failed.problem.code, "out of order" in failed.problem.what) == ("TRACK-004", True)
    assert accepted.where == "quiz 1"
    assert "mlflow" not in (run.path / RECORD).read_text(encoding="utf-8")


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.ANSWERED])
def test_a_run_without_results_is_not_logged(
    status: RunStatus, tmp_path: Path, logged: list[TrackedRun]
) -> None:
    folder = write_run(tmp_path / "run", [], status=status)
    append_samples(folder, ["yes"])
    with pytest.raises(StoreError, match="TRACK-005"):
        track_run(StoredRun(folder), [CHOICE])
    assert logged == []


def test_python_gets_the_outcome_and_a_warning(workdir: Path, logged: list[TrackedRun]) -> None:
    (workdir / "data.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="TRACK-004.*assay track .* --to mlflow"):
        result = assay.run("data.csv", model="mock", track=["mlflow", "trackio:quiz"])
    assert [(one["tracker"], one["where"]) for one in result.tracking] == [
        ("mlflow", None),
        ("trackio:quiz", "quiz 1"),
    ]
    assert logged[0].parameters["track"] == '["mlflow","trackio:quiz"]'
