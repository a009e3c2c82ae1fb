"""Logs of lm-eval in its newer and older forms, and damaged ones."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.app.import_log import import_log
from assay.core.errors import StoreError
from assay.core.run import LogFact
from assay.results.read import StoredRun

STAMP = "2026-11-18T21-44-50.250804"


def write_log(
    folder: Path, samples: Mapping[str, list[dict[str, Any]]], results: dict[str, Any], stamp: str = STAMP
) -> Path:
    """Write a log as the newer versions do."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"results_{stamp}.json").write_text(json.dumps(results))
    for task, lines in samples.items():
        content = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"samples_{task}_{stamp}.jsonl").write_text(content)
    return folder


def choice(doc_id: int, target: Any, sums: list[float], acc: float) -> dict[str, Any]:
    """Return one line of a multiple-choice task."""
    return {
        "doc_id": doc_id,
        "doc": {"question": f"What is {doc_id}?", "choices": ["ay", "bee"]},
        "target": target,
        "arguments": {
            f"gen_args_{n}": {"arg_0": f"Q: What is {doc_id}?\nA:", "arg_1": f" {text}"}
            for n, text in enumerate(("ay", "bee"))
        },
        "resps": [[[str(one), "False"]] for one in sums],
        "filtered_resps": [[str(one), "False"] for one in sums],
        "filter": "none",
        "metrics": ["acc"],
        "acc": acc,
    }


CHOICES = [choice(0, "0", [-1.0, -2.0], 1.0), choice(1, "1", [-1.5, -2.5], 0.0)]
RESULTS = {
    "results": {"letters": {"alias": "letters", "acc,none": 0.5, "acc_stderr,none": 0.5}},
    "configs": {"letters": {"task": "letters", "output_type": "multiple_choice", "dataset_path": "a/b"}},
    "n-shot": {"letters": 2},
    "higher_is_better": {"letters": {"acc": True}},
    "n-samples": {"letters": {"original": 10, "effective": 2}},
    "config": {"model": "hf", "model_args": "pretrained=org/name,dtype=float32", "limit": 2},
    "date": 1795038287.3,
    "lm_eval_version": "0.4.13",
}


def load(path: Path, tmp_path: Path) -> StoredRun:
    return import_log(path, format_name=None, out=tmp_path / "run", runs_dir=tmp_path).run


def test_a_multiple_choice_task(tmp_path: Path) -> None:
    run = load(write_log(tmp_path / "log", {"letters": CHOICES}, RESULTS), tmp_path)
    (metric,) = run.metrics()
    assert (metric.task, metric.method, metric.metric, metric.value) == ("letters", "ppl", "acc", 0.5)
    assert metric.low is not None
    assert metric.low < 0.5
    first, second = run.scores()
    assert [one.sum_logprob for one in first.options] == [-1.0, -2.0]
    assert (first.answer, first.target, first.value) == ("A", "A", 1.0)
    assert (second.answer, second.target, second.value) == ("A", "B", 0.0)
    (spec,) = run.manifest.tasks
    assert (spec.source, spec.n_rows, spec.n_samples, spec.settings["shots"]) == ("a/b", 10, 2, 2)
    model = run.manifest.model
    assert (model.backend, model.name, model.args) == ("hf", "org/name", {"dtype": "float32"})
    imported = run.manifest.imported
    assert imported is not None
    assert imported.metrics[0].stderr == 0.5
    assert run.manifest.lacks(LogFact.N_TOKENS)
    assert not run.manifest.lacks(LogFact.PROMPTS)
    assert not run.manifest.notes


