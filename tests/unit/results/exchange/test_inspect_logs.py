"""What Assay reads in inspect_ai logs, field by field, and what it says about damaged ones."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.app.export_run import export_run
from assay.app.import_log import import_log
from assay.core.errors import StoreError
from assay.core.media import Image
from assay.core.response import Completion, Finish
from assay.core.score import Metric, Score, Verdict
from assay.results.exchange.inspect_ai.messages import build_messages
from assay.results.read import StoredRun
from fakes.inspect_logs import (
    build_log,
    build_metric,
    build_sample,
    build_score,
    write_eval_log,
    write_json_log,
)

ACCURACY = build_score("match", [build_metric("accuracy", 0.5), build_metric("stderr", 0.25)])

Write = Callable[[Path, Mapping[str, Any]], Path]


def read(tmp_path: Path, log: Mapping[str, Any], write: Write = write_json_log) -> StoredRun:
    name = "log.json" if write is write_json_log else "log.eval"
    return import_log(write(tmp_path / name, log), format_name=None, out=None, runs_dir=tmp_path / "runs").run


def scores_of(run: StoredRun) -> dict[str, Score]:
    return {one.sample_id: one for one in run.scores()}


def metrics_of(run: StoredRun) -> dict[tuple[str, str | None], Metric]:
    return {(one.metric, one.group): one for one in run.metrics()}


def error_of(path: Path) -> tuple[str, str, str]:
    with pytest.raises(StoreError) as caught:
        import_log(path, format_name="inspect", out=None, runs_dir=path.parent / "runs")
    (problem,) = caught.value.problems
    assert not (path.parent / "runs").exists() or not any((path.parent / "runs").iterdir())
    return problem.code, problem.what, str(problem.where)


def zstandard(path: Path, log: Mapping[str, Any]) -> Path:
    return write_eval_log(path, log, zstandard=True)


@pytest.mark.parametrize("write", [write_json_log, write_eval_log, zstandard])
def test_a_log_becomes_a_run(tmp_path: Path, write: Write) -> None:
    samples = [build_sample(1), build_sample(2, "I"), build_sample("a/b_epoch_1", "P"), build_sample(4, "N")]
    run = read(tmp_path, build_log(samples, [ACCURACY]), write)
    manifest = run.manifest
    assert (manifest.model.backend, manifest.model.name) == ("openai", "openai/gpt-x")
    assert (manifest.started, manifest.seconds) == ("2026-03-01T10:00:00+00:00", 30.0)
    assert manifest.versions["inspect_ai"] == "0.3.285"
    scores = scores_of(run)
    assert {id_: (one.verdict, one.value) for id_, one in scores.items()} == {
        "1": (Verdict.SCORED, 1.0),
        "2": (Verdict.SCORED, 0.0),
        "a/b_epoch_1": (Verdict.SCORED, 0.5),
        "4": (Verdict.UNANSWERED, None),
    }
    assert (scores["1"].metric, scores["1"].answer, scores["1"].rule) == ("accuracy", "2", "match")
    (metric,) = run.metrics()
    assert (metric.value, metric.n, metric.n_unanswered) == (0.375, 4, 1)
    assert manifest.imported is not None
    (logged,) = manifest.imported.metrics
    assert (logged.value, logged.stderr) == (0.5, 0.25)
    assert any("0.5 in the log, and 0.375" in note for note in manifest.notes)
    record = next(run.samples())
    assert record.sample.fields == {
        "input": "What is 1 + 1?",
        "target": "2",
        "metadata": {"topic": "sums"},
    }
    sampling = record.asks[0].sampling
    assert sampling is not None
    assert (sampling.max_tokens, sampling.temperature) == (64, 0.5)
    response = next(run.responses())
    assert isinstance(response.outcome, Completion)
    assert (response.outcome.outputs[0].text, response.outcome.outputs[0].finish) == ("It is 2", Finish.END)
    assert (response.outcome.n_prompt_tokens, response.seconds) == (9, 0.5)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (True, 1.0),
        (False, 0.0),
        (3, 3.0),
        (0.25, 0.25),
        ("yes", 1.0),
        ("0.75", 0.75),
        ("B", None),
        ([1], None),
    ],
)
def test_values_count_as_in_the_metrics_of_inspect(tmp_path: Path, value: Any, number: float | None) -> None:
    score = scores_of(read(tmp_path, build_log([build_sample(1, value)], [ACCURACY])))["1"]
    assert score.value == number
    assert score.verdict is (Verdict.UNGRADED if number is None else Verdict.SCORED)
    assert score.details[0]["scores"]["match"]["value"] == value


def test_samples_that_errors_stopped_or_nobody_scored_are_not_part_of_the_score(tmp_path: Path) -> None:
    unscored = build_sample(2, math.nan)
    unscored["scores"]["match"] |= {"reason": "grader_failed"}
    stopped = build_sample(3, error={"message": "boom", "traceback": ""}, scores={}, output={"choices": []})
    stopped["messages"] = stopped["messages"][:1]
    run = read(tmp_path, build_log([build_sample(1), unscored, stopped], [ACCURACY]))
    scores = scores_of(run)
    assert scores["2"].verdict is scores["3"].verdict is Verdict.FAILED
    assert scores["2"].why is not None
    assert "grader_failed" in scores["2"].why
    assert scores["3"].why == "boom"
    (metric,) = run.metrics()
    assert (metric.value, metric.n, metric.n_failed) == (1.0, 3, 2)


def test_epochs_are_repeats_of_a_sample_and_their_reduced_value_counts(tmp_path: Path) -> None:
    samples = [build_sample(1, "C", epoch=1), build_sample(1, "I", epoch=2), build_sample(1, "I", epoch=3)]
    entries = [
        build_score("match", [build_metric("accuracy", 1.0)], reducer="max"),
        build_score("match", [build_metric("accuracy", 1 / 3)], reducer="mean"),
    ]
    reductions = [
        {"scorer": "match", "reducer": "max", "samples": [{"sample_id": 1, "value": 1.0}]},
        {"scorer": "match", "reducer": "mean", "samples": [{"sample_id": 1, "value": 1 / 3}]},
    ]
    run = read(tmp_path, build_log(samples, entries, reductions=reductions))
    score = scores_of(run)["1"]
    assert (score.metric, score.value, score.also) == ("accuracy@max", 1.0, {"accuracy@mean": 1 / 3})
    assert [one["scores"]["match"]["value"] for one in score.details] == ["C", "I", "I"]
    assert len(list(run.responses())) == 3


def test_without_reductions_the_mean_over_epochs_counts(tmp_path: Path) -> None:
    samples = [build_sample(1, "C", epoch=2), build_sample(1, "I", epoch=1)]
    score = scores_of(read(tmp_path, build_log(samples, [ACCURACY])))["1"]
    assert score.value == 0.5
    assert [one["epoch"] for one in score.details] == [1, 2]


def test_several_scorers_and_keys_have_metrics_of_their_own(tmp_path: Path) -> None:
    sample = build_sample(1)
    sample["scores"]["parts"] = {"value": {"right": 1, "words": 7, "none": None}}
    entries = [
        ACCURACY,
        build_score("right", [build_metric("mean", 1.0)], scorer="parts"),
        build_score("words", [build_metric("mean", 7.0), build_metric("std", 0.1)], scorer="parts"),
    ]
    run = read(tmp_path, build_log([sample], entries))
    assert {name: one.value for (name, _), one in metrics_of(run).items()} == {
        "match/accuracy": 1.0,
        "right/mean": 1.0,
        "words/mean": 7.0,
        "words/std": 0.1,
    }
    assert not metrics_of(run)["words/std", None].is_share


def test_the_headline_of_the_log_decides(tmp_path: Path) -> None:
    sample = build_sample(1)
    sample["scores"]["f1"] = {"value": 0.25}
    log = build_log([sample], [ACCURACY, build_score("f1", [build_metric("mean", 0.25)])])
    log["results"]["headline"] = {"scorer": "f1", "score": "f1", "metric": "mean"}
    assert scores_of(read(tmp_path, log))["1"].metric == "f1/mean"


def test_groups_of_samples_are_groups(tmp_path: Path) -> None:
    params = {"metric": {"name": "accuracy"}, "group_key": "topic"}
    samples = [build_sample(1), build_sample(2, "I", metadata={"topic": "other"})]
    grouped = [
        build_metric(name, value, group="grouped", params=params)
        for name, value in (("sums", 1.0), ("other", 0.0), ("all", 0.5))
    ]
    run = read(tmp_path, build_log(samples, [build_score("match", grouped)]))
    values = {group: one.value for (name, group), one in metrics_of(run).items() if name == "accuracy"}
    assert values == {None: 0.5, "sums": 1.0, "other": 0.0}


def test_letters_of_options_are_the_right_options(tmp_path: Path) -> None:
    sample = build_sample(1, choices=["one", "two", "three"], target=["B", "C"])
    record = next(read(tmp_path, build_log([sample], [ACCURACY])).samples())
    assert (record.sample.choices, record.sample.gold) == (("one", "two", "three"), (1, 2))


def test_conversations_show_tools_pictures_reasoning_and_attachments(tmp_path: Path) -> None:
    pixel = "iVBORw0KGgo="
    sample = build_sample(
        1,
        attachments={"abc": "a long text"},
        messages=[
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "attachment://abc"},
                    {"type": "image", "image": f"data:image/png;base64,{pixel}"},
                ],
            },
            {"role": "assistant", "content": "", "tool_calls": [{"function": "add", "arguments": {"x": 1}}]},
            {"role": "tool", "content": "2", "function": "add"},
            {"role": "assistant", "content": "It is 2"},
        ],
        output={
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "content": [
                            {"type": "reasoning", "reasoning": "1 and 1"},
                            {"type": "text", "text": "It is 2"},
                        ],
                    },
                    "stop_reason": "max_tokens",
                }
            ]
        },
        limit={"type": "token", "limit": 20},
    )
    run = read(tmp_path, build_log([sample], [ACCURACY]))
    prompt = next(run.samples()).contexts[0]
    assert not isinstance(prompt, str)
    assert [one.role for one in prompt] == ["system", "user", "assistant", "user"]
    assert prompt[1].text == "a long text"
    (picture,) = prompt[1].media
    assert isinstance(picture, Image)
    assert (picture.media_type, picture.n_bytes, picture.data) == ("image/png", 8, "")
    assert prompt[2].text == '[calls add({"x":1})]'
    assert prompt[3].text == "[result of add] 2"
    response = next(run.responses())
    assert isinstance(response.outcome, Completion)
    (output,) = response.outcome.outputs
    assert (output.text, output.reasoning, output.finish) == ("It is 2", "1 and 1", Finish.LENGTH)
    assert scores_of(run)["1"].is_truncated


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_tools_and_pictures_of_a_log_come_back(tmp_path: Path) -> None:
    """An image's data is stored with the run; calls and results of tools are messages of their own again."""
    asked = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "image": f"data:image/png;base64,{PIXEL}"},
    ]
    calls = [
        {"id": "a", "function": "add", "arguments": {"x": 1, "text": "),("}, "type": "function"},
        {"id": "b", "function": "look", "arguments": {}, "type": "function"},
    ]
    messages = [
        {"role": "user", "content": asked},
        {"role": "assistant", "content": "I look.", "tool_calls": calls},
        {"role": "tool", "content": "2", "function": "add", "tool_call_id": "a"},
        {"role": "tool", "content": "a dot", "function": "look", "tool_call_id": "b"},
        {"role": "assistant", "content": "A dot"},
    ]
    sample = build_sample(1, messages=messages)
    run = read(tmp_path, build_log([sample], [ACCURACY]))
    (stored,) = (run.path / "media").iterdir()
    assert stored.suffix == ".png"
    assert stored.read_bytes() == base64.b64decode(PIXEL)
    prompt = next(run.samples()).contexts[0]
    built = build_messages(prompt, run)
    assert [one["role"] for one in built] == ["user", "assistant", "tool", "tool"]
    assert built[0]["content"] == asked
    assert built[1]["content"] == "I look."
    assert [(one["function"], one["arguments"]) for one in built[1]["tool_calls"]] == [
        ("add", {"x": 1, "text": "),("}),
        ("look", {}),
    ]
    assert [(one["function"], one["content"], one["tool_call_id"]) for one in built[2:]] == [
        ("add", "2", "call_0"),
        ("look", "a dot", "call_1"),
    ]


