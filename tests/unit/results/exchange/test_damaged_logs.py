"""A damaged log gives an error that names the place, and no run folder."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.app.import_log import import_log
from assay.core.errors import Problem, StoreError

Change = Callable[[dict[str, Any]], object]


def _write_lm_eval(folder: Path, *, results: Change | None = None, sample: Change | None = None) -> Path:
    log: dict[str, Any] = {
        "results": {"sums": {"exact_match,none": 1.0}},
        "configs": {"sums": {"output_type": "generate_until"}},
        "n-shot": {"sums": 0},
    }
    line: dict[str, Any] = {
        "doc_id": 0,
        "doc": {"question": "1 + 1"},
        "target": "2",
        "arguments": {"gen_args_0": {"arg_0": "1 + 1", "arg_1": {"until": ["\n"]}}},
        "resps": [["2"]],
        "filtered_resps": ["2"],
        "filter": "none",
        "metrics": ["exact_match"],
        "exact_match": 1.0,
    }
    for change, content in ((results, log), (sample, line)):
        if change is not None:
            change(content)
    folder.mkdir()
    (folder / "results_2026-11-18T10-00-00.json").write_text(json.dumps(log))
    (folder / "samples_sums_2026-11-18T10-00-00.jsonl").write_text(json.dumps(line) + "\n")
    return folder


def _read_problem(path: Path, format_name: str | None, tmp_path: Path) -> Problem:
    out = tmp_path / "out" / "run"
    with pytest.raises(StoreError) as caught:
        import_log(path, format_name=format_name, out=out, runs_dir=tmp_path)
    assert not out.exists()
    assert not [*out.parent.glob("*"), *out.parent.glob(".*")] or not out.parent.exists()
    return caught.value.problems[0]


def test_the_log_is_read_when_nothing_is_damaged(tmp_path: Path) -> None:
    done = import_log(_write_lm_eval(tmp_path / "log"), format_name=None, out=None, runs_dir=tmp_path)
    assert done.run.metrics()[0].value == 1


@pytest.mark.parametrize(
    ("results", "sample", "what"),
    [
        (lambda log: log.update({"n-shot": True}), None, "'n-shot' is True"),
        (
            lambda log: log.update(group_subtasks={"all": 3}),
            None,
            "the list of tasks of the group 'all' is 3",
        ),
        (None, lambda line: line.update(resps=7), "resps has 7, which is not a reply"),
        (None, lambda line: line.update(doc_id=[1]), "doc_id is '[1]', expected a number"),
        (None, lambda line: line.update(resps=[[{}]]), "resps has {}, which is not a reply"),
    ],
)
def test_wrong_types_of_lm_eval(
    tmp_path: Path, results: Change | None, sample: Change | None, what: str
) -> None:
    problem = _read_problem(
        _write_lm_eval(tmp_path / "log", results=results, sample=sample), "lm-eval", tmp_path
    )
    assert problem.code == "LOG-003"
    assert what in problem.what
    assert problem.where is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.update(metrics=["exact_match", []]),
        lambda line: line.update(exact_match=10**400, metrics=["exact_match"]),
        lambda line: line["arguments"]["gen_args_0"].update(arg_1={"until": True, "max_gen_toks": "x"}),
        lambda line: line.update(assay={"scores": 3}),
    ],
)
def test_values_that_do_not_matter_are_left_out(tmp_path: Path, change: Change) -> None:
    log = _write_lm_eval(tmp_path / "log", sample=change)
    assert len(list(import_log(log, format_name=None, out=None, runs_dir=tmp_path).run.samples())) == 1


@pytest.mark.parametrize(
    ("column", "cell"), [("n_tokens", "many"), ("n_tokens", "9" * 40), ("row", "1.5"), ("value", "inf")]
)
def test_wrong_cells(tmp_path: Path, column: str, cell: str) -> None:
    row = {
        "id": "1",
        "value": "1",
        "response": "x",
        "finish": "end",
        "n_tokens": "3",
        "row": "1",
        column: cell,
    }
    path = tmp_path / "log.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow(row)
    problem = _read_problem(path, None, tmp_path)
    assert (problem.code, problem.where is not None and problem.where.line) == ("LOG-003", 2)


def test_other_metrics_that_are_not_numbers(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('id,value,other_metrics\n1,1,"{""f1"": ""high""}"\n')
    assert "'high' is not a number" in _read_problem(path, None, tmp_path).what


@pytest.mark.parametrize("format_name", ["inspect", "every-eval-ever"])
def test_an_empty_folder(tmp_path: Path, format_name: str) -> None:
    (tmp_path / "log").mkdir()
    assert _read_problem(tmp_path / "log", format_name, tmp_path).code == "LOG-002"


def test_a_csv_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xff\xfe\x00id,value\n")
    assert _read_problem(path, "csv", tmp_path).code == "LOG-003"
    assert _read_problem(path, None, tmp_path).code == "LOG-002"


def test_brier_scores_of_documents_are_computed_from_the_probabilities(tmp_path: Path) -> None:
    def change(line: dict[str, Any]) -> None:
        line.update(metrics=["brier_score"], brier_score=[1, "[0.25 0.5 0.25]"])

    run = import_log(
        _write_lm_eval(tmp_path / "log", sample=change), format_name=None, out=None, runs_dir=tmp_path
    ).run
    assert [one.value for one in run.metrics() if one.metric == "brier_score"] == [0.375]


def test_sums_of_opencompass_options_follow_from_the_mean_per_byte(tmp_path: Path) -> None:
    text = "Is it é? yes"
    option = {"testing input": text, "prompt": text, "PPL": 2.0, "BPB": 2.0 * 7 / len(text.encode())}
    logged = {"0": {"label: A": option, "label: B": {**option, "PPL": 3.0}, "prediction": "A", "gold": "A"}}
    likelihoods = {
        "0": {
            f"label: {label}": {"testing input": text, "prompt": text, "Loglikelihood": -4.5}
            for label in ("A", "B")
        }
    }
    predictions = tmp_path / "20261118_100000" / "predictions" / "base"
    predictions.mkdir(parents=True)
    (predictions / "means.json").write_text(json.dumps(logged))
    (predictions / "sums.json").write_text(json.dumps(likelihoods))
    run = import_log(tmp_path / "20261118_100000", format_name=None, out=None, runs_dir=tmp_path).run
    options = {score.task: score.options for score in run.scores()}
    assert [one.sum_logprob for one in options["sums"]] == [-4.5, -4.5]
    first, second = options["means"]
    assert first.sum_logprob == pytest.approx(-14)
    assert first.n_tokens == 7
    assert second.sum_logprob is None, "its two means do not have a common sum"
