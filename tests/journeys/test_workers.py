"""`--workers N` by the command line: the same numbers for every N, and nothing lost when workers die."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from assay.backends.package_versions import read_package_versions
from cli import assay
from fakes.tiny_models import write_tiny_model

N_ROWS = 120
POISON = "What is 17+18?"


@pytest.fixture
def questions(workdir: Path) -> Path:
    rows = "".join(
        f"What is {n}+{n + 1}?,{2 * n + 1},{2 * n},{2 * n + 3},{'ABC'[n % 3]}\n" for n in range(N_ROWS)
    )
    path = workdir / "sums.csv"
    path.write_text(f"question,A,B,C,answer\n{rows}", encoding="utf-8")
    return path


def run(*more: str, out: str, status: int = 0, model: str = "mock", method: str = "ppl,gen") -> str:
    answer = assay("run", "sums.csv", "-m", model, "--method", method, "--out", out, *more)
    assert answer.status == status, answer.err
    return answer.out + answer.err


def journal(folder: str) -> list[dict[str, Any]]:
    lines = Path(folder, "responses.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def ids(folder: str) -> Counter[str]:
    return Counter(one["request_id"] for one in journal(folder))


def assert_same_result(one: str, other: str) -> None:
    for name in ("summary.json", "scores.jsonl", "samples.jsonl"):
        assert Path(one, name).read_bytes() == Path(other, name).read_bytes(), name


def workers_of(process: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            status = (folder / "stat").read_text().rpartition(")")[2].split()
            words = (folder / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(status[1]) == process and b"assay.app.worker" in words and status[0] != "Z":
            found.append(int(folder.name))
    return sorted(found)


def started(*more: str, out: str, model: str = "mock", method: str = "ppl,gen") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "assay", "run", "sums.csv", "-m", model, "--method", method]
    return subprocess.Popen(
        [*command, "--out", out, *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def wake(worker: int) -> None:
    """Let a worker that was stopped see that its run is gone, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(worker, signal.SIGCONT)


def wait_for_answers(folder: str, n: int) -> None:
    path = Path(folder, "responses.jsonl")
    until = time.monotonic() + 60
    while not path.is_file() or path.read_bytes().count(b"\n") < n:
        assert time.monotonic() < until, "no answers came"
        time.sleep(0.02)


def test_scores_do_not_depend_on_the_number_of_workers(questions: Path) -> None:
    run(out="alone")
    for n in (1, 3):
        run("--workers", str(n), out=f"by{n}")
        assert_same_result("alone", f"by{n}")
        assert ids(f"by{n}") == ids("alone")
    manifests = [json.loads(Path(name, "manifest.json").read_text()) for name in ("alone", "by3")]
    assert manifests[0]["id"] == manifests[1]["id"]
    assert manifests[1]["settings"]["workers"] == {"value": 3, "source": "flag"}


def test_a_run_by_workers_is_explained_without_them(questions: Path) -> None:
    run("--workers", "2", "--model-arg", "num_cpus=1", out="placed")
    explained = assay("explain", "placed", "row:1")
    assert explained.status == 0, explained.err
    assert "What is 0+1?" in explained.out


def test_a_request_that_kills_every_worker_fails_and_the_rest_is_answered(questions: Path) -> None:
    output = run("--model-arg", f"die_on={POISON}", "--workers", "2", out="poisoned", status=3)
    assert "1 of 120 samples failed (1 worker_died)" in output
    assert "SIGKILL" in output
    run(out="alone")
    assert ids("poisoned") == ids("alone")
    failed = [one for one in journal("poisoned") if one["outcome"]["type"] == "failure"]
    assert {one["outcome"]["kind"] for one in failed} == {"worker_died"}
    assert len({one["request_id"].split("/")[1] for one in failed}) == 1
    # Without the fault it is the same model: its answers count, and what failed is asked again.
    run("--retry-failed", "--workers", "2", out="poisoned")
    assert_same_result("alone", "poisoned")


def test_a_worker_that_hangs_is_replaced(questions: Path) -> None:
    more = ("--model-arg", f"hang_on={POISON}", "--workers", "2", "--worker-timeout", "0.7")
    output = run(*more, out="hung", status=3, method="gen")
    assert "1 worker_died" in output
    (failed,) = [one for one in journal("hung") if one["outcome"]["type"] == "failure"]
    assert "did not answer for" in failed["outcome"]["message"]
    assert len(ids("hung")) == N_ROWS


def test_workers_killed_in_the_middle_are_replaced(questions: Path) -> None:
    process = started("--model-arg", "delay_ms=5", "--workers", "2", out="killed")
    try:
        wait_for_answers("killed", 20)
        for worker in workers_of(process.pid):
            os.kill(worker, signal.SIGKILL)
        _, message = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 0, message.decode()
    run(out="alone")
    assert_same_result("alone", "killed")
    assert ids("killed") == ids("alone")
    assert json.loads(Path("killed", "manifest.json").read_text())["stats"]["model_workers_lost"] >= 1


@pytest.mark.parametrize("again", [("--workers", "3"), ()], ids=["other number", "no workers"])
def test_a_run_killed_in_the_middle_continues_with_another_number(
    questions: Path, again: tuple[str, ...]
) -> None:
    process = started("--model-arg", "delay_ms=5", "--workers", "2", out="resumed")
    try:
        wait_for_answers("resumed", 50)
        workers = workers_of(process.pid)
        assert len(workers) == 2
    finally:
        process.kill()
        process.communicate()
    until = time.monotonic() + 20
    while any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers):
        assert time.monotonic() < until, "workers outlive their run"
        time.sleep(0.05)
    n_before = len(ids("resumed"))
    run(*again, out="resumed")
    run(out="alone")
    assert_same_result("alone", "resumed")
    assert ids("resumed") == ids("alone")
    stats = json.loads(Path("resumed", "manifest.json").read_text())["stats"]
    assert stats["requests_journaled"] == n_before