@pytest.mark.parametrize("status", ["started", "cancelled", "error"])
def test_an_interrupted_log_is_imported_with_a_note(tmp_path: Path, status: str) -> None:
    log = build_log([build_sample(1)], status=status, results=None, error={"message": "out of credit"})
    log["eval"]["scorers"] = [{"name": "match", "metrics": [{"name": "inspect_ai/accuracy"}]}]
    run = read(tmp_path, log)
    assert run.manifest.imported is not None
    assert run.manifest.imported.settings["status"] == status
    assert any(repr(status) in note and "out of credit" in note for note in run.manifest.notes)
    assert scores_of(run)["1"].metric == "accuracy"


def test_an_archive_without_a_header_begins_with_the_journal(tmp_path: Path) -> None:
    import zipfile

    log = build_log([build_sample(1)])
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        start = {name: log[name] for name in ("version", "eval", "plan")}
        archive.writestr("_journal/start.json", json.dumps(start))
        archive.writestr("samples/1_epoch_1.json", json.dumps(log["samples"][0]))
    done = import_log(tmp_path / "log.eval", format_name=None, out=None, runs_dir=tmp_path / "runs")
    assert scores_of(done.run)["1"].value == 1.0
    assert any("'started'" in note for note in done.run.manifest.notes)


def test_a_folder_with_the_logs_of_one_run_is_one_run(tmp_path: Path) -> None:
    for name in ("sums", "words"):
        log = build_log([build_sample(1)], [ACCURACY])
        log["eval"]["task"] = name
        write_json_log(tmp_path / f"{name}.json", log)
    done = import_log(tmp_path, format_name=None, out=tmp_path / "run", runs_dir=tmp_path)
    assert [task.name for task in done.run.manifest.tasks] == ["sums", "words"]


