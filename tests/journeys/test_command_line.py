"""The command line end to end on the mock model, as a person would use it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from assay.results.exchange.formats import list_formats
from cli import assay, killed

EXAMPLES = Path(__file__).parents[2] / "examples"
ARITHMETIC = str(EXAMPLES / "arithmetic.csv")


def summary(folder: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return rows


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_three_methods_side_by_side(workdir: Path) -> None:
    result = assay("run", ARITHMETIC, "-m", "mock", "--method", "ppl,prob,gen", "--out", "run")
    assert result.status == 0
    for method in ("ppl", "prob", "gen"):
        assert re.search(rf"arithmetic +{method} +30/30", result.out)
    assert re.search(r"the methods disagree on \d+ of 30 samples", result.out)
    assert "run/report.html" in result.out
    folder = workdir / "run"
    assert {path.name for path in folder.iterdir()} == {
        "manifest.json",
        "responses.jsonl",
        "samples.jsonl",
        "scores.jsonl",
        "summary.json",
        "report.md",
        "report.html",
    }
    row = summary(folder)[0]
    assert set(row) >= {
        "task",
        "method",
        "metric",
        "group",
        "value",
        "low",
        "high",
        "n",
        "n_scored",
        "n_unanswered",
        "n_truncated",
        "n_failed",
    }
    assert len(lines(folder / "scores.jsonl")) == 90
    assert len(lines(folder / "samples.jsonl")) == 30
    groups = {row["group"] for row in summary(folder) if row["metric"] == "accuracy"}
    assert groups == {None, "one digit", "two digits", "times table"}
    normalisations = {
        row["metric"] for row in summary(folder) if row["method"] == "ppl" and row["group"] is None
    }
    assert normalisations >= {f"accuracy_{by}" for by in ("sum", "per_token", "per_char", "per_byte")}
    assert "accuracy_pmi" not in normalisations


def test_profile_shows_where_the_time_went(workdir: Path) -> None:
    result = assay("run", ARITHMETIC, "-m", "mock", "--method", "ppl,gen", "--profile", "--out", "run")
    assert result.status == 0, result.err
    assert re.search(
        r"time: start [\d.]+ s, dataset [\d.]+ s, .*score [\d.]+ s, .*other [\d.]+ s", result.out
    )
    manifest = json.loads((workdir / "run" / "manifest.json").read_text(encoding="utf-8"))
    phases = {name for name in manifest["stats"] if name.startswith("seconds_")}
    expected = ("start", "dataset", "requests", "journal", "score", "report", "other")
    assert phases >= {f"seconds_{phase}" for phase in expected}
    trace = json.loads((workdir / "run" / "trace.json").read_text(encoding="utf-8"))
    assert {"dataset", "report"} <= {event["name"] for event in trace["traceEvents"]}
    assert all(event["dur"] > 0 for event in trace["traceEvents"] if event["ph"] == "X")
    plain = assay("run", ARITHMETIC, "-m", "mock", "--out", "plain")
    assert "time: " not in plain.out
    assert not (workdir / "plain" / "trace.json").exists()


def test_the_same_command_again_asks_nothing(workdir: Path) -> None:
    first = assay("run", ARITHMETIC, "-m", "mock")
    (folder,) = (workdir / "runs").iterdir()
    journal = (folder / "responses.jsonl").read_bytes()
    second = assay("run", ARITHMETIC, "-m", "mock")
    assert "is complete: 30 stored responses" in second.err
    assert (folder / "responses.jsonl").read_bytes() == journal
    assert [path.name for path in (workdir / "runs").iterdir()] == [folder.name]
    table = re.compile(r"arithmetic +gen +[\d/]+ +[\d.]+ +[\d.–]+")
    assert table.findall(first.out) == table.findall(second.out) != []


def test_fresh_sets_the_earlier_run_aside(workdir: Path) -> None:
    assay("run", ARITHMETIC, "-m", "mock", "--out", "run")
    assay("run", ARITHMETIC, "-m", "mock", "--out", "run", "--fresh")
    assert sorted(path.name for path in workdir.iterdir()) == ["run", "run.old-1"]


def test_killed_and_resumed(workdir: Path) -> None:
    """`kill -9` in the middle; the same command repeats nothing that was answered and ends in equal files."""
    command = [sys.executable, "-m", "assay", "run", ARITHMETIC, "-m", "mock", "--method", "ppl,gen"]
    journal = workdir / "killed" / "responses.jsonl"
    kept = killed([*command, "--model-arg", "hang_on=9 x 2 =", "--out", "killed"], journal, after=20)
    assert b'"running"' in (workdir / "killed" / "manifest.json").read_bytes()
    assert not (workdir / "killed" / "summary.json").exists()

    subprocess.run([*command, "--out", "killed"], check=True, capture_output=True)
    assert journal.read_bytes().startswith(kept)
    ids = [line["request_id"] for line in lines(journal)]
    assert len(ids) == len(set(ids))
    assert len(ids) == 30 * (4 + 1)

    subprocess.run([*command, "--out", "whole"], check=True, capture_output=True)
    for name in ("scores.jsonl", "samples.jsonl", "summary.json"):
        assert (workdir / "killed" / name).read_bytes() == (workdir / "whole" / name).read_bytes()


def test_failures_are_counted_and_asked_again_on_request(workdir: Path) -> None:
    command = ("run", ARITHMETIC, "-m", "mock", "--model-arg", "fail_every=7", "--out", "run")
    first = assay(*command)
    (row,) = [row for row in summary(workdir / "run") if row["metric"] == "accuracy" and row["group"] is None]
    assert first.status == 3
    assert isinstance(row["n_failed"], int)
    assert 0 < row["n_failed"] < 30
    assert row["n_scored"] == 30 - row["n_failed"]
    assert "failed rows, not part of the score" in first.out
    asked = len(lines(workdir / "run" / "responses.jsonl"))
    assay(*command)
    assert len(lines(workdir / "run" / "responses.jsonl")) == asked
    assay(*command, "--retry-failed")
    assert len(lines(workdir / "run" / "responses.jsonl")) == asked + row["n_failed"]


def test_examples_that_do_not_fit_are_left_out_counted_and_shown(workdir: Path) -> None:
    rows = [f"what is {n} {'and more ' * (n % 7)}?,one,two,A" for n in range(30)]
    (workdir / "data.csv").write_text("\n".join(["question,A,B,answer", *rows]), encoding="utf-8")
    command = ("data.csv", "-m", "mock", "--model-arg", "context_length=270", "--shots", "12")
    more = ("--method", "ppl,prob,gen", "--max-tokens", "4")
    checked = assay("check", *command, *more, "--prompts", "0").out
    result = assay("run", *command, *more, "--out", "run")
    assert result.status == 0, result.err
    samples = lines(workdir / "run" / "samples.jsonl")
    costs = json.loads((workdir / "run" / "manifest.json").read_text(encoding="utf-8"))["costs"]
    for cost in costs:
        # What was counted on the way is what the stored prompts show.
        shown = [
            (ask["context"], ask.get("n_shots", 0), ask.get("n_shots_left_out", 0), sample)
            for sample in samples
            for ask in sample["asks"]
            if ask["track"] == cost["method"] and ask["role"] != "unconditional" and ask["index"] == 0
        ]
        assert len(shown) == 30
        for context, n, left_out, sample in shown:
            assert sample["contexts"][context].count("Answer: ") == n
            assert n + left_out == 12
        short = [n for _, n, _, _ in shown if n < 12]
        assert 0 < len(short) < 30
        assert cost["n_shortened"] == len(short)
        left_out = sum(12 - n for n in short)
        assert cost["n_shots_left_out"] == left_out
        message = f"{len(short)} of 30 samples had fewer examples than requested: {left_out} of 360 omitted"
        for text in (
            result.out,
            assay("report", "run").out,
            (workdir / "run" / "report.md").read_text(encoding="utf-8"),
        ):
            assert f"data {cost['method']}: {message}" in text
        assert f"{len(short)} samples by {cost['method']} would get fewer examples" in checked
    at = next(i for i, sample in enumerate(samples) if any(a.get("n_shots_left_out") for a in sample["asks"]))
    assert re.search(r"examples shown: \d+ of 12", assay("explain", "run", f"row:{at + 1}").out)
    journal = (workdir / "run" / "responses.jsonl").read_bytes()
    assay("run", *command, *more, "--out", "run")
    assert (workdir / "run" / "responses.jsonl").read_bytes() == journal


def test_missing_answers_are_kept_and_nothing_is_scored(workdir: Path) -> None:
    (workdir / "open.jsonl").write_text('{"question": "Why?"}\n{"question": "How?"}\n', encoding="utf-8")
    stopped = assay("run", "open.jsonl", "-m", "mock", "--out", "run")
    assert stopped.status == 2
    assert "assay run open.jsonl -m mock --out run --no-answers" in stopped.err
    result = assay("run", "open.jsonl", "-m", "mock", "--out", "run", "--no-answers")
    assert result.status == 0
    assert "open gen: no sample could be scored: no row has a known right answer" in result.out
    scores = lines(workdir / "run" / "scores.jsonl")
    assert [score["verdict"] for score in scores] == ["ungraded", "ungraded"]
    assert all(score["answer"] for score in scores)
    (row,) = [row for row in summary(workdir / "run") if row["metric"] == "accuracy"]
    assert (row["value"], row["n"], row["n_scored"]) == (None, 2, 0)


def test_check_finds_what_is_odd_and_fails_on_what_is_wrong(workdir: Path) -> None:
    rows = ["question,A,B,answer", *("same,1,2,A" for _ in range(12)), "other, 3,4,A", "third,5,5,"]
    (workdir / "odd.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    odd = assay("check", "odd.csv")
    assert odd.status == 0
    for finding in (
        "11 repeated rows, for example rows 1 and 2",
        "1 of 14 rows have no answer",
        "right answers: A 100 %",
        "1 row with leading or trailing white space in an option",
        "1 row with two options of the same text",
    ):
        assert finding in odd.out
    (workdir / "wrong.csv").write_text("question,A,B,answer\nq,1,2,C\n", encoding="utf-8")
    wrong = assay("check", "wrong.csv")
    assert wrong.status == 1
    assert "TABLE-011" in wrong.err


def test_check_with_a_model_knows_what_it_cannot_do(workdir: Path) -> None:
    result = assay("check", ARITHMETIC, "-m", "mock", "--method", "ppl", "--model-arg", "kinds=generate")
    assert (result.status, "PLAN-001" in result.err) == (1, True)


def test_check_sees_shots_that_leak(workdir: Path) -> None:
    (workdir / "test.csv").write_text("question,answer\nq1,1\nq2,2\n", encoding="utf-8")
    (workdir / "train.csv").write_text("question,answer\nQ1,1\nq3,2\n", encoding="utf-8")
    result = assay("check", "test.csv", "--shots", "1", "--shots-from", "train")
    assert "1 questions are also among the shots" in result.out
    assert "q3\n" in result.out.replace("│ ", "").replace(" ", "").replace("│", "")


def test_one_damaged_run_hides_none_of_the_others(workdir: Path) -> None:
    (workdir / "data.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    assert assay("run", "data.csv", "-m", "mock", "--out", "runs/fine").status == 0
    (workdir / "runs" / "bad").mkdir()
    (workdir / "runs" / "bad" / "manifest.json").write_text("{x", encoding="utf-8")
    listed = assay("ls")
    assert listed.status == 0
    assert "fine" in listed.out
    assert "STORE-004 runs/bad/manifest.json" in listed.err
    answer = json.loads(assay("ls", "--json").out)
    assert [Path(run["folder"]).name for run in answer["runs"]] == ["fine"]
    assert [problem["code"] for problem in answer["problems"]] == ["STORE-004"]


def test_report_ls_and_explain(workdir: Path) -> None:
    assert "no runs" in assay("ls").out
    assay("run", ARITHMETIC, "-m", "mock", "--method", "ppl,prob,gen", "--score-by", "pmi")
    (folder,) = (workdir / "runs").iterdir()
    listed = assay("ls").out
    assert folder.name in listed
    assert "complete" in listed
    assert re.search(r"arithmetic +gen", assay("report").out)
    assert assay("report", "last", "--markdown").out == (folder / "report.md").read_text(encoding="utf-8")
    shown = assay("explain", "last", "row:1").out
    for part in ("Question: 8 + 4 =", "┃", "pmi", "probability of the labels", "rule whole_reply"):
        assert part in shown
    assert "B. 12 (right)" in shown


def test_the_old_command_line(workdir: Path) -> None:
    result = assay(
        *("as", "opencompass", "--models", "mock", "--custom-dataset-path", ARITHMETIC),
        *("--custom-dataset-data-type", "mcq", "--custom-dataset-infer-method", "ppl", "-w", "outputs"),
    )
    assert result.status == 0
    assert re.search(r"arithmetic +ppl +30/30", result.out)
    (report,) = (workdir / "outputs").glob("*/runs/mock/*/report.md")
    assert "arithmetic" in report.read_text(encoding="utf-8")
    assert "--custom-dataset-infer-method" in assay("as", "opencompass", "--help").out


def test_a_config_that_mixes_tables(workdir: Path) -> None:
    config = f"""
