"""Trackers by name, and what happens if one is missing or fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.results.read import StoredRun
from assay.results.trackers import registry, trackio_tracker
from assay.results.trackers.mlflow_tracker import _clean_name, _is_database, _is_local, _unique
from assay.results.trackers.registry import (
    TrackerChoice,
    TrackerError,
    log_to_tracker,
    parse_trackers,
    require_trackers,
)
from assay.results.trackers.tracked_run import build_tracked_run
from fakes.run_folders import write_run


def test_trackers_are_read_once_each_with_their_project() -> None:
    written = ["mlflow", "wandb:team/quiz", "trackio:a:b", " mlflow "]
    assert [str(one) for one in parse_trackers(written)] == ["mlflow", "wandb:team/quiz", "trackio:a:b"]
    assert parse_trackers(written)[1] == TrackerChoice("wandb", "team/quiz")


@pytest.mark.parametrize("written", ["mflow", "mlflow:", "", "tensorboard"])
def test_other_trackers_are_errors(written: str) -> None:
    with pytest.raises(UsageError, match=r"TRACK-001.*'mlflow', 'wandb', 'trackio'"):
        parse_trackers([written])


@pytest.mark.parametrize("tracker", ["mlflow", "wandb", "trackio"])
def test_a_missing_package_is_named_with_its_pip_line(tracker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, tracker, None)
    with pytest.raises(
        UsageError, match=rf"TRACK-002.*pip install 'assay-eval\[trackers\]'.*install {tracker}"
    ):
        require_trackers(parse_trackers([tracker]))


def test_an_offline_run_reaches_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_SPACE_ID", "me/space")
    assert trackio_tracker.find_problem(is_offline=False) is None
    assert "TRACKIO_SPACE_ID" in str(trackio_tracker.find_problem(is_offline=True))


def test_whatever_a_tracker_raises_names_the_command_that_logs_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, is_offline: bool) -> str:
        print("noise")
        raise RuntimeError("no answer from http://me:s3cret@host/api")

    monkeypatch.setattr(trackio_tracker, "log_run", fail)
    run = StoredRun(write_run(tmp_path / "run", ["yes"]))
    choice = TrackerChoice("trackio", "quiz")
    with pytest.raises(TrackerError, match="TRACK-004") as caught:
        log_to_tracker(choice, build_tracked_run(run), run.path)
    (problem,) = caught.value.problems
    assert problem.what == "trackio did not accept the run: no answer from http://host/api"
    assert f"assay track {run.path} --to trackio:quiz" in problem.fix
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("openai/gsm8k:main/gen/accuracy", "openai/gsm8k_main/gen/accuracy"),
        ("quiz/gen/../x", "quiz/gen/_/x"),
        ("/quiz//gen/pass@1", "_/quiz/_/gen/pass_1"),
        ("퀴즈/gen/accuracy", "퀴즈/gen/accuracy"),
        ("x" * 300, "x" * 250),
    ],
)
def test_names_are_what_mlflow_accepts(name: str, clean: str) -> None:
    assert _clean_name(name) == clean


def test_names_stay_different() -> None:
    assert list(_unique({"a@b": 1, "a_b": 2})) == [("a_b", 1), ("a_b_", 2)]


@pytest.mark.parametrize(
    ("uri", "is_local", "is_database"),
    [
        ("sqlite:///mlflow.db", True, True),
        ("./mlruns", True, False),
        ("file:///tmp/mlruns", True, False),
        ("http://127.0.0.1:5000", False, False),
        ("postgresql+psycopg://host/db", False, True),
        ("databricks", False, False),
    ],
)
def test_stores_of_mlflow(uri: str, is_local: bool, is_database: bool) -> None:
    assert (_is_local(uri), _is_database(uri)) == (is_local, is_database)


def test_a_tracker_that_is_not_set_up_is_an_error_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: object())
    problem = ("wandb has no API key", "run `wandb login`")
    monkeypatch.setattr(registry, "_load", lambda tracker, name: lambda **_: problem)
    with pytest.raises(UsageError, match=r"TRACK-003 wandb has no API key\. Fix: run `wandb login`"):
        require_trackers(parse_trackers(("wandb",)))
