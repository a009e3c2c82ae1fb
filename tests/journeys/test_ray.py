"""`--on ray` by the command line, on a cluster of three nodes: the same run, whatever becomes of them."""

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.ray_nodes import NoCluster, RayNodes, ray_nodes
from fakes.tiny_models import write_tiny_model

pytest.importorskip("ray", reason="the ray extra is not installed")
pytestmark = pytest.mark.slow

N_ROWS = 90
DEADLY, ENDLESS = "What is 17+18?", "What is 5+6?"
WAIT_S = 240.0


@contextmanager
def nodes_or_skip(n: int) -> Iterator[RayNodes]:
    try:
        with ray_nodes(n) as nodes:
            yield nodes
    except NoCluster as no:
        pytest.skip(f"Ray does not start here: {no}")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayNodes]:
    with nodes_or_skip(3) as nodes:
        yield nodes


@pytest.fixture(autouse=True)
def questions(workdir: Path) -> None:
    rows = "".join(
        f"What is {n}+{n + 1}?,{2 * n + 1},{2 * n},{2 * n + 3},{'ABC'[n % 3]}\n" for n in range(N_ROWS)
    )
    Path("sums.csv").write_text(f"question,A,B,C,answer\n{rows}", encoding="utf-8")


class Run:
    """A command in a process of its own, whose progress can be waited for."""

    def __init__(self, *more: str, out: str, method: str = "gen", model: str = "mock") -> None:
        self._out = out
        command = [sys.executable, "-m", "assay", "run", "sums.csv", "-m", model, "--method", method]
        self._log = Path(f"{out}.log").open("w+b")  # noqa: SIM115 (closed by ended)
        self.process = subprocess.Popen(
            [*command, "--out", out, "--no-cache", "--progress", "json", *more],
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        )

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()
        self._log.close()

    def events(self) -> list[dict[str, Any]]:
        lines = Path(f"{self._out}.log").read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line)["progress"] for line in lines if line.startswith("{")]

    def wait_until(self, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        until = time.monotonic() + WAIT_S
        while True:
            events: list[dict[str, Any]] = [event for event in self.events() if is_so(event)]
            if events:
                return events[-1]
            assert self.process.poll() is None, f"it ended before: {self.said()}"
            assert time.monotonic() < until, f"it never came so far: {self.said()}"
            time.sleep(0.05)

    def said(self) -> str:
        """Return what it printed that is no event."""
        lines = Path(f"{self._out}.log").read_text(encoding="utf-8").splitlines()
        return "\n".join(line for line in lines if not line.startswith("{"))

    def ended(self, status: int = 0) -> str:
        out, _ = self.process.communicate(timeout=WAIT_S)
        assert self.process.returncode == status, self.said()
        return out.decode()


def alone(method: str = "gen") -> str:
    answer = assay("run", "sums.csv", "-m", "mock", "--method", method, "--out", "alone", "--no-cache")
    assert answer.status == 0, answer.err
    return "alone"


def journal(folder: str) -> list[dict[str, Any]]:
    lines = Path(folder, "responses.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def ids(folder: str) -> Counter[str]:
    return Counter(one["request_id"] for one in journal(folder))


def stats(folder: str) -> dict[str, float]:
    found: dict[str, float] = json.loads(Path(folder, "manifest.json").read_text())["stats"]
    return found


def assert_same_result(one: str, other: str) -> None:
    for name in ("summary.json", "scores.jsonl", "samples.jsonl"):
        assert Path(one, name).read_bytes() == Path(other, name).read_bytes(), name
    assert ids(one) == ids(other)
    assert set(ids(other).values()) == {1}


def workers_here(folder: Path) -> list[int]:
    """Return the workers of runs that were started in a folder."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            is_worker = b"assay.app.worker" in (process / "cmdline").read_bytes()
            if process.name.isdecimal() and is_worker and (process / "cwd").readlink() == folder:
                found.append(int(process.name))
        except OSError:
            continue
    return found


def assert_nobody_is_left(folder: Path) -> None:
    until = time.monotonic() + 30
    while workers_here(folder):
        assert time.monotonic() < until, "workers outlive their run"
        time.sleep(0.1)


def test_one_process_and_three_nodes_give_the_same_run(cluster: RayNodes, workdir: Path) -> None:
    with Run("--on", f"ray:{cluster.address}", "--json", out="far", method="ppl,gen") as run:
        answer = json.loads(run.ended())
        # Ray has much to say, and none of it is said here.
        assert run.said() == ""
        shown = [event["workers"] for event in run.events() if event["workers"]]
    assert answer["status"] == "complete"
    assert_same_result(alone("ppl,gen"), "far")
    # One that is slow to start may come when all is done.
    assert 1 <= stats("far")["model_nodes"] == stats("far")["model_workers"] <= 3
    assert shown[0] == {"n_up": 0, "n_awaited": 0, "n_nodes": 0, "n_lost": 0}
    assert shown[-1]["n_up"] >= 1
    assert shown[-1]["n_nodes"] >= 1
    manifests = [json.loads(Path(name, "manifest.json").read_text()) for name in ("alone", "far")]
    assert manifests[0]["id"] == manifests[1]["id"]
    assert_nobody_is_left(workdir)


def test_nodes_go_and_come_and_a_killed_run_continues_without_ray(cluster: RayNodes, workdir: Path) -> None:
    with Run("--on", f"ray:{cluster.address}", "--model-arg", "delay_ms=2000", out="shaken") as run:
        run.wait_until(lambda now: now["workers"]["n_nodes"] == 3 and now["n_answered"] >= 3)
        cluster.lose_one()
        lost = run.wait_until(lambda now: now["workers"]["n_lost"] == 1)
        run.wait_until(lambda now: now["n_answered"] > lost["n_answered"])
        cluster.add_one()
        come = run.wait_until(lambda now: now["workers"]["n_lost"] == 1 and now["workers"]["n_nodes"] == 3)
        run.wait_until(lambda now: now["n_answered"] > come["n_answered"])
        assert run.process.poll() is None, "it ended before it could be killed"
        run.process.kill()
    # The cluster lives on; nothing there holds its processors any longer.
    assert_nobody_is_left(workdir)
    n_before = len(ids("shaken"))
    assert 0 < n_before < N_ROWS
    with Run(out="shaken") as run:
        run.ended()
    assert stats("shaken")["requests_journaled"] == n_before
    assert_same_result(alone(), "shaken")


def test_a_stopped_run_continues_with_another_number_of_workers(cluster: RayNodes, workdir: Path) -> None:
    with Run("--on", f"ray:{cluster.address}", "--model-arg", "delay_ms=1000", out="stopped") as run:
        run.wait_until(lambda now: now["n_answered"] >= 3)
        run.process.send_signal(signal.SIGINT)
        run.process.communicate(timeout=WAIT_S)
    assert_nobody_is_left(workdir)
    n_before = len(ids("stopped"))
    assert 0 < n_before < N_ROWS
    with Run("--on", f"ray:{cluster.address}", "--workers", "1", out="stopped") as run:
        run.ended()
    assert stats("stopped")["requests_journaled"] == n_before
    assert stats("stopped")["model_workers"] == 1
    assert_same_result(alone(), "stopped")


def test_what_kills_or_stalls_its_worker_fails_and_the_rest_is_answered(cluster: RayNodes) -> None:
    breaks = ("--model-arg", f"die_on={DEADLY}", "--model-arg", f"hang_on={ENDLESS}")
    with Run("--on", f"ray:{cluster.address}", *breaks, "--worker-timeout", "2", out="broken") as run:
        run.ended(status=3)
        said = run.said()
    assert "2 of 90 samples failed (2 worker_died)" in said
    assert ids("broken") == ids(alone())
    failed = [one["outcome"] for one in journal("broken") if one["outcome"]["type"] == "failure"]
    assert {one["kind"] for one in failed} == {"worker_died"}
    assert all(one["attempts"] <= 3 for one in failed)
    assert sorted("SIGKILL" in one["message"] for one in failed) == [False, True]
    assert sorted("did not answer for" in one["message"] for one in failed) == [False, True]
    assert stats("broken")["model_workers_lost"] >= 6
    # Without the faults it is the same model: its answers count, and what failed is asked again.
    with Run("--retry-failed", out="broken") as run:
        run.ended()
    for name in ("summary.json", "scores.jsonl"):
        assert Path("alone", name).read_bytes() == Path("broken", name).read_bytes(), name


@pytest.mark.model
def test_the_real_model_scores_as_in_one_process(cluster: RayNodes) -> None:
    few = ("--limit", "first:4", "--max-tokens", "2")
    on_two = ("--on", f"ray:{cluster.address}", "--workers", "2", "--model-arg", "num_cpus=1")
    for name, more in (("near", ()), ("far", on_two)):
        with Run(*few, *more, out=name, method="ppl,prob,gen", model="smollm2") as run:
            run.ended()
    near, far = [
        [json.loads(line) for line in Path(name, "scores.jsonl").read_text().splitlines()]
        for name in ("near", "far")
    ]
    assert [(one.get("answer"), one.get("value")) for one in near] == [
        (one.get("answer"), one.get("value")) for one in far
    ]
    assert ids("near") == ids("far")
    expected = {one["request_id"]: one["outcome"] for one in journal("near")}
    for one in journal("far"):
        other = expected[one["request_id"]]
        assert one["outcome"]["type"] == other["type"]
        for field in ("sum_logprob", "probs"):
            assert one["outcome"].get(field) == pytest.approx(other.get(field), abs=1e-4)


def test_a_node_that_has_other_weights_at_the_same_path_is_given_nothing(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes of one machine have the same files, but where a path begins with `~`."""
    pytest.importorskip("torch", reason="the hf extra is not installed")
    homes = {name: workdir / name for name in ("right", "wrong")}
    for home in homes.values():
        write_tiny_model(home / "model")
    weights = homes["wrong"] / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + bytes(4))
    monkeypatch.setenv("HOME", str(homes["right"]))
    monkeypatch.setenv("ASSAY_CACHE", str(workdir / "cache"))
    with nodes_or_skip(1) as cluster:
        few = ("--on", f"ray:{cluster.address}", "--max-tokens", "24")
        with Run(*few, "--model-arg", "max_batch=1", out="mixed", model="hf:~/model") as run:
            run.wait_until(lambda now: now["n_answered"] >= 1)
            (worker,) = workers_here(workdir)
            # It stays as it is, so that the run does not end before the new node is heard of.
            os.kill(worker, signal.SIGSTOP)
            try:
                cluster.add_one(homes["wrong"])
                run.ended(status=2)
            finally:
                run.process.kill()
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGCONT)
            said = run.said()
        assert "WORKER-009" in said
        assert "has another model under hf:~/model than the run: model.safetensors is " in said
        assert platform.node() in said
        assert_nobody_is_left(workdir)
        n_before = len(ids("mixed"))
        assert 0 < n_before < N_ROWS
        # The same files on all nodes, and the same command goes on.
        shutil.copy(homes["right"] / "model" / "model.safetensors", weights)
        with Run(*few, out="mixed", model="hf:~/model") as run:
            run.ended()
    assert stats("mixed")["requests_journaled"] == n_before
    with Run("--max-tokens", "24", out="alone", model="hf:~/model") as run:
        run.ended()
    assert_same_result("alone", "mixed")


def test_a_cluster_for_one_run_ends_with_it(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "local")
    with Run("--on", "ray", "--model-arg", "num_gpus=64", out="huge") as run:
        run.ended(status=2)
        said = run.said()
    assert "WORKER-007" in said
    assert "num_gpus=64" in said
    assert not [one for one in Path("/proc").iterdir() if _is_of(one, run.process.pid)]


def _is_of(process: Path, run: int) -> bool:
    """Whether a process belongs to the cluster that a run has started: its session has the run's number."""
    try:
        return f"_{run}/".encode() in (process / "cmdline").read_bytes()
    except OSError:
        return False
