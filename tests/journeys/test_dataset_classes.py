"""Dataset classes on the command line and the mock model, from an author's file to the report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli import assay, killed

CAPITALS = '''
"""A dataset in the original's style: imports inside methods, rows changed in place."""
import logging
from functools import cached_property
from logging import getLogger
from typing import List

from ..metric import Accuracy
from .multiple_choice_dataset import MultipleChoiceDataset

logger = getLogger(__name__)


class Capitals(MultipleChoiceDataset):
    instruction = "Answer the question.\\n\\n{{question}}{{'\\n' + options if options}}\\nAnswer:"
    metrics = [Accuracy()]
    category_column = "area"
    use_normalization = True
    normalization_prompt = "Question:\\nAnswer:"

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        from .utils import load_raw_dataset_from_file

        self.evaluation_data = load_raw_dataset_from_file("capitals.jsonl")
        self.example_data = self.evaluation_data

    def format_instance(self, instance):
        import random

        from .utils import load_raw_dataset_from_file  # noqa: F401

        instance["order"] = list(range(len(instance["options"])))
        random.shuffle(instance["order"])
        options: List[str] = [instance["options"][at] for at in instance["order"]]
        instance["gold"] = instance["order"].index(instance["answer"])
        return dict(question=instance["question"], options=options, target_idx=instance["gold"])

    @cached_property
    def references(self):
        return [row["gold"] for row in self.evaluation_data]