def test_ctrl_c_leaves_no_worker_behind(questions: Path) -> None:
    process = started("--model-arg", "delay_ms=20", "--workers", "2", out="stopped")
    try:
        wait_for_answers("stopped", 10)
        workers = workers_of(process.pid)
        assert len(workers) == 2
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert not any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers)


@pytest.mark.model
@pytest.mark.slow
def test_the_real_model_in_two_workers_scores_as_in_one_process(questions: Path) -> None:
    for name, more in (("alone", ()), ("by2", ("--workers", "2", "--model-arg", "num_cpus=1"))):
        run("--limit", "first:8", "--no-cache", "--max-tokens", "2", *more, out=name, model="smollm2")
    scores = [
        [json.loads(line) for line in Path(name, "scores.jsonl").read_text().splitlines()]
        for name in ("alone", "by2")
    ]
    answers = [[(one.get("answer"), one.get("value")) for one in scored] for scored in scores]
    assert answers[0] == answers[1]
    sums = [
        {one["request_id"]: one["outcome"].get("sum_logprob") for one in journal(name)}
        for name in ("alone", "by2")
    ]
    assert sums[0].keys() == sums[1].keys()
    for request_id, value in sums[0].items():
        assert value is None or sums[1][request_id] == pytest.approx(value, abs=1e-4)


@pytest.mark.slow
def test_a_worker_that_finds_other_weights_ends_the_run_which_continues_with_the_right_ones(
    questions: Path,
) -> None:
    pytest.importorskip("torch", reason="the hf extra is not installed")
    write_tiny_model(Path("model"))
    shutil.copytree("model", "kept")
    few = ("--max-tokens", "24", "--no-cache", "--workers", "2")
    workers: list[int] = []
    process = started(*few, out="mixed", model="hf:model", method="gen")
    try:
        wait_for_answers("mixed", 1)
        workers = workers_of(process.pid)
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        assert process.poll() is None, "it ended before a worker could be lost"
        # A new file: the old one stays what it is for who has it open.
        other = Path("model", "other")
        other.write_bytes(Path("model", "model.safetensors").read_bytes()[:-4] + bytes(4))
        other.replace("model/model.safetensors")
        # The other one stays as it is: who comes in the place of this one is waited for.
        os.kill(workers[0], signal.SIGKILL)
        _, message = process.communicate(timeout=600)
    finally:
        process.kill()
        for worker in workers:
            wake(worker)
    assert process.returncode == 2, message.decode()
    assert "WORKER-009" in message.decode()
    assert f"a worker on {platform.node()} has another model under hf:model" in message.decode()
    assert "model.safetensors is " in message.decode()
    n_before = len(ids("mixed"))
    assert 0 < n_before < N_ROWS
    # What is there now is another run.
    refused = assay("run", "sums.csv", "-m", "hf:model", "--method", "gen", *few, "--out", "mixed")
    assert "STORE-001" in refused.err
    shutil.copy("kept/model.safetensors", "model/model.safetensors")
    run(*few, out="mixed", model="hf:model", method="gen")
    stats = json.loads(Path("mixed", "manifest.json").read_text(encoding="utf-8"))["stats"]
    assert stats["requests_journaled"] == n_before
    run(*few[:-2], out="alone", model="hf:model", method="gen")
    assert_same_result("alone", "mixed")
    assert ids("mixed") == ids("alone")


@pytest.mark.slow
def test_other_versions_of_what_computes_are_noted(questions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the hf extra is not installed")
    write_tiny_model(Path("model"))
    ours = read_package_versions(["torch"])["torch"]
    theirs = f"{ours.partition('+')[0]}+other"
    reported = Path("packages", f"torch-{theirs}.dist-info", "METADATA")
    reported.parent.mkdir(parents=True)
    reported.write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {theirs}\n", encoding="utf-8")
    # Workers find it first, and this process, which has started already, does not.
    monkeypatch.setenv("PYTHONPATH", str(Path("packages").resolve()), prepend=os.pathsep)
    few = ("--limit", "first:2", "--max-tokens", "2", "--no-cache", "--workers", "1")
    run(*few, out="noted", model="hf:model", method="gen")
    notes = json.loads(Path("noted", "manifest.json").read_text(encoding="utf-8"))["notes"]
    (note,) = [one for one in notes if "last digits" in one]
    assert f"torch is {theirs} on {platform.node()}, but {ours} where the run was started" in note


def test_several_datasets_share_the_workers_and_give_the_same_numbers(questions: Path) -> None:
    others = questions.with_name("more.csv")
    others.write_text(questions.read_text(encoding="utf-8").replace("What is", "How much is"), "utf-8")
    for out, more in (("alone", ()), ("both", ("--workers", "2"))):
        answer = assay("run", "sums.csv", "more.csv", "-m", "mock", "--method", "ppl", "--out", out, *more)
        assert answer.status == 0, answer.err
    assert_same_result("alone", "both")
    assert ids("alone") == ids("both")
    stats = json.loads(Path("both", "manifest.json").read_text(encoding="utf-8"))["stats"]
    # On a busy machine the second may come when all is done.
    assert 1 <= stats["model_workers"] <= 2
    assert stats["model_workers_lost"] == 0