def test_the_older_form_without_filters_and_with_lists(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    line = choice(0, 0, [-1.0, -2.0], 1.0) | {
        "arguments": [["Q: What is 0?\nA:", " ay"], ["Q: What is 0?\nA:", " bee"]],
        "resps": [[[-1.0, False]], [[-2.0, True]]],
    }
    for key in ("filter", "metrics"):
        line.pop(key)
    (folder / "pretrained__org__name_letters.jsonl").write_text(json.dumps(line) + "\n")
    old = {
        "results": {"letters": {"acc,none": 1.0}},
        "configs": RESULTS["configs"],
        "config": RESULTS["config"],
    }
    (folder / "results.json").write_text(json.dumps(old))
    run = load(folder, tmp_path)
    (score,) = run.scores()
    assert (score.task, score.metric, score.value, score.answer) == ("letters", "acc", 1.0, "A")
    assert [one.is_greedy for one in score.options] == [False, True]


def test_filters_are_metrics_and_their_lines_are_far_apart(tmp_path: Path) -> None:
    def line(doc_id: int, chosen: str, answer: str, value: float) -> dict[str, Any]:
        return {
            "doc_id": doc_id,
            "doc": {"question": f"{doc_id}?"},
            "target": "7",
            "arguments": {
                "gen_args_0": {"arg_0": f"Q: {doc_id}?", "arg_1": {"until": ["\n"], "max_gen_toks": 9}}
            },
            "resps": [["it is 7", "no"]],
            "filtered_resps": [answer],
            "filter": chosen,
            "metrics": ["exact_match"],
            "exact_match": value,
        }

    lines = [
        line(n, chosen, "7", float(chosen == "loose")) for chosen in ("strict", "loose") for n in range(3)
    ]
    results = {"results": {"sums": {"exact_match,strict": 0.0, "exact_match,loose": 1.0}}}
    run = load(write_log(tmp_path / "log", {"sums": lines}, results), tmp_path)
    assert {one.metric: one.value for one in run.metrics()} == {
        "exact_match,strict": 0.0,
        "exact_match,loose": 1.0,
    }
    assert len(list(run.samples())) == 3
    assert sum(1 for _ in run.responses()) == 6  # Two repeats of three documents.
    record = next(run.samples())
    sampling = record.asks[0].sampling
    assert sampling is not None
    assert (sampling.max_tokens, sampling.stop) == (9, ("\n",))


def test_perplexities_are_ratios(tmp_path: Path) -> None:
    lines = [
        {
            "doc_id": n,
            "doc": {"page": "a b c"},
            "target": "a b c",
            "arguments": {"gen_args_0": {"arg_0": "a b c"}},
            "resps": [[str(-3.0 - n)]],
            "filter": "none",
            "metrics": ["word_perplexity", "bits_per_byte"],
            "word_perplexity": [-3.0 - n, 3],
            "bits_per_byte": [-3.0 - n, 5],
        }
        for n in range(2)
    ]
    results = {
        "results": {
            "texts": {"word_perplexity,none": math.exp(7 / 6), "bits_per_byte,none": 0.7 / math.log(2)}
        }
    }
    run = load(write_log(tmp_path / "log", {"texts": lines}, results), tmp_path)
    values = {one.metric: one.value for one in run.metrics()}
    assert values["word_perplexity"] == pytest.approx(math.exp(7 / 6))
    assert values["bits_per_byte"] == pytest.approx(0.7 / math.log(2))
    assert not [note for note in run.manifest.notes if "computed" in note]


def test_a_group_and_a_metric_without_values_per_sample(tmp_path: Path) -> None:
    results = {
        "results": {
            "one": {"acc,none": 0.5, "mcc,none": 0.25},
            "two": {"acc,none": 2 / 3},
            "both": {"acc,none": 0.6},
        },
        "groups": {"both": {"acc,none": 0.6}},
        "group_subtasks": {"both": ["one", "two"]},
        "n-samples": {"one": {"original": 2, "effective": 2}, "two": {"original": 3, "effective": 3}},
    }
    samples = {"one": CHOICES, "two": [*CHOICES, choice(2, "0", [-1.0, -2.0], 1.0)]}
    run = load(write_log(tmp_path / "log", samples, results), tmp_path)
    metrics = {(one.task, one.metric): one for one in run.metrics()}
    assert metrics["both", "acc"].value == pytest.approx(0.6)
    assert metrics["both", "acc"].low is not None
    assert metrics["one", "mcc"].value == 0.25
    assert metrics["one", "mcc"].low is None


def test_a_total_that_differs_is_noted(tmp_path: Path) -> None:
    wrong = json.loads(json.dumps(RESULTS))
    wrong["results"]["letters"]["acc,none"] = 0.9
    run = load(write_log(tmp_path / "log", {"letters": CHOICES}, wrong), tmp_path)
    (note,) = run.manifest.notes
    assert "acc is 0.9 in the log, and 0.5 computed" in note


def test_samples_alone_say_that_the_results_are_missing(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {"letters": CHOICES}, RESULTS)
    next(folder.glob("results*")).unlink()
    run = load(folder, tmp_path)
    assert [one.value for one in run.metrics()] == [0.5]
    assert run.manifest.lacks(LogFact.MODEL)
    assert "no results file" in run.manifest.notes[0]


def test_results_alone_cannot_be_imported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"LOG-005.*--log_samples"):
        load(write_log(tmp_path / "log", {}, RESULTS), tmp_path)


def test_a_truncated_line_is_named(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {"letters": CHOICES}, RESULTS)
    path = next(folder.glob("samples*"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match=r"LOG-003.*line 2"):
        load(folder, tmp_path)
    assert not (tmp_path / "run").exists()


def test_a_truncated_results_file_is_named(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {"letters": CHOICES}, RESULTS)
    path = next(folder.glob("results*"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match=r"LOG-003.*results_"):
        load(folder, tmp_path)


def test_two_runs_in_one_folder(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {"letters": CHOICES}, RESULTS)
    write_log(folder, {"letters": CHOICES}, RESULTS, "2026-11-19T00-00-00")
    with pytest.raises(StoreError, match=r"LOG-004.*2 runs"):
        load(folder, tmp_path)
    one = load(folder / f"results_{STAMP}.json", tmp_path)
    assert len(list(one.samples())) == 2


def test_a_document_that_occurs_twice(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"LOG-009.*'0' occurs twice"):
        load(write_log(tmp_path / "log", {"letters": [CHOICES[0]] * 2}, RESULTS), tmp_path)


def test_the_same_log_is_imported_once(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {"letters": CHOICES}, RESULTS)
    first = import_log(folder, format_name=None, out=None, runs_dir=tmp_path / "runs")
    again = import_log(folder, format_name="lm-eval", out=None, runs_dir=tmp_path / "runs")
    assert (first.is_new, again.is_new) == (True, False)
    assert first.run.path == again.run.path