'''
INTERVIEW = """
from ..metric import Em, F1
from .generation_dataset import GenerationDataset


class Interview(GenerationDataset):
    instruction = "{{source[turn_idx]}}"
    metrics = [Em(), F1()]
    multi_turn = True

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        self.evaluation_data = [dict(first=f"What is {n}?", second="Are you sure?") for n in range(40)]

    def format_instance(self, instance):
        return dict(source=[instance["first"], instance["second"]], target="yes")

    def post_processing(self, predictions):
        from re import sub

        return [sub(r"\\\\W", "", answers[-1]) for answers in predictions]
"""


@pytest.fixture(autouse=True)
def files(workdir: Path) -> None:
    (workdir / "capitals.py").write_text(CAPITALS, encoding="utf-8")
    (workdir / "interview.py").write_text(INTERVIEW, encoding="utf-8")
    places = ["Rome", "Oslo", "Lima", "Cairo", "Tokyo"]
    rows = [
        {
            "question": f"Which place is number {n}?",
            "options": [places[(n + i) % 5] for i in range(3)],
            "answer": n % 3,
            "area": ("north", "south")[n % 2],
        }
        for n in range(24)
    ]
    (workdir / "capitals.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def summary(folder: Path) -> dict[tuple[str, str, str | None], dict[str, Any]]:
    rows = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return {(row["method"], row["metric"], row["group"]): row for row in rows}


def test_a_file_as_its_author_wrote_it(workdir: Path) -> None:
    command = ("capitals.py", "--method", "ppl,prob,gen", "--shots", "3")
    checked = assay("check", *command)
    assert checked.status == 0, checked.err
    result = assay("run", *command, "-m", "mock", "--out", "run")
    assert result.status == 0, result.err
    found = summary(workdir / "run")
    for method, name in (("ppl", "Accuracy:Norm"), ("prob", "Accuracy"), ("gen", "Accuracy")):
        assert re.search(rf"capitals +{method}.* 24/24", result.out)
        for group, n in ((None, 24), ("north", 12), ("south", 12)):
            assert found[method, name, group]["n"] == n
    for sample in lines(workdir / "run" / "samples.jsonl"):
        own = sample["sample"]["fields"]["question"]
        for context in sample["contexts"]:
            assert context.count(own) <= 1
    report = (workdir / "run" / "report.md").read_text(encoding="utf-8")
    assert "Accuracy:Norm" in report
    assert "shots_draw" in report
    assert "north" in assay("report", "run").out
    explained = assay("explain", "run", "row:2", "--no-tokens").out
    assert "by pmi" in explained
    assert "without question" in explained


def test_turns_are_shown_to_a_person(workdir: Path) -> None:
    result = assay("run", "interview.py", "-m", "mock", "--limit", "first:5", "--out", "run")
    assert result.status == 0, result.err
    assert re.search(r"interview +gen EM +5/5", result.out)
    assert re.search(r"interview +gen F1 +5/5", result.out)
    explained = assay("explain", "run", "row:3", "--no-tokens").out
    assert "What is 2?" in explained
    assert explained.index("user") < explained.index("Are you sure?") < explained.index("assistant")
    assert "by post_processing" in explained
    assert re.search(r"also +F1 [\d.]+", explained)
    # What an author's code looks for in an answer, Assay's own rules do not know.
    assert "rule" not in explained
    ask = lines(workdir / "run" / "samples.jsonl")[0]["asks"][0]
    assert ask["turns"] == ["Are you sure?"]


def test_the_first_rows_and_the_same_again(workdir: Path) -> None:
    command = ("run", "capitals.py", "-m", "mock", "--limit", "first:5", "--out", "run")
    assert assay(*command).status == 0
    rows = [sample["sample"]["origin"]["row"] for sample in lines(workdir / "run" / "samples.jsonl")]
    assert rows == [1, 2, 3, 4, 5]
    before = {path.name: path.read_bytes() for path in (workdir / "run").iterdir()}
    again = assay(*command)
    assert "stored responses" in again.err
    for name in ("scores.jsonl", "samples.jsonl", "summary.json", "responses.jsonl"):
        assert (workdir / "run" / name).read_bytes() == before[name]
    fresh = assay(*command, "--fresh")
    assert fresh.status == 0
    assert (workdir / "run" / "scores.jsonl").read_bytes() == before["scores.jsonl"]
    assert (workdir / "run.old-1").is_dir()
    sampled = assay("run", "capitals.py", "-m", "mock", "--limit", "5", "--out", "sampled")
    assert sampled.status == 0
    for sample in lines(workdir / "sampled" / "samples.jsonl"):
        row = sample["sample"]["origin"]["row"]
        assert sample["sample"]["fields"]["question"] == f"Which place is number {row - 1}?"


def test_failed_requests_are_asked_again_on_request(workdir: Path) -> None:
    command = ("run", "interview.py", "-m", "mock", "--model-arg", "fail_every=5", "--out", "run")
    first = assay(*command)
    assert first.status == 3
    row = summary(workdir / "run")["gen", "EM", None]
    assert 0 < row["n_failed"] < 40
    assert row["n_scored"] == 40 - row["n_failed"]
    failed = [score for score in lines(workdir / "run" / "scores.jsonl") if score["verdict"] == "failed"]
    assert len(failed) == row["n_failed"]
    assert any("turn 2" in score["why"] for score in failed)
    asked = len(lines(workdir / "run" / "responses.jsonl"))
    assay(*command, "--retry-failed")
    assert len(lines(workdir / "run" / "responses.jsonl")) == asked + row["n_failed"]


@pytest.mark.parametrize("dataset", ["capitals.py", "interview.py"])
def test_killed_and_resumed(workdir: Path, dataset: str) -> None:
    methods = ("--method", "ppl,gen") if dataset == "capitals.py" else ()
    command = [sys.executable, "-m", "assay", "run", dataset, "-m", "mock", *methods]
    late = "Which place is number 20?" if dataset == "capitals.py" else "What is 30?"
    journal = workdir / "killed" / "responses.jsonl"
    kept = killed([*command, "--model-arg", f"hang_on={late}", "--out", "killed"], journal, after=10)
    assert not (workdir / "killed" / "summary.json").exists()
    subprocess.run([*command, "--out", "killed"], check=True, capture_output=True)
    assert journal.read_bytes().startswith(kept)
    ids = [line["request_id"] for line in lines(journal)]
    assert len(ids) == len(set(ids))
    subprocess.run([*command, "--out", "whole"], check=True, capture_output=True)
    for name in ("scores.jsonl", "samples.jsonl", "summary.json"):
        assert (workdir / "killed" / name).read_bytes() == (workdir / "whole" / name).read_bytes()


def test_several_datasets_in_one_run(workdir: Path) -> None:
    (workdir / "table.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n", encoding="utf-8")
    result = assay("run", "capitals.py", "interview.py", "table.csv", "-m", "mock", "--out", "run")
    assert result.status == 0, result.err
    tasks = {score["task"] for score in lines(workdir / "run" / "scores.jsonl")}
    assert tasks == {"capitals", "interview", "table"}


def test_samples_and_their_vote(workdir: Path) -> None:
    text = INTERVIEW.replace("    multi_turn = True\n", "").replace("[answers[-1]", "[answers")
    text = text.replace("{{source[turn_idx]}}", "{{source}}").replace(
        'source=[instance["first"], instance["second"]]', 'source=instance["first"]'
    )
    text = text.replace("answers[-1]", "answers")
    (workdir / "voted.py").write_text(text, encoding="utf-8")
    result = assay("run", "voted.py", "-m", "mock", "--samples", "5", "--out", "run")
    assert result.status == 0, result.err
    assert "temperature 1 is used" in result.out
    responses = {
        line["request_id"]: line["outcome"]["outputs"] for line in lines(workdir / "run" / "responses.jsonl")
    }
    for score in lines(workdir / "run" / "scores.jsonl"):
        (outputs,) = [o for id_, o in responses.items() if f"/{score['sample_id']}/" in id_]
        texts = [output["text"] for output in outputs]
        assert len(texts) == 5
        most = max(map(texts.count, texts))
        assert score["answer"] == next(text for text in texts if texts.count(text) == most)
    assert len(re.findall("output: ", assay("explain", "run", "row:1", "--no-tokens").out)) == 5


def test_faithful_runs_say_so(workdir: Path) -> None:
    result = assay(
        "run", "capitals.py", "-m", "mock", "--method", "gen", "--fidelity", "faithful", "--out", "run"
    )
    assert result.status == 0, result.err
    report = (workdir / "run" / "report.md").read_text(encoding="utf-8")
    assert re.search(r"\| last_letter \|.*\| as the original \|", report)
    assert {score["rule"] for score in lines(workdir / "run" / "scores.jsonl")} == {"post_processing"}
