"""Records of every_eval_ever: what Assay writes, what it reads of other programs' ones, and damaged ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.app.export_run import export_run
from assay.app.import_log import import_log
from assay.core.errors import StoreError
from assay.core.model import ModelIdentity
from assay.core.response import Completion
from assay.core.score import Score, Verdict
from assay.results.exchange.every_eval_ever.writer import name_model
from assay.results.read import StoredRun
from fakes.eee_validator import validate_records

KIND = ["choices", "repeats", "texts", "corpus"]


def build_row(id_: str, score: float, **others: Any) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "gsm8k/meta/llama/1",
        "model_id": "meta/llama",
        "evaluation_name": "gsm8k",
        "sample_id": id_,
        "interaction_type": "single_turn",
        "input": {"raw": f"question {id_}", "reference": ["5"]},
        "output": {"raw": ["so 5"]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": "5",
                "extraction_method": "regex",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": score, "is_correct": score == 1},
        "token_usage": {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9},
        **others,
    }


def build_result(score: float = 0.5, name: str = "gsm8k", **config: Any) -> dict[str, Any]:
    return {
        "evaluation_name": name,
        "source_data": {"dataset_name": "GSM8K", "source_type": "hf_dataset", "hf_repo": "openai/gsm8k"},
        "metric_config": {"lower_is_better": False, "metric_name": "accuracy", **config},
        "score_details": {"score": score, "uncertainty": {"standard_error": {"value": 0.1}}},
    }


def write_record(folder: Path, rows: list[dict[str, Any]], **others: Any) -> Path:
    path = folder / "1b4e28ba-2fa1-41d2-883f-0016d3cca427.json"
    record = {
        "schema_version": "0.3.0",
        "evaluation_id": "gsm8k/meta/llama/1",
        "evaluation_timestamp": "1700000000",
        "retrieved_timestamp": "1700000001",
        "source_metadata": {"source_type": "evaluation_run", "evaluator_relationship": "other"},
        "eval_library": {"name": "lm_eval", "version": "0.4.9"},
        "model_info": {"name": "llama", "id": "meta/llama", "inference_engine": {"name": "vllm"}},
        "evaluation_results": [build_result()],
        **others,
    }
    path.write_text(json.dumps(record), encoding="utf-8")
    samples = folder / f"{path.stem}_samples.jsonl"
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path) -> StoredRun:
    return import_log(path, format_name=None, out=None, runs_dir=path.parent / "runs").run


def scores_of(run: StoredRun) -> dict[str, Score]:
    return {one.sample_id: one for one in run.scores()}


def error_of(path: Path) -> tuple[str, str, str]:
    with pytest.raises(StoreError) as caught:
        import_log(path, format_name="every-eval-ever", out=None, runs_dir=path.parent / "runs")
    (problem,) = caught.value.problems
    return problem.code, problem.what, str(problem.where)


@pytest.mark.parametrize("kind", KIND)
def test_the_validator_finds_no_error(runs: dict[str, StoredRun], tmp_path: Path, kind: str) -> None:
    files = export_run(runs[kind], "every-eval-ever", tmp_path)[1]
    reports = validate_records(tmp_path, files)
    assert len(reports) == len(files)
    assert [(one["errors"], one["warnings"]) for one in reports] == [([], [])] * len(files)


def test_a_record_has_the_numbers_of_the_run(runs: dict[str, StoredRun], tmp_path: Path) -> None:
    aggregate, samples = export_run(runs["choices"], "every-eval-ever", tmp_path)[1]
    assert aggregate.relative_to(tmp_path).parts[:4] == ("data", "letters", "mock", "mock")
    record = json.loads(aggregate.read_text(encoding="utf-8"))
    results = {one["evaluation_result_id"]: one for one in record["evaluation_results"]}
    for metric in runs["choices"].metrics():
        name = "/".join(
            [metric.task, metric.method, metric.metric, *([] if metric.group is None else [metric.group])]
        )
        if metric.value is None:
            assert name not in results
            continue
        details = results[name]["score_details"]
        assert details["score"] == metric.value
        assert details["details"]["n_failed"] == str(metric.n_failed)
        assert details["uncertainty"]["num_samples"] == metric.n_counted
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    assert record["detailed_evaluation_results"]["total_rows"] == len(rows)
    wanted = {(one.sample_id, one.track): one for one in runs["choices"].scores()}
    for row in rows:
        score = wanted[row["sample_id"], row["metadata"]["method"]]
        metric_name = row.get("evaluation_result_id", "").split("/")[-1]
        if score.verdict is Verdict.SCORED and metric_name == score.metric:
            assert row["evaluation"]["score"] == score.value
        assert ("error" in row) == (score.verdict is not Verdict.SCORED)


def test_a_record_of_another_program_becomes_a_run(tmp_path: Path) -> None:
    failed = build_row("3", 0.0, error="timeout", output={"raw": []})
    run = read(write_record(tmp_path, [build_row("1", 1.0), build_row("2", 0.0), failed]))
    manifest = run.manifest
    assert (manifest.model.backend, manifest.model.name) == ("vllm", "meta/llama")
    assert (manifest.started, manifest.versions) == ("2023-11-14T22:13:20+00:00", {"lm_eval": "0.4.9"})
    assert manifest.tasks[0].source == "openai/gsm8k"
    (metric,) = run.metrics()
    assert (metric.metric, metric.value, metric.n, metric.n_failed) == ("accuracy", 0.5, 3, 1)
    scores = scores_of(run)
    assert (scores["1"].value, scores["1"].answer, scores["1"].rule) == (1.0, "5", "regex")
    assert (scores["3"].verdict, scores["3"].why) == (Verdict.FAILED, "timeout")
    assert next(run.samples()).sample.targets == ("5",)
    response = next(run.responses())
    assert isinstance(response.outcome, Completion)
    assert (response.outcome.outputs[0].text, response.outcome.n_prompt_tokens) == ("so 5", 7)


def test_lines_of_one_sample_for_several_metrics_are_one_sample(tmp_path: Path) -> None:
    results = [
        {**build_result(), "evaluation_result_id": "acc"},
        {**build_result(0.25, metric_name="f1"), "evaluation_result_id": "f1"},
    ]
    rows = [
        build_row("1", 1.0, evaluation_result_id="acc"),
        build_row("2", 0.0, evaluation_result_id="acc"),
        build_row("1", 0.5, evaluation_result_id="f1"),
        build_row("2", 0.0, evaluation_result_id="f1"),
    ]
    run = read(write_record(tmp_path, rows, evaluation_results=results))
    assert {one.metric: one.value for one in run.metrics()} == {"accuracy": 0.5, "f1": 0.25}
    assert (scores_of(run)["1"].value, scores_of(run)["1"].also) == (1.0, {"f1": 0.5})


def test_percentages_are_shares(tmp_path: Path) -> None:
    result = build_result(50.0, metric_unit="percent", min_score=0, max_score=100)
    run = read(
        write_record(tmp_path, [build_row("1", 1.0), build_row("2", 0.0)], evaluation_results=[result])
    )
    assert run.manifest.imported is not None
    (logged,) = run.manifest.imported.metrics
    assert (logged.value, logged.stderr) == (0.5, 0.001)
    assert run.metrics()[0].is_share


def test_choices_and_conversations_are_read(tmp_path: Path) -> None:
    row = build_row("1", 1.0, input={"raw": "q", "reference": ["b"], "choices": ["a", "b"]})
    row["interaction_type"], row["messages"] = "multi_turn", []
    del row["output"]
    for role, text in (("user", "hi"), ("assistant", "yes?"), ("user", "b?"), ("assistant", "b")):
        row["messages"].append({"turn_idx": len(row["messages"]), "role": role, "content": text})
    run = read(write_record(tmp_path, [row]))
    record = next(run.samples())
    assert (record.sample.choices, record.sample.gold) == (("a", "b"), (1,))
    prompt = record.contexts[0]
    assert not isinstance(prompt, str)
    assert [one.text for one in prompt] == ["hi", "yes?", "b?"]
    response = next(run.responses())
    assert isinstance(response.outcome, Completion)
    assert response.outcome.outputs[0].turns == ("yes?", "b")


def test_a_folder_with_several_models_is_rejected(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        write_record(folder, [build_row("1", 1.0)], model_info={"name": name, "id": f"x/{name}"})
    assert error_of(tmp_path)[0] == "LOG-004"


def test_an_aggregate_without_samples_is_rejected(tmp_path: Path) -> None:
    path = write_record(tmp_path, [])
    path.with_name(f"{path.stem}_samples.jsonl").unlink()
    assert error_of(path)[0] == "LOG-005"


@pytest.mark.parametrize(
    ("others", "code", "said"),
    [
        ({"schema_version": "1.0.0"}, "LOG-011", "version 1.0.0"),
        ({"evaluation_results": {}}, "LOG-003", "$.evaluation_results"),
        ({"model_info": {"id": 3}}, "LOG-003", "$.model_info.id"),
    ],
)
def test_a_damaged_aggregate_is_an_error(
    tmp_path: Path, others: Mapping[str, Any], code: str, said: str
) -> None:
    found, what, where = error_of(write_record(tmp_path, [build_row("1", 1.0)], **others))
    assert (found, where.endswith(".json")) == (code, True)
    assert said in what


def test_a_damaged_line_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = write_record(tmp_path, [build_row("1", 1.0), build_row("2", 0.0, evaluation={"score": "high"})])
    code, what, where = error_of(path)
    assert code == "LOG-003"
    assert "$.evaluation.score" in what
    assert where.endswith("line 2")


@pytest.mark.parametrize(
    ("backend", "name", "wanted"),
    [
        ("hf", "HuggingFaceTB/SmolLM2-135M", "HuggingFaceTB/SmolLM2-135M"),
        ("hf", "/models/my model/", "hf/my-model"),
        ("openai", "gpt-x@http://127.0.0.1:1/v1", "openai/gpt-x"),
        ("mock", "mock", "mock/mock"),
        ("", "", "unknown/unnamed"),
    ],
)
def test_models_have_a_developer_and_a_name(backend: str, name: str, wanted: str) -> None:
    assert name_model(ModelIdentity(backend, name)) == wanted
