"""Metrics for rescoring: their arguments, and those of a dataset's own code."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from assay.app.metric_selection import METRICS, list_metric_arguments
from assay.scoring.metrics.rouge_sets import compute_set_rouge
from cli import assay
from fakes.leap_tasks import FREE, questions

SENTENCE = "the cat sat on the mat"
ROWS = [
    {"question": f"Say sentence {n}.", "answer": text}
    for n, text in enumerate(["the cat sat", "on the mat sat the cat", "a dog", SENTENCE] * 3)
]
WORDS = """
from ..metric import Em, F1
from .generation_dataset import GenerationDataset


class Longest:
    def __call__(self, predictions, references):
        return {"Longest": float(max(map(len, predictions))), "Shortest": float(min(map(len, predictions)))}


class Broken:
    def __call__(self, predictions, references):
        raise ValueError("it never works")


class Words(GenerationDataset):
    instruction = "{{q}}"
    metrics = [Em(), F1(), Longest()]

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        self.evaluation_data = [dict(q=f"Say {n}.", a=["yes", "yes it is", "no"][n % 3]) for n in range(12)]

    def format_instance(self, instance):
        return dict(q=instance["q"], target=instance["a"])

    @property
    def references(self):
        return [row["a"] for row in self.evaluation_data]
"""
TWO_NUMBERS = FREE.replace(
    'return {"acc": results[0] == doc["a"]}',
    'return {"acc": results[0] == doc["a"], "length": len(results[0]), "pair": (results[0], doc["a"])}',
).replace(
    'return {"acc": mean}',
    'return {"acc": mean, "length": mean, "pair": lambda pairs: len({one for one, _ in pairs}) / 4}',
)


@pytest.fixture(autouse=True)
def _data(workdir: Path) -> None:
    text = "".join(json.dumps(row) + "\n" for row in ROWS)
    (workdir / "sentences.jsonl").write_text(text, encoding="utf-8")
    (workdir / "words.py").write_text(WORDS, encoding="utf-8")
    (workdir / "quiz.py").write_text(TWO_NUMBERS, encoding="utf-8")
    (workdir / "rows.json").write_text(json.dumps({"validation": questions(12)}), encoding="utf-8")


def make_run(*arguments: str) -> dict[str, Any]:
    result = assay("run", *arguments, "-m", "mock", "--out", "run", "--json")
    assert result.status == 0, result.out + result.err
    return heads(json.loads(result.out))


def scored(*arguments: str) -> dict[str, Any]:
    """Score the run again; return what it is judged by now, each metric with its value."""
    result = assay("score", "run", *arguments, "--json")
    assert result.status == 0, result.out + result.err
    return heads(json.loads(result.out))


def heads(answer: dict[str, Any]) -> dict[str, Any]:
    return {
        one["metric"]: one["value"]
        for one in answer["metrics"]
        if (one["is_headline"] or one["is_named"]) and not one["group"]
    }


def refused(code: str, *arguments: str) -> str:
    before = sorted(path.name for path in Path("run").rglob("*"))
    result = assay("score", "run", *arguments)
    assert (result.status, code in result.err) == (2, True), result.out + result.err
    assert sorted(path.name for path in Path("run").rglob("*")) == before, "nothing was written"
    return result.err


@pytest.mark.parametrize(("n_gram", "index"), [("1", "f1"), ("2", "f1"), ("l", "recall"), ("2", "precision")])
def test_a_metric_takes_arguments(n_gram: str, index: str) -> None:
    make_run("sentences.jsonl", "--model-arg", f"answer={SENTENCE}")
    args = ("--metric-arg", f"n_gram={n_gram}", "--metric-arg", f"rouge.index={index}")
    ((name, value),) = scored("--metric", "rouge", "--extract", "whole", *args).items()
    wanted = [
        compute_set_rouge(SENTENCE, row["answer"], n_gram=n_gram, index=index[0], tokenizer="13a")
        for row in ROWS
    ]
    assert value == pytest.approx(statistics.fmean(wanted))
    # With other arguments it is another metric, which is not compared with the first by its name.
    assert name == f"rouge(n_gram={n_gram}, index={index})"
    manifest = json.loads(Path("run/manifest.json").read_text(encoding="utf-8"))
    assert manifest["scoring"]["chosen"]["metric_args"] == {"n_gram": n_gram, "rouge.index": index}
    assert any(f"metric_args n_gram={n_gram}, rouge.index={index}" in note for note in manifest["notes"])


def test_an_argument_goes_to_all_that_have_it_or_to_the_one_that_is_named() -> None:
    make_run("sentences.jsonl", "--model-arg", f"answer={SENTENCE}")
    both = ("--metric", "rouge,bleu", "--extract", "whole")
    scored(*both, "--metric-arg", "tokenizer=char", "--metric-arg", "rouge.n_gram=2")
    ((_, scorers),) = json.loads(Path("run/manifest.json").read_text(encoding="utf-8"))["scorers"].items()
    assert list(scorers[0]["args"]["metrics"].values()) == [
        {"type": "rouge", "tokenizer": "char", "n_gram": "2"},
        {"type": "bleu", "tokenizer": "char"},
    ]


@pytest.mark.parametrize(
    ("metric", "argument", "message"),
    [
        ("rouge", "ngram=2", "did you mean 'n_gram'"),
        ("rouge", "ngram=2", "rouge has 'tokenizer', 'index', 'n_gram'"),
        ("exact_match", "n_gram=2", "exact_match has none"),
        ("rouge", "bleu.tokenizer=char", "'bleu' is not chosen"),
        ("function_execution", "aggregation=pass", "aggregation is 'pass'; the values are"),
        ("gpt4_eval", "prompt=x", "gpt4_eval has none"),
        ("own:EM", "n_gram=2", "own:EM has none"),
    ],
)
def test_an_argument_that_is_unknown_is_reported_with_those_that_exist(
    metric: str, argument: str, message: str
) -> None:
    make_run("sentences.jsonl")
    assert message in refused("RESCORE-010", "--metric", metric, "--metric-arg", argument)


def test_values_that_a_metric_does_not_take_are_reported() -> None:
    make_run("sentences.jsonl")
    assert "expected one of '1'" in refused("SCORE-002", "--metric", "rouge", "--metric-arg", "n_gram=9")
    assert "no metric is named" in refused("RESCORE-010", "--metric-arg", "n_gram=2")
    assert "expected key=value" in refused("USAGE-005", "--metric", "rouge", "--metric-arg", "n_gram")


def test_every_argument_has_a_type() -> None:
    found = {metric: list_metric_arguments(metric) for metric in METRICS}
    assert found["rouge"] == {"tokenizer": str, "index": str, "n_gram": str}
    assert set(found["function_execution"]) == {"aggregation"}


def test_a_metric_of_a_dataset_s_own_code_is_chosen_by_name() -> None:
    own = make_run("words.py", "--model-arg", "answer=yes it was")
    assert list(own) == ["EM", "F1", "Longest", "Shortest"]
    chosen = scored("--metric", "own:F1,own:EM")
    assert chosen == {"F1": own["F1"], "EM": own["EM"]}
    lines = Path("run/scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["metric"] for line in lines} == {"F1"}, "the first one is used"
    assert scored("--metric", "own:Shortest") == {"Shortest": own["Shortest"]}
    assert scored() == own
    message = refused("RESCORE-003", "--metric", "own:Longst")
    assert "did you mean 'Longest'" in message
    assert "'own:EM', 'own:F1', 'own:Longest'" in message
    assert "cannot be combined with 'rouge'" in refused("RESCORE-003", "--metric", "own:F1,rouge")
    assert "reads answers" in refused("RESCORE-003", "--metric", "own:F1", "--extract", "whole")


def test_a_metric_that_nobody_asked_for_spoils_nothing(workdir: Path) -> None:
    own = make_run("words.py", "--model-arg", "answer=yes it was")
    broken = WORDS.replace("metrics = [Em(), F1(), Longest()]", "metrics = [Broken(), Em(), F1(), Longest()]")
    (workdir / "broken.py").write_text(broken, encoding="utf-8")
    command = ("broken.py", "-m", "mock", "--model-arg", "answer=yes it was", "--stage", "infer", "--fresh")
    assert assay("run", *command, "--out", "run").status == 0
    assert scored("--metric", "own:F1") == {"F1": own["F1"]}
    every = assay("score", "run")
    assert (every.status, "it never works" in every.out) == (3, True)
    assert "no score for broken gen: exit status 3" in every.err
    nothing = assay("score", "run", "--metric", "own:nothing")
    assert (nothing.status, "it never works" in nothing.err) == (2, True)


def test_values_of_documents_are_chosen_by_name(workdir: Path) -> None:
    own = make_run("quiz.py", "--model-arg", "answer=yes")
    assert set(own) == {"acc", "length", "pair"}
    assert scored("--metric", "own:length,own:acc") == {"length": own["length"], "acc": own["acc"]}
    lines = Path("run/scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["metric"] for line in lines} == {"length"}
    assert scored("--metric", "own:pair") == {"pair": own["pair"]}


def test_where_no_code_of_a_dataset_scores_there_is_no_such_metric() -> None:
    make_run("sentences.jsonl")
    assert "reported: none" in refused("RESCORE-003", "--metric", "own:accuracy")


def test_answers_that_were_never_scored_are_scored_by_one_of_the_dataset_s_metrics() -> None:
    result = assay("run", "words.py", "-m", "mock", "--stage", "infer", "--out", "run")
    assert result.status == 0, result.err
    assert list(scored("--metric", "own:F1")) == ["F1"]
    message = assay("score", "run", "--metric", "own:nothing")
    assert message.status == 2
    assert "reports no metric 'nothing'; its metrics are 'Em', 'F1', 'Longest'" in message.err
