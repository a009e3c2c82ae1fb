"""The command line against a server with faults: every sample is scored or counted, none asked twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli import killed
from fakes.fault_server import (
    Fault,
    FaultServer,
    broken_json,
    early_close,
    faulty,
    forever,
    null_content,
    slow_first_byte,
    stall,
    status,
)
from fakes.openai_server import serving

N_ROWS = 60
PATIENT = ("retries=9", "retry_wait_s=0.2", "timeout_s=60")
"""For faults that are over at once; however slow the machine is, no call is lost."""


@pytest.fixture(autouse=True)
def _data(workdir: Path, empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = "".join(f"{mark(n)} {n}+{n}=,{n},{2 * n},B\n" for n in range(N_ROWS))
    (workdir / "data.csv").write_text(f"question,A,B,answer\n{rows}", encoding="utf-8")


def mark(number: int) -> str:
    """What only the prompt of this row holds."""
    return f"case-{number:03d}"


def command(url: str, *args: str, flags: tuple[str, ...] = ()) -> list[str]:
    """The command line of a run with these model arguments."""
    given = [part for arg in args for part in ("--model-arg", arg)]
    program = [sys.executable, "-m", "assay", "run", "data.csv", "-m", f"openai:m@{url}", "--method", "gen"]
    return [*program, "--out", "run", "--no-cache", *given, *flags]


def run(url: str, *args: str, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(url, *args, flags=flags), capture_output=True, text=True, timeout=300, check=False
    )


def summary(folder: Path) -> dict[str, Any]:
    (metric,) = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert metric["n_scored"] + metric["n_unanswered"] + metric["n_failed"] == metric["n"]
    found: dict[str, Any] = metric
    return found


def stats(folder: Path) -> dict[str, float]:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    found: dict[str, float] = manifest["stats"]
    return found


def journaled(folder: Path) -> list[dict[str, Any]]:
    path = folder / "responses.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("stream", ["true", "false"])
def test_every_sample_is_scored_or_counted_and_what_failed_can_be_asked_again(
    workdir: Path, stream: str
) -> None:
    passing: dict[str, list[Fault]] = {
        mark(1): [status(429)],
        mark(2): [status(429, **{"Retry-After": "0"})],
        mark(3): [status(500), status(503), early_close],
        mark(4): [slow_first_byte],
        mark(5): [stall],
        mark(6): [early_close],
        mark(7): [broken_json],
    }
    lasting = {
        mark(10): (status(500, "it burns"), 4, "http: HTTP status 500: it burns"),
        mark(11): (status(400, "prompt is too long"), 1, "refused: HTTP status 400: prompt is too long"),
        mark(12): (broken_json, 4, "not_json: "),
        mark(13): (null_content, 1, "no_text: "),
        mark(14): (early_close, 4, "connection: " if stream == "false" else ""),
    }
    with faulty({**passing, **{name: forever(fault) for name, (fault, _, _) in lasting.items()}}) as server:
        # The faults never end, so a long timeout changes nothing but what a busy machine may take.
        args = ("retries=3", "retry_wait_s=0.05", "timeout_s=15", "idle_s=5", f"stream={stream}")
        done = run(server.url, *args)
        assert done.returncode == 3, done.stderr
        assert "Traceback" not in done.stderr
        assert (summary(workdir / "run")["n"], summary(workdir / "run")["n_failed"]) == (60, 5)
        assert "55/60" in done.stdout
        assert "failed rows, not part of the score: 5" in plain(done.stdout)
        assert "calls were retried after" in plain(done.stdout)
        for why in ("HTTP status 429 (2)", "HTTP status 500", "HTTP status 503 (1)", "not_json", "timeout"):
            assert why in plain(done.stdout)
        for name, faults in passing.items():
            assert server.asked_with(name) > len(faults), name
        failures = {one["request_id"]: one["outcome"] for one in journaled(workdir / "run")}
        assert len(failures) == N_ROWS
        reported = (workdir / "run" / "scores.jsonl").read_text(encoding="utf-8")
        for name, (_, n_attempts, why) in lasting.items():
            assert server.asked_with(name) == n_attempts, name
            assert why in reported
        attempts = sorted(one.get("attempts", 1) for one in failures.values() if one["type"] == "failure")
        assert attempts == sorted(n_attempts for _, n_attempts, _ in lasting.values())

        server.forget()
        again = run(server.url, *args, flags=("--retry-failed",))
        assert again.returncode == 0, again.stderr
        assert server.asked.total() == 5
        assert all(server.asked_with(name) == 1 for name in lasting), "those alone are asked"
        assert "60/60" in again.stdout
    assert summary(workdir / "run")["n_failed"] == 0


def kill_after(server: FaultServer, workdir: Path, n_lines: int) -> tuple[int, int]:
    """Kill a run in the middle; return how many answers it had kept, and how many the server had given."""
    args = command(server.url, *PATIENT)
    kept = killed(args, workdir / "run" / "responses.jsonl", after=n_lines)
    server.stop()  # Nothing of the killed run is on its way any more.
    n_finished = server.finished.total()
    server.lets_through = float("inf")
    server.start()
    return len(kept.splitlines()), n_finished


@pytest.mark.parametrize("lets_through", [20, N_ROWS])
def test_a_run_that_was_killed_asks_exactly_what_it_had_not_kept(workdir: Path, lets_through: int) -> None:
    """Held at twenty, all answers were kept when it is killed. Not held, some may be on their way."""
    with faulty({mark(3): [status(429)], mark(8): [early_close]}) as server:
        server.lets_through = lets_through
        n_kept, n_finished = kill_after(server, workdir, 20)
        assert n_kept <= n_finished
        if lets_through == 20:
            assert (n_kept, n_finished) == (20, 20)
        done = run(server.url, *PATIENT)
        assert done.returncode == 0, done.stderr
        assert server.finished.total() - n_finished == N_ROWS - n_kept
        repeated = [prompt for prompt, n in server.finished.items() if n > 1]
        assert len(repeated) == n_finished - n_kept, "answers that were lost on the way, and no others"
        assert len(server.finished) == N_ROWS
        assert stats(workdir / "run")["requests_journaled"] == n_kept
    assert summary(workdir / "run")["n_failed"] == 0


def test_a_server_that_restarts_loses_nothing(workdir: Path) -> None:
    with faulty() as server:
        server.lets_through = 20
        process = subprocess.Popen(
            command(server.url, *PATIENT), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            server.wait_until_full()
            server.stop()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)  # It waits for the server.
            server.lets_through = float("inf")
            server.start()
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
        assert process.returncode == 0, err
        assert "60/60" in out
        assert "calls were retried after" in plain(out)
        assert "was overloaded" in plain(out)
        assert server.finished.total() >= len(server.finished) == N_ROWS
    assert summary(workdir / "run")["n_failed"] == 0
    assert [one["outcome"]["type"] for one in journaled(workdir / "run")] == ["completion"] * N_ROWS


def test_a_server_that_rejects_every_input_is_reported_once_and_nothing_is_stored(workdir: Path) -> None:
    everything = {"case-": forever(status(400, "max_tokens is too large: 256"))}
    with faulty(everything) as server:
        stopped = run(server.url)
        assert stopped.returncode == 2
        assert "MODEL-010" in stopped.stderr
        assert "rejected the first 20 requests" in stopped.stderr
        assert "max_tokens is too large: 256" in stopped.stderr
        assert journaled(workdir / "run") == []

        kept_going = run(server.url, flags=("--keep-going",))
        assert kept_going.returncode == 3
        assert summary(workdir / "run")["n_failed"] == N_ROWS
        assert run(server.url, flags=("--retry-failed",)).returncode == 2, "still nothing was answered"

        server.forget()
        assert run(server.url, flags=("--retry-failed",)).returncode == 0
        assert server.asked.total() == N_ROWS
    assert summary(workdir / "run")["n_failed"] == 0


def test_many_rejected_inputs_of_a_run_with_answers_are_failed_samples_each_time(workdir: Path) -> None:
    refused = {mark(n): forever(status(400, "too long")) for n in range(5, 40)}
    with faulty(refused) as server:
        args = ("concurrency=1",)
        assert run(server.url, *args).returncode == 3
        assert summary(workdir / "run")["n_failed"] == 35
        server.asked.clear()
        assert run(server.url, *args, flags=("--retry-failed",)).returncode == 3
        assert server.asked.total() == 35
    assert summary(workdir / "run")["n_failed"] == 35


def test_concurrency_is_what_the_flag_says_and_no_part_of_the_run(workdir: Path) -> None:
    with serving() as server:
        assert run(server.url, flags=("--concurrency", "3")).returncode == 0
        assert 1 < server.most_under_way <= 3
        assert stats(workdir / "run")["model_highest_concurrency"] == 3
        n_asked = len(server.bodies)
        again = run(server.url, flags=("--concurrency", "5"))
        assert again.returncode == 0, again.stderr
        assert len(server.bodies) == n_asked == N_ROWS, "it is the same run"
        differing = run(server.url, "concurrency=4", flags=("--concurrency", "3"))
        assert (differing.returncode, "MODEL-002" in differing.stderr) == (2, True)
        assert "--concurrency 3 and the model argument concurrency=4 differ" in differing.stderr
    local = subprocess.run(
        [sys.executable, "-m", "assay", "run", "data.csv", "-m", "mock", "--concurrency", "3"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (local.returncode, "MODEL-002" in local.stderr) == (2, True)
    assert "mock does not send requests to a server" in local.stderr
