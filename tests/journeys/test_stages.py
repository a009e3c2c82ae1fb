"""Stages: query the model now and score later, without it, with other answers, or with missing ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import StoreError
from assay.core.model import ModelIdentity
from assay.core.run import RunStatus
from assay.results.store import RunFolder, read_manifest
from cli import assay

ROWS = [f"{n}+{n}=,{n},{2 * n},B\n" for n in range(1, 9)]
MOCK = ("-m", "mock", "--model-arg", "answer=B")


@pytest.fixture(autouse=True)
def _data(workdir: Path) -> None:
    write(workdir, ROWS)


def write(folder: Path, rows: list[str]) -> None:
    (folder / "data.csv").write_text("question,A,B,answer\n" + "".join(rows), encoding="utf-8")


def manifest(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return read


def test_inference_now_and_scores_later(workdir: Path) -> None:
    asked = assay("run", "data.csv", *MOCK, "--stage", "infer", "--out", "run")
    assert asked.status == 0, asked.err
    assert "stored answers to 8 requests for 8 samples" in asked.out
    assert "--stage score" in asked.out
    assert manifest(workdir / "run")["status"] == "answered"
    assert not (workdir / "run" / "summary.json").exists()
    assert "answered, not scored yet" in assay("report", "run").out
    scored = assay("run", "data.csv", *MOCK, "--stage", "score", "--out", "run")
    assert scored.status == 0, scored.err
    assert "100.0" in scored.out
    assert manifest(workdir / "run")["status"] == "complete"
    at_once = assay("run", "data.csv", *MOCK, "--out", "whole")
    numbers = [
        json.loads((workdir / name / "summary.json").read_text(encoding="utf-8")) for name in ("run", "whole")
    ]
    assert at_once.status == 0
    assert numbers[0] == numbers[1], "in two stages or at once: the same numbers"


def test_the_model_is_not_opened(workdir: Path) -> None:
    assert assay("run", "data.csv", *MOCK, "--stage", "infer", "--out", "run").status == 0
    gone = ("-m", "hf:/nowhere", "--stage", "score", "--answers-from", "run")
    scored = assay("run", "data.csv", *gone)
    assert scored.status == 0, scored.err
    assert "the answers come from mock; hf:/nowhere was not queried" in scored.out
    assert manifest(workdir / "run")["status"] == "answered", "another run's folder is left as it is"


def test_the_latest_run_that_fits_is_found(workdir: Path) -> None:
    assert assay("run", "data.csv", *MOCK, "--stage", "infer").status == 0
    assert assay("run", "data.csv", "-m", "mock", "--stage", "infer").status == 0
    assert "100.0" in assay("run", "data.csv", *MOCK, "--stage", "score").out
    none = assay("run", "data.csv", "-m", "mock:other", "--stage", "score")
    assert (none.status, "STORE-007" in none.err) == (2, True)
    assert "there is no run of 'mock:other' on 'data.csv' in this folder" in none.err


def test_a_right_answer_that_was_corrected_is_scored_again(workdir: Path) -> None:
    assert assay("run", "data.csv", *MOCK, "--stage", "infer", "--out", "run").status == 0
    write(workdir, [ROWS[0].replace(",B", ",A"), *ROWS[1:]])
    scored = assay("run", "data.csv", *MOCK, "--stage", "score", "--answers-from", "run", "--out", "new")
    assert scored.status == 0, scored.err
    assert "87.5" in scored.out
    assert "reused 8 of 8 answers from the run that was scored" in scored.out
    journal = (workdir / "new" / "responses.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(journal) == 8, "the new run is independent"


def test_what_was_never_asked_has_failed_and_can_still_be_asked(workdir: Path) -> None:
    assert assay("run", "data.csv", *MOCK, "--stage", "infer", "--out", "run").status == 0
    write(workdir, [*ROWS, "9+9=,9,18,B\n"])
    command = ("run", "data.csv", *MOCK, "--out", "new")
    scored = assay(*command, "--stage", "score", "--answers-from", "run")
    assert scored.status == 3
    assert "8/9" in scored.out
    assert "1 requests were never sent to the model" in scored.out
    whole = assay(*command)
    assert whole.status == 0, "that it was not asked is no answer that a journal keeps"
    assert "9/9" in whole.out


def test_another_prompt_is_another_question(workdir: Path) -> None:
    assert assay("run", "data.csv", *MOCK, "--stage", "infer", "--out", "run").status == 0
    other = assay(
        *(
            "run",
            "data.csv",
            *MOCK,
            "--stage",
            "score",
            "--answers-from",
            "run",
            "--human-prompt",
            "Say: {question}",
        )
    )
    assert other.status == 2
    assert "the run has no answers for the requests of 'data'" in other.err


def test_examples_that_did_not_fit_then_do_not_come_back(workdir: Path) -> None:
    short = ("-m", "mock", "--model-arg", "context_length=60", "--shots", "5", "--max-tokens", "4")
    assert assay("run", "data.csv", *short, "--stage", "infer", "--out", "run").status == 0
    scored = assay("run", "data.csv", *short, "--stage", "score", "--out", "run")
    assert scored.status == 0, scored.err
    assert "had fewer examples than requested during the run" in scored.out


def test_failures_stay_failures(workdir: Path) -> None:
    failing = ("-m", "mock", "--model-arg", "fail_every=2")
    asked = assay("run", "data.csv", *failing, "--stage", "infer", "--out", "run")
    assert asked.status == 3
    assert "samples failed" in asked.out
    scored = assay("run", "data.csv", *failing, "--stage", "score", "--answers-from", "run", "--out", "new")
    assert scored.status == 3
    assert "never asked" not in scored.out


def test_answers_that_were_given_to_no_judge_are_scored_with_one_in_the_same_folder(workdir: Path) -> None:
    """The judge makes it another run, but not before anything was judged."""
    assert assay("run", "data.csv", *MOCK, "--stage", "infer", "--out", "run").status == 0
    manifest_file = workdir / "run" / "manifest.json"
    earlier = read_manifest(workdir / "run")
    assert earlier is not None
    judged = msgspec.structs.replace(earlier, judge=ModelIdentity("mock", "mock:judge"))
    folder = RunFolder(workdir / "run")
    assert folder.claim(judged) == earlier
    folder.release()
    done = msgspec.structs.replace(earlier, status=RunStatus.COMPLETE)
    manifest_file.write_bytes(msgspec.json.encode(done))
    with pytest.raises(StoreError, match="contains another run"):
        folder.claim(judged)
