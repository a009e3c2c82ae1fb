"""A new user's steps with a dataset folder: new, check, run, explain, report; a wrong row."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli import assay


@pytest.fixture
def quiz(workdir: Path) -> Path:
    assert assay("new", "quiz", "--like", "ultraeval").status == 0
    return workdir / "quiz"


def manifest_task(run: Path) -> dict[str, object]:
    (task,) = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["tasks"]
    assert isinstance(task, dict)
    return task


def test_from_a_new_folder_to_a_report(quiz: Path, workdir: Path) -> None:
    checked = assay("check", "quiz", "--prompts", "1")
    assert checked.status == 0, checked.err
    assert "quiz  8 rows, choice by gen" in checked.out
    assert "(B) Mercury" in checked.out

    ran = assay(
        "run", "quiz", "-m", "mock", "--model-arg", "answer=(B)", "--method", "gen,ppl", "--out", "first"
    )
    assert ran.status == 0, ran.err
    # The mock says (B) to everything; that is right for two of the eight.
    assert re.search(r"^quiz +gen +8/8 +25\.0 ", ran.out, re.MULTILINE)

    explained = assay("explain", "first", "row:1")
    assert explained.status == 0, explained.err
    for part in ("Which planet is nearest to the Sun?", "whole_output", "Question: ", "sentence_sum"):
        assert part in explained.out

    listed = assay("ls", "--runs-dir", str(workdir))
    assert (listed.status, "quiz" in listed.out) == (0, True)

    reported = assay("report", "first", "--markdown")
    assert reported.status == 0
    for part in ("quiz", "accuracy", "transform_gen_v0.py", "trailing_space"):
        assert part in reported.out


def test_another_wording_is_tried_beside_the_first(quiz: Path, workdir: Path) -> None:
    script = (quiz / "transform_gen_v0.py").read_text(encoding="utf-8")
    (quiz / "transform_gen_v1.py").write_text(script.replace("Question:", "Riddle:"), encoding="utf-8")
    # The config goes on naming the first.
    assert "Question: Which planet" in assay("check", "quiz").out
    assert assay("run", "quiz", "-m", "mock", "--transform", "v1", "--out", "second").status == 0
    settings = manifest_task(workdir / "second")["settings"]
    assert isinstance(settings, dict)
    assert settings["transform"]["gen"] == {
        "file": "transform_gen_v1.py",
        "version": "v1",
        "available": ["transform_gen_v0.py", "transform_gen_v1.py"],
    }
    samples = (workdir / "second" / "samples.jsonl").read_text(encoding="utf-8")
    assert samples.count("Riddle: ") == 8


def test_the_config_decides_how_it_is_asked_and_scored(quiz: Path, workdir: Path) -> None:
    path = quiz / "config" / "quiz_gen.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config |= {"fewshot": 2, "description": "A small quiz.", "postprocess": "until_return_post"}
    config["metric"]["first_letter"] = {"evaluation": {"type": "prefix_match"}}
    path.write_text(json.dumps(config), encoding="utf-8")
    ran = assay("run", "quiz", "-m", "mock", "--model-arg", "answer=(A)\n(B)", "--out", "run")
    assert ran.status == 0, ran.err
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    assert {score["answer"] for score in scores} == {"(A)"}
    assert {score["rule"] for score in scores} == {"until_return_post"}
    assert (
        sum(score["value"] for score in scores) == sum(score["also"]["first_letter"] for score in scores) == 2
    )
    sample = json.loads((workdir / "run" / "samples.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert sample["contexts"][0].startswith("A small quiz.\n\nChoose the right option")
    assert sample["contexts"][0].count("Question: ") == 3
    # What is said on the command line wins.
    assert assay("run", "quiz", "-m", "mock", "--shots", "0", "--out", "none").status == 0
    assert "Sun alone" not in (workdir / "none" / "samples.jsonl").read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.parametrize(("fidelity", "answer"), [("corrected", "B"), ("faithful", "A")])
def test_a_config_may_name_a_post_processor_of_another_system(
    quiz: Path, workdir: Path, fidelity: str, answer: str
) -> None:
    path = quiz / "config" / "quiz_gen.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["postprocess"] = {"type": "last_option_postprocess", "options": "ABCD"}
    path.write_text(json.dumps(config), encoding="utf-8")
    message = "answer=The answer is (B). All is well."
    ran = assay("run", "quiz", "-m", "mock", "--model-arg", message, "--fidelity", fidelity, "--out", "run")
    assert ran.status == 0, ran.err
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    assert {score["answer"] for score in scores} == {answer}
    quirks = manifest_task(workdir / "run")["quirks"]
    assert isinstance(quirks, list)
    assert "last_option_postprocess" in {difference["name"] for difference in quirks}
    explained = assay("explain", "run", "row:1")
    assert (explained.status, "last_option_postprocess" in explained.out) == (0, True)


def test_rows_of_ones_own_are_prepared_and_evaluated(quiz: Path) -> None:
    raw = quiz / "raw" / "questions.csv"
    raw.write_text(raw.read_text(encoding="utf-8") + "What is 3 times 3?,9,6,3,33,A\n", encoding="utf-8")
    prepared = assay("prepare", "quiz")
    assert (prepared.status, "quiz: 9 rows" in prepared.out) == (0, True)
    assert re.search(r"^quiz +gen +9/9 ", assay("run", "quiz", "-m", "mock").out, re.MULTILINE)


def test_a_wrong_row_is_named_and_fixed(quiz: Path, workdir: Path) -> None:
    data = quiz / "data" / "quiz.jsonl"
    right = data.read_text(encoding="utf-8")
    data.write_text(right.replace('"56": 1', '"56": 0'), encoding="utf-8")
    for command, status in (("check", 1), ("run", 2)):
        flags = () if command == "check" else ("-m", "mock")
        refused = assay(command, "quiz", *flags)
        message = refused.out + refused.err
        assert refused.status == status
        for part in (
            "ULTRAEVAL-005 quiz/data/quiz.jsonl row 5 (line 5)",
            "transform_gen_v0.py line ",
            "What is 7 times 8?",
            "no option in 'target_scores' is right",
        ):
            assert part in message
        assert "row 4" not in message
    assert not (workdir / "runs").exists()
    data.write_text(right, encoding="utf-8")
    assert assay("run", "quiz", "-m", "mock").status == 0
