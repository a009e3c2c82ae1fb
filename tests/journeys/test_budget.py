"""The cost of a run: estimated before it, limited while it lasts, and shown beside the score."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cli import assay, error_of
from fakes.batch_server import batching
from fakes.openai_server import Body, OpenAIServer, choice, reply, serving
from fakes.provider_servers import anthropic_reply

N = 40
ROWS = "question,a,b,correct\n" + "".join(f"What is {n} + {n}?,{2 * n},{2 * n + 1},A\n" for n in range(N))
PRICES = '[prices."openai:m"]\ninput = 2.0\noutput = 10.0\ncached_input = 0.5\n'
EACH = (60 * 2.0 + 40 * 0.5 + 10 * 10.0) / 1e6
"""The cost of a request."""
STOPPED = 4


@pytest.fixture
def quiz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path = tmp_path / "quiz.csv"
    path.write_text(ROWS)
    Path("assay.toml").write_text(PRICES)
    return path


def model(body: Body) -> Body:
    whole = reply(choice(body, "A"))
    details = {"cached_tokens": 40}
    whole["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": details}
    return whole


def command(server: OpenAIServer, *more: str) -> list[str]:
    name = f"openai:m@{server.url}"
    return ["run", "quiz.csv", "-m", name, "--method", "gen", "--out", "run", "--progress", "none", *more]


def n_served(server: OpenAIServer) -> int:
    return len(server.bodies)


def test_a_run_stops_at_its_budget_and_resumes_with_a_higher_one(quiz: Path) -> None:
    with serving(model) as server:
        stopped = assay(*command(server, "--budget", f"{10 * EACH:.6f}usd"))
        assert stopped.status == STOPPED, stopped.err
        assert n_served(server) == 10
        assert "10 of 40 samples are answered, and none is scored" in stopped.out
        assert json.loads(Path("run/manifest.json").read_text())["status"] == "stopped"

        spent = assay(*command(server, "--budget", f"{10 * EACH:.6f}usd"))
        code, what, fix = error_of(spent)
        assert (code, n_served(server)) == ("BUDGET-002", 10)
        assert "nothing was sent" in what, what
        assert "higher --budget" in fix

        tokens = assay(*command(server, "--budget", "1usd,2.2ktokens"))
        assert (tokens.status, n_served(server)) == (STOPPED, 20)

        done = assay(*command(server, "--budget", "1usd", "--json"))
        assert (done.status, n_served(server)) == (0, N)
    cost = json.loads(done.out)["cost"]
    assert cost["usd"] == pytest.approx(N * EACH)
    assert cost["is_complete"]
    assert "cost" in assay("report", "run").out
    report = Path("run/report.md").read_text()
    assert f"{N} requests, 4,000 input (1,600 from the provider's cache) and 400 output tokens" in report
    assert "0.0096" in assay("leaderboard", "run").out


def test_answered_samples_of_a_stopped_run_are_scored_from_the_cache(quiz: Path) -> None:
    with serving(model) as server:
        assay(*command(server, "--budget", "1100tokens"))
        fewer = [one for one in command(server) if one not in ("--out", "run")]
        done = assay("run", *fewer, "--limit", "first:10")
        assert done.status == 0, done.err
        assert n_served(server) == 10
    assert "0.00 USD" in done.out
    assert "10 reused answers cost nothing" in done.out


def test_a_killed_run_remembers_what_it_spent(quiz: Path) -> None:
    """The budget counts the stored answers, so a kill at any instant forgets no paid one."""
    n = 0

    def slow(body: Body) -> Any:
        nonlocal n
        n += 1
        if n > 6:
            time.sleep(0.3)
        return model(body)

    with serving(slow) as server:
        run = [sys.executable, "-m", "assay", *command(server, "--concurrency", "1")]
        process = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        journal = Path("run/responses.jsonl")
        while not journal.exists() or journal.read_bytes().count(b"\n") < 6:
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        n_stored = journal.read_bytes().count(b"\n")
        resumed = assay(*command(server, "--budget", f"{12 * EACH:.6f}usd", "--concurrency", "1"))
    assert resumed.status == STOPPED
    assert n_stored < 12
    assert "12 of 40 samples are answered" in resumed.out


def test_a_judge_is_charged_and_limited_too(quiz: Path) -> None:
    Path("open.csv").write_text("question,answer\n" + "".join(f"What is {n}?,{n}\n" for n in range(12)))
    Path("assay.toml").write_text(PRICES + PRICES.replace("openai:m", "openai:j"))
    with serving(model) as server, serving(model) as judge:
        run = ["run", "open.csv", "-m", f"openai:m@{server.url}", "--judge", f"openai:j@{judge.url}"]
        run += ["--match", "judge", "--out", "run", "--progress", "none"]
        stopped = assay(*run, "--budget", f"{18 * EACH:.6f}usd")
        assert stopped.status == STOPPED, stopped.err
        n_paid = n_served(server) + n_served(judge)
        assert n_paid == 18
        done = assay(*run, "--budget", "1usd", "--json")
        assert (n_served(server), n_served(judge)) == (12, 12)
    cost = json.loads(done.out)["cost"]
    assert [charge["role"] for charge in cost["charges"]] == ["model", "judge"]
    assert [charge["usd"] for charge in cost["charges"]] == [pytest.approx(12 * EACH)] * 2
    Path("assay.toml").write_text(PRICES)
    unknown = assay(*run, "--fresh", "--budget", "1usd")
    assert "openai:j" in error_of(unknown)[1]


@pytest.mark.parametrize(
    ("prices", "budget", "code", "words"),
    [
        ("", "1usd", "BUDGET-001", '[prices."openai:m"]'),
        (PRICES, "1banana", "USAGE-001", "no known unit"),
        ('[prices."openai:m"]\ninput = 1\n', "1usd", "USAGE-001", "output"),
    ],
)
def test_errors_come_before_any_request(quiz: Path, prices: str, budget: str, code: str, words: str) -> None:
    Path("assay.toml").write_text(prices)
    with serving(model) as server:
        failed = assay(*command(server, "--budget", budget))
        assert error_of(failed)[0] == code
        assert words in failed.err
        assert not server.bodies


def test_a_server_that_reports_its_costs_needs_no_prices(quiz: Path) -> None:
    Path("assay.toml").write_text('[prices]\n"openai:m" = "reported"\n')

    def priced(body: Body) -> Body:
        whole = model(body)
        whole["usage"]["cost"] = 0.001
        return whole

    with serving(priced) as server:
        done = assay(*command(server, "--budget", "0.01usd"))
        assert (done.status, n_served(server)) == (STOPPED, 10)
    with serving(model) as server:
        done = assay(*command(server, "--budget", "0.01usd", "--fresh", "--concurrency", "1"))
    assert done.status == STOPPED
    assert "reports no cost" in done.out


def test_an_estimate_is_near_what_the_run_then_needs(quiz: Path) -> None:
    check = ["check", "quiz.csv", "--prompts", "0", "--method", "gen", "--estimate"]
    with serving(model) as server:
        name = ["-m", f"openai:m@{server.url}"]
        before = json.loads(assay(*check, *name, "--json").out)["estimate"]
        assert not server.bodies
        assert before["n_requests"] == N
        assert before["usd"]["expected"] is None
        assay("run", "quiz.csv", *name, "--method", "gen", "--progress", "none", "--limit", "20")
        after = json.loads(assay(*check, *name, "--json").out)["estimate"]
        shown = assay(*check, *name, "--budget", "0.0001usd").out
    assert after["output_tokens"]["expected"] == 10 * N
    assert before["usd"]["low"] <= after["usd"]["expected"] <= before["usd"]["high"]
    assert "as in run quiz-openai-m" in shown
    assert "the budget of 0.0001 USD is too small for the whole run" in shown
    unknown = assay(*check, "-m", "openai:other@http://127.0.0.1:9/v1").out
    assert '[prices."openai:other"]' in unknown


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_batch_is_only_as_large_as_the_budget_and_costs_less(
    quiz: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a batch is lost: its answers are paid for when it is submitted."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    Path("assay.toml").write_text(f'[prices."{name}:m"]\ninput = 1\noutput = 1\nbatch_discount = 0.5\n')

    def write(custom_id: str, body: Body, number: int) -> Body:
        return anthropic_reply([{"type": "text", "text": "A"}]) if name == "anthropic" else model(body)

    with batching(name, write) as server:
        run = [
            "run",
            "quiz.csv",
            "-m",
            f"{name}:m@{server.url}",
            "--method",
            "gen",
            "--batch",
            "--out",
            "run",
        ]
        run += ["--model-arg", "batch_poll_s=0.01", "--progress", "none", "--max-tokens", "20"]
        stopped = assay(*run, "--budget", "400tokens")
        assert stopped.status == STOPPED, stopped.err
        n_first = sum(len(batch["requests"]) for batch in server.batches)
        assert 0 < n_first < N
        done = assay(*run, "--budget", "100ktokens", "--json")
        assert sum(len(batch["requests"]) for batch in server.batches) == N
    [charge] = json.loads(done.out)["cost"]["charges"]
    n_tokens = charge["n_input_tokens"] + charge["n_output_tokens"]
    assert charge["usd"] == pytest.approx(n_tokens / 1e6 * 0.5)
    assert charge["is_batch"]