base = {str(EXAMPLES)!r}
datasets = [
    {{"path": base + "/arithmetic.csv", "data_type": "mcq", "infer_method": "ppl"}},
    {{"path": base + "/arithmetic_qa.jsonl", "data_type": "qa", "infer_method": "gen"}},
]
"""
    (workdir / "eval_custom.py").write_text(config, encoding="utf-8")
    result = assay("as", "opencompass", "eval_custom.py", "--models", "mock")
    assert result.status == 0
    assert re.search(r"arithmetic +ppl +30/30", result.out)
    assert re.search(r"arithmetic_qa +gen +12/12", result.out)


def test_a_dataset_by_name_under_a_data_root(workdir: Path, shared_data: Path) -> None:
    root = ("--data-root", str(shared_data))
    result = assay(
        "run",
        "cais/mmlu:anatomy,astronomy",
        "--split",
        "test",
        *root,
        "-m",
        "mock",
        "--shots",
        "2",
        "--shots-from",
        "dev",
        "--limit",
        "5",
    )
    assert result.status == 0
    assert re.search(r"cais/mmlu:anatomy +gen +5/5", result.out)
    assert re.search(r"cais/mmlu:astronomy +gen +5/5", result.out)
    assert "2 from dev (first)" in result.out


def test_a_path_written_in_another_way_is_the_same_run(workdir: Path) -> None:
    (workdir / "data.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    assay("run", "data.csv", "-m", "mock", "--out", "run")
    again = assay("run", str(workdir / "data.csv"), "-m", "mock", "--out", "run")
    assert (again.status, "is complete: 1 stored responses" in again.err) == (0, True)


def test_where_runs_are_kept_can_be_set_once_for_all_commands(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_RUNS_DIR", "elsewhere")
    assay("run", ARITHMETIC, "-m", "mock", "--limit", "2")
    (folder,) = (workdir / "elsewhere").iterdir()
    assert folder.name in assay("ls").out
    assert "arithmetic" in assay("report").out


def test_the_preview_shows_a_sample_that_will_be_evaluated(workdir: Path) -> None:
    result = assay("run", ARITHMETIC, "-m", "mock", "--limit", "1", "--out", "run")
    (record,) = lines(workdir / "run" / "samples.jsonl")
    sample = record["sample"]
    assert isinstance(sample, dict)
    assert f"gen prompt of {sample['id']}" in result.out


def test_settings_remember_where_they_came_from(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workdir / "assay.toml").write_text('model = "mock"\nseed = 3\nmax_tokens = 9\n', encoding="utf-8")
    monkeypatch.setenv("ASSAY_SEED", "4")
    assay("run", ARITHMETIC, "--max-tokens", "5", "--out", "run")
    settings = json.loads((workdir / "run" / "manifest.json").read_text(encoding="utf-8"))["settings"]
    assert settings["model"] == {"value": "mock", "source": "file"}
    assert settings["seed"] == {"value": 4, "source": "env"}
    assert settings["max_tokens"] == {"value": 5, "source": "flag"}
    assert settings["shots"] == {"value": None, "source": "default"}


def test_two_processes_do_not_share_a_run_folder(workdir: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "assay",
        "run",
        ARITHMETIC,
        "-m",
        "mock",
        "--model-arg",
        "hang_on=3 x 7 =",
    ]
    process = subprocess.Popen(
        [*command, "--out", "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 300
        while not (workdir / "run" / "responses.jsonl").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        second = assay("run", ARITHMETIC, "-m", "mock", "--out", "run")
        assert (second.status, "STORE-003" in second.err) == (2, True)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def test_help_names_every_command_and_wrong_ones_get_a_hint() -> None:
    shown = assay("--help").out
    for command in ("run", "check", "report", "explain", "ls", "new", "as"):
        assert re.search(rf"^  {command} ", shown, re.MULTILINE)
        assert assay(command, "--help").status == 0
    assert "did you mean 'check'" in assay("chek").err


@pytest.mark.parametrize("columns", ["60", "80"])
@pytest.mark.parametrize("command", [(), ("run",), ("ls",), ("export",), ("as",), ("as", "lm_eval")])
def test_help_breaks_no_word(columns: str, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = assay(*command, "--help").out
    assert not re.findall(r"\w+-$", shown, re.MULTILINE)
    assert "\N{NON-BREAKING HYPHEN}" not in shown


def test_help_names_every_log_format() -> None:
    for flag, to_write in (("import", False), ("export", True)):
        shown = assay(flag, "--help").out
        for one in list_formats():
            if one.write if to_write else one.read:
                assert re.search(rf"[ :]{one.name}[ ,.]", shown), one.name


def test_the_perplexity_of_texts(workdir: Path) -> None:
    rows = [
        {"text": f"The fox number {n} sat on the wall and looked at the moon.", "category": "ab"[n % 2]}
        for n in range(6)
    ]
    (workdir / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = assay("run", "texts.jsonl", "-m", "mock", "--window-tokens", "8", "--out", "run")
    assert result.status == 0, result.err
    assert re.search(r"texts +classic +6/6 +\d+\.\d+ +\d", result.out)
    assert "score" not in result.out.replace("scored", "")
    metrics = {(row["metric"], row["group"]): row for row in summary(workdir / "run")}
    assert metrics["perplexity_token", None]["is_headline"]
    assert metrics["perplexity_token", None]["higher_is_better"] is False
    assert {group for name, group in metrics if name == "bits_per_byte"} == {None, "a", "b"}
    scores = lines(workdir / "run" / "scores.jsonl")
    report = (workdir / "run" / "report.md").read_text(encoding="utf-8")
    assert "| perplexity / token |" in report
    assert "score %" not in report
    hardest = [row["sample_id"] for row in sorted(scores, key=lambda row: -float(str(row["value"])))]
    assert re.findall(r"^\| texts \| (\w{12}) \| \d", report, re.MULTILINE) == hardest
    explained = assay("explain", "run", "row:2", "--no-tokens").out
    assert "perplexity" in explained
    assert "least likely tokens" in explained
    assert (
        "windows" in json.loads((workdir / "run" / "manifest.json").read_text(encoding="utf-8"))["settings"]
    )
    again = assay("run", "texts.jsonl", "-m", "mock", "--window-tokens", "8", "--out", "run")
    assert "6 stored responses" in again.err
    assert "perplexity" in assay("report", "run").out
    other = assay("run", "texts.jsonl", "-m", "mock", "--window-tokens", "9", "--out", "run")
    assert "STORE-001" in other.err


def test_a_text_that_fails_is_counted_and_left_out(workdir: Path) -> None:
    (workdir / "a.txt").write_text("Some text.", encoding="utf-8")
    checked = assay("check", "a.txt", "-m", "mock", "--windows", "gptq")
    assert "1 texts are too short" in checked.out
    result = assay("run", "a.txt", "-m", "mock", "--windows", "gptq", "--out", "run")
    assert result.status == 3
    assert "every row failed; the first: windows: " in result.out
    assert "fewer than one block of 2,048" in (workdir / "run" / "report.md").read_text(encoding="utf-8")


def test_texts_and_questions_in_one_run(workdir: Path) -> None:
    (workdir / "a.txt").write_text("Some text.", encoding="utf-8")
    (workdir / "q.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    result = assay("run", "a.txt", "q.csv", "-m", "mock", "--windows", "classic")
    assert result.status == 0, result.err
    assert re.search(r"a +classic +1/1", result.out)
    assert re.search(r"q +gen +1/1", result.out)
    assert "--windows apply to plain texts" in result.out
    assert "ppl (perplexity)" in assay("ls").out
