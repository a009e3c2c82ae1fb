"""Matching rules from the command line: in a run, its meta file and a later scoring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.run import RunManifest
from assay.results.read import StoredRun
from cli import assay

REPLY = "answer=The capital of France is **Paris**."
FREE = {"question": "What is the capital of France?", "answer": "Paris"}
SEVERAL = {"question": "Which are capitals?", "A": "Paris", "B": "Lyon", "C": "Rome", "answer": ["A", "C"]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("free.jsonl").write_text(json.dumps(FREE) + "\n", encoding="utf-8")
    Path("several.jsonl").write_text(json.dumps(SEVERAL) + "\n", encoding="utf-8")


def values(run: str) -> dict[str, Any]:
    return {metric.metric: metric.value for metric in StoredRun(Path(run)).metrics()}


def manifest(run: str) -> RunManifest:
    return StoredRun(Path(run)).manifest


def test_a_stated_answer_is_right_and_the_others_are_listed_beside_it() -> None:
    result = assay("run", "free.jsonl", "-m", "mock", "--model-arg", REPLY, "--out", "run")
    assert result.status == 0
    assert "free gen exact" in result.out
    assert "free gen contains" in result.out
    assert values("run") == {"accuracy": 1.0, "exact": 0.0, "contains": 1.0, "f1": pytest.approx(1 / 3)}
    assert manifest("run").tasks[0].settings["match"] == "stated"
    explained = assay("explain", "run", "row:1").out
    assert "by asserted" in explained


def test_flag_and_meta_file_choose_what_decides() -> None:
    assay("run", "free.jsonl", "-m", "mock", "--model-arg", REPLY, "--match", "exact", "--out", "flag")
    Path("free.jsonl.meta.json").write_text('{"match": "contains"}', encoding="utf-8")
    assay("run", "free.jsonl", "-m", "mock", "--model-arg", REPLY, "--out", "meta")
    for run, match, value in (("flag", "exact", 0.0), ("meta", "contains", 1.0)):
        headline = next(metric for metric in StoredRun(Path(run)).metrics() if metric.is_headline)
        assert (headline.metric, headline.value) == (match, value)
        assert manifest(run).tasks[0].settings["match"] == match


def test_a_run_is_scored_by_another_way_of_matching_without_its_model() -> None:
    assay("run", "free.jsonl", "-m", "mock", "--model-arg", REPLY, "--out", "run")
    again = assay("score", "run", "--match", "exact")
    assert again.status == 0
    assert "1 of 1 scores changed: 0 higher, 1 lower" in again.out
    assert "stored as 002-exact" in again.out
    assert "stored as 003-again" in assay("score", "run").out


def test_a_judge_must_be_named() -> None:
    result = assay("run", "free.jsonl", "-m", "mock", "--match", "judge")
    assert result.status == 2
    assert "JUDGE-001" in result.err
    judged = assay(
        *("run", "free.jsonl", "-m", "mock", "--match", "judge", "--judge", "mock"),
        *("--judge-arg", "answer=yes", "--out", "judged"),
    )
    assert judged.status == 0
    assert values("judged") == {"gpt4_eval": 1.0}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--match", "exact", "--metric", "accuracy"), "RESCORE-003"),
        (("--match", "exact", "--judge", "mock"), "RESCORE-008"),
        (("--several-right", "any"), "RESCORE-004"),
        (("--match", "judge"), "JUDGE-001"),
    ],
)
def test_choices_that_do_not_fit_a_run_are_errors(options: tuple[str, ...], code: str) -> None:
    assay("run", "free.jsonl", "-m", "mock", "--model-arg", REPLY, "--out", "run")
    result = assay("score", "run", *options)
    assert result.status == 2
    assert code in result.err


def test_several_right_options_by_set_and_by_any() -> None:
    assay("run", "several.jsonl", "-m", "mock", "--model-arg", "answer=A", "--out", "run")
    assert values("run") == {"exact_set": 0.0}
    assert "stored as 002-any-right" in assay("score", "run", "--several-right", "any").out
    assert values("run") == {"any_right": 1.0}
    assay("run", "several.jsonl", "-m", "mock", "--model-arg", "answer=A and C", "--out", "both")
    assert values("both") == {"exact_set": 1.0}
    assay("run", "several.jsonl", "-m", "mock", "--method", "ppl", "--out", "ppl")
    assert "any_right" in values("ppl")
