"""A cascade in a dataset class on the command line, with the mock as the model and as the judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli import assay

SUMS = '''
"""Sums: equal to the right answer, or right in the eyes of a judge."""
from functools import cached_property

from assay.core.prompt import Message
from assay.scoring.originals.opencompass.evaluators.cascade import Cascade
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator
from assay.scoring.originals.opencompass.evaluators.judged import JudgedEvaluator
from .generation_dataset import GenerationDataset


class Equal(Evaluator):
    scale = 100.0

    def __call__(self, predictions, references):
        return self._mean("accuracy", [float(one == row.gold) for one, row in zip(predictions, references)])


def render(row, prediction):
    return (Message("user", row.fields["question"] + " Right: " + row.gold + " Said: " + prediction),)


class Sums(GenerationDataset):
    instruction = "{{question}}"
    metrics = [Cascade(Equal(), JudgedEvaluator(render), parallel=False)]
    extra_model_args = dict(temperature=0, max_tokens=16)

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        golds = ["A", "7", "A", "9"]
        self.evaluation_data = [dict(question=f"What is {n}?", gold=gold) for n, gold in enumerate(golds)]

    def format_instance(self, instance):
        return dict(question=instance["question"], target=instance["gold"])

    @cached_property
    def references(self):
        return [EvaluatedRow(row["gold"], row) for row in self.evaluation_data]
'''


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_cascade_asks_the_judge_about_the_rest_and_again_nothing(workdir: Path) -> None:
    (workdir / "sums.py").write_text(SUMS, encoding="utf-8")
    command = ["run", "sums.py", "-m", "mock", "--judge", "mock", "--model-arg", "answer=A", "--out", "run"]
    result = assay(*command)
    assert result.status == 0, result.out + result.err
    scores = lines(workdir / "run" / "scores.jsonl")
    assert [score["value"] for score in scores] == [1, 1, 1, 1]
    assert [score["also"]["decided_by_judge"] for score in scores] == [0, 1, 0, 1]
    assert "the rule decided 2 rows, the judge 2" in result.out + result.err
    summary = json.loads((workdir / "run" / "summary.json").read_text(encoding="utf-8"))
    values = {metric["metric"]: metric["value"] for metric in summary if metric["group"] is None}
    assert values == {
        "accuracy": 1.0,
        "rule_accuracy": 0.5,
        "decided_by_judge": 0.5,
        "llm_accuracy": 1.0,
        "llm_evaluated": 2,
        "llm_correct": 2,
    }
    replies = [score.get("judged", []) for score in scores]
    assert [len(some) for some in replies] == [0, 1, 0, 1]
    (reply,) = replies[1]
    asked = lines(workdir / "run" / "judgements.jsonl")
    assert reply == {
        "about": "answer",
        "verdict": "scored",
        "value": 1.0,
        "text": asked[0]["outcome"]["outputs"][0]["text"],
        "rule": "opening",
        "said": "right",
        "span": [0, 1],
        "prompt": [{"role": "user", "content": "What is 1? Right: 7 Said: A"}],
    }
    explained = assay("explain", "run", scores[1]["sample_id"], "--no-tokens")
    assert "judge prompt: answer" in explained.out
    assert "Right: 7 Said: A" in explained.out
    assert "right, score 1, by opening at 0..1" in explained.out
    assert result.status == assay(*command).status
    assert lines(workdir / "run" / "judgements.jsonl") == asked


def test_a_verdict_that_cannot_be_read_is_failed_and_counted(workdir: Path) -> None:
    (workdir / "sums.py").write_text(SUMS, encoding="utf-8")
    command = ["run", "sums.py", "-m", "mock", "--judge", "mock", "--model-arg", "answer=Well"]
    result = assay(*command, "--out", "run")
    assert result.status == 3, result.out + result.err
    scores = lines(workdir / "run" / "scores.jsonl")
    assert {score["verdict"] for score in scores} == {"failed"}
    assert {score["why"] for score in scores} == {
        "no verdict from the judge: answer: no verdict in the reply"
    }
    assert [reply["text"] for score in scores for reply in score["judged"]] == ["Well"] * 4
    explained = assay("explain", "run", scores[0]["sample_id"], "--no-tokens")
    assert "judge reply: answer" in explained.out
    assert "no verdict in the reply" in explained.out


def test_a_judge_must_be_named(workdir: Path) -> None:
    (workdir / "sums.py").write_text(SUMS, encoding="utf-8")
    result = assay("run", "sums.py", "-m", "mock", "--out", "run")
    assert result.status == 2
    assert "JUDGE-001" in result.err


def test_a_judge_that_nothing_asks_is_reported(workdir: Path) -> None:
    Path("data.csv").write_text("question,A,B,answer\n1+1=,2,3,A\n", encoding="utf-8")
    result = assay("run", "data.csv", "-m", "mock", "--judge", "mock")
    assert "the judge mock was not asked" in result.out
    Path("assay.toml").write_text('judge = "mock"\n', encoding="utf-8")
    assert "was not asked" not in assay("run", "data.csv", "-m", "mock").out