def test_a_folder_with_several_runs_is_rejected(tmp_path: Path) -> None:
    for name in ("r1", "r2"):
        log = build_log([build_sample(1)], [ACCURACY])
        log["eval"]["run_id"] = name
        write_json_log(tmp_path / f"{name}.json", log)
    code, what, _ = error_of(tmp_path)
    assert code == "LOG-004"
    assert "r1.json" in what


def test_a_log_of_a_later_version_is_rejected(tmp_path: Path) -> None:
    code, what, _ = error_of(write_json_log(tmp_path / "log.json", build_log([build_sample(1)], version=3)))
    assert code == "LOG-011"
    assert "version 3" in what


def test_a_log_without_samples_is_rejected(tmp_path: Path) -> None:
    log = build_log([], [ACCURACY])
    del log["samples"]
    assert error_of(write_json_log(tmp_path / "log.json", log))[0] == "LOG-005"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scores": [1]}, "$.scores"),
        ({"id": None}, "$.id"),
        ({"messages": [{"content": "x"}]}, "role"),
        ({"output": {"choices": "none"}}, "$.output.choices"),
    ],
)
@pytest.mark.parametrize("write", [write_json_log, write_eval_log])
def test_a_wrong_type_is_an_error_that_names_the_place(
    tmp_path: Path, write: Write, change: Mapping[str, Any], said: str
) -> None:
    name = "log.json" if write is write_json_log else "log.eval"
    code, what, where = error_of(write(tmp_path / name, build_log([{**build_sample(1), **change}])))
    assert code == "LOG-003"
    assert said in what
    assert name in where


