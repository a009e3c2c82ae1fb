"""What trackers log of a run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.core.run import Cost, Setting
from assay.results.read import StoredRun
from assay.results.store import RunFolder
from assay.results.trackers import tracked_run
from assay.results.trackers.tracked_run import build_tracked_run
from fakes.run_folders import write_run


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    folder = write_run(tmp_path / "quiz-mock", ["yes", "yes it is"])
    stored = StoredRun(folder)
    settings = {
        "model": Setting("openai:m@http://me:s3cret@host/v1", "flag"),
        "model_args": Setting({"dtype": "float32", "api_key": "(hidden)"}, "flag"),
        "method": Setting(["ppl", "gen"], "file"),
        "shots": Setting(2, "env"),
        "seed": Setting(None, "default"),
        "offline": Setting(False, "default"),
    }
    cost = Cost("quiz", "gen", n_requests=2, n_prompt_tokens=14, seconds=0.5)
    manifest = msgspec.structs.replace(stored.manifest, settings=settings, costs=(cost,))
    RunFolder(folder).write_manifest(manifest)
    return StoredRun(folder)


def test_parameters_are_the_settings_with_a_value(run: StoredRun) -> None:
    assert build_tracked_run(run).parameters == {
        "model": "openai:m@http://(hidden)@host/v1",
        "model_args.dtype": "float32",
        "model_args.api_key": "(hidden)",
        "method": "gen",
        "shots": 2,
        "offline": False,
        "task": "quiz",
    }


def test_metrics_have_intervals_counts_and_costs(run: StoredRun) -> None:
    assert build_tracked_run(run).metrics == {
        "quiz/gen/accuracy": 1.0,
        "quiz/gen/accuracy_low": 0.5,
        "quiz/gen/accuracy_high": 1.0,
        "quiz/gen/n": 2,
        "quiz/gen/n_counted": 2,
        "quiz/gen/n_unanswered": 0,
        "quiz/gen/n_truncated": 0,
        "quiz/gen/n_failed": 0,
        "quiz/gen/n_requests": 2,
        "quiz/gen/n_prompt_tokens": 14,
        "quiz/gen/model_seconds": 0.5,
        "seconds": 1.5,
    }


def test_tags_identify_model_and_dataset(run: StoredRun) -> None:
    found = build_tracked_run(run)
    assert found.tags["assay.run"] == "quiz-mock"
    assert found.tags["model.digest"] == run.manifest.model.digest
    assert found.tags["dataset.hash"] == "0"
    assert [tuple(one) for one in found.datasets] == [("quiz", "quiz.csv", "0")]


def test_each_score_is_a_row_with_its_question(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    found = build_tracked_run(run)
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    assert rows[1] == {
        "task": "quiz",
        "method": "gen",
        "sample": "s1",
        "group": "",
        "question": "What is said?",
        "answer": "yes it is",
        "target": "yes",
        "verdict": "scored",
        "metric": "accuracy",
        "value": 1.0,
    }
    monkeypatch.setattr(tracked_run, "MOST_ROWS", 1)
    assert len(build_tracked_run(run).rows) == 1


def test_files_exist_and_have_no_responses(run: StoredRun) -> None:
    assert [path.name for path in build_tracked_run(run).files] == [
        "summary.json",
        "manifest.json",
        "scores.jsonl",
    ]