@pytest.mark.parametrize("keep", [0.2, 0.6, 0.95])
@pytest.mark.parametrize("write", [write_json_log, write_eval_log, zstandard])
def test_a_truncated_log_is_an_error(tmp_path: Path, write: Write, keep: float) -> None:
    name = "log.json" if write is write_json_log else "log.eval"
    path = write(tmp_path / name, build_log([build_sample(n) for n in range(30)], [ACCURACY]))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    assert error_of(path)[0] == "LOG-003"


def test_a_changed_byte_in_an_archive_is_an_error(tmp_path: Path) -> None:
    path = zstandard(tmp_path / "log.eval", build_log([build_sample(n) for n in range(30)], [ACCURACY]))
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(bytes(content))
    assert error_of(path)[0] == "LOG-003"


def test_another_archive_is_an_error_that_says_what_is_missing(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("notes.txt", "hello")
    code, what, _ = error_of(tmp_path / "log.eval")
    assert code == "LOG-003"
    assert "header.json" in what


def test_without_pyarrow_a_zstandard_log_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    path = zstandard(tmp_path / "log.eval", build_log([build_sample(1)], [ACCURACY]))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert error_of(path)[0] == "LOG-007"


def test_a_run_with_several_tasks_is_not_written_into_one_file(
    runs: dict[str, StoredRun], tmp_path: Path
) -> None:
    with pytest.raises(StoreError) as caught:
        export_run(runs["choices"], "inspect", tmp_path / "log.eval")
    assert caught.value.problems[0].code == "LOG-012"


def test_scores_that_another_program_changed_count_instead_of_those_kept(
    runs: dict[str, StoredRun], tmp_path: Path
) -> None:
    (path,) = export_run(runs["repeats"], "inspect", tmp_path / "log.json")[1]
    log = json.loads(path.read_text(encoding="utf-8"))
    changed = next(one for one in log["samples"] if one["scores"]["accuracy"]["value"] == "I")
    changed["scores"]["accuracy"]["value"] = "C"
    for reduction in log["reductions"]:
        for one in reduction["samples"]:
            one["value"] = 1.0 if one["sample_id"] == changed["id"] else one["value"]
    path.write_text(json.dumps(log), encoding="utf-8")
    done = import_log(path, format_name=None, out=None, runs_dir=tmp_path / "runs")
    assert scores_of(done.run)[changed["id"]].value == 1.0


@pytest.mark.parametrize("suffix", [".json", ".eval"])
def test_a_log_goes_through_assay_with_every_score_as_it_was(tmp_path: Path, suffix: str) -> None:
    samples = [build_sample(1, "C"), build_sample(1, "N", epoch=2), build_sample(2, math.nan)]
    samples.append(build_sample(2, 0.25, epoch=2))
    run = read(tmp_path, build_log(samples, [ACCURACY]))
    (path,) = export_run(run, "inspect", tmp_path / f"again{suffix}")[1]
    again = import_log(path, format_name=None, out=None, runs_dir=tmp_path / "again").run
    assert scores_of(again) == scores_of(run)
    assert [one.details for one in again.scores()] == [one.details for one in run.scores()]
