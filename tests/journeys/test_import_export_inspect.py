"""Logs of inspect_ai by the command line, and exported ones in the real program and its viewer."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli import Result, assay
from fakes.inspect_logs import (
    build_log,
    build_metric,
    build_sample,
    build_score,
    require_inspect,
    write_eval_log,
)

WORKER = Path(__file__).parents[2] / "benchmarks" / "inspect_worker.py"
QUESTIONS = """question,A,B,C,answer,topic
What is 1+1?,1,2,3,B,sums
Which is a fruit?,stone,apple,car,B,words
What is 2+2?,4,5,6,A,sums
Which is red?,blood,grass,sky,A,words
"""


def run(*arguments: str) -> Result:
    result = assay(*arguments)
    assert result.status in (0, 3), result.err
    return result


@pytest.fixture
def exported(workdir: Path) -> Path:
    """A run by two methods, with a failed request, as logs in a folder."""
    (workdir / "quiz.csv").write_text(QUESTIONS, encoding="utf-8")
    run(
        "run", "quiz.csv", "-m", "mock", "--method", "ppl,gen", "--group-by", "topic", "--out", "ours",
        "--model-arg", "fail_every=13",
    )  # fmt: skip
    run("export", "ours", "--to", "inspect", "--out", "logs")
    return workdir / "logs"


def test_a_log_is_imported_reported_and_compared(workdir: Path) -> None:
    for name, values in (("one", "CCICCICC"), ("two", "CIIICICI")):
        samples = [build_sample(n, value) for n, value in enumerate(values)]
        metric = build_metric("accuracy", sum(value == "C" for value in values) / 8)
        log = build_log(samples, [build_score("match", [metric])])
        log["eval"]["model"] = f"openai/{name}"
        write_eval_log(workdir / f"{name}.eval", log)
        result = run("import", f"{name}.eval", "--out", name)
        assert "imported from inspect_ai" in result.out
        assert "in the log, and" not in result.out
    assert "75.0" in run("report", "one").out
    compared = json.loads(run("compare", "one", "two", "--json").out)
    (metric,) = (one for one in compared["comparison"]["metrics"] if one["is_headline"])
    assert metric["result"]["n_units"] == 8
    assert "openai/one" in run("leaderboard", "--runs-dir", ".").out


def test_an_exported_run_comes_back(exported: Path, workdir: Path) -> None:
    run("import", "logs", "--out", "back")
    ours, back = (json.loads(Path(name, "summary.json").read_bytes()) for name in ("ours", "back"))
    assert back == ours


def test_the_program_reads_what_assay_exports(exported: Path, workdir: Path) -> None:
    python = require_inspect()
    files = sorted(str(one) for one in exported.iterdir())
    done = subprocess.run([python, str(WORKER), "read", *files], stdout=subprocess.PIPE, check=True)
    logs: dict[str, Any] = json.loads(done.stdout)
    scores = [json.loads(line) for line in Path("ours/scores.jsonl").read_text(encoding="utf-8").splitlines()]
    metrics = json.loads(Path("ours/summary.json").read_bytes())
    for path, log in logs.items():
        method = "ppl" if "-ppl_" in path else "gen"
        wanted = next(
            one
            for one in metrics
            if (one["method"], one["group"]) == (method, None) and one.get("is_headline", True)
        )
        found = log["metrics"]["accuracy accuracy None"]
        assert found["accuracy"] == pytest.approx(wanted["value"])
        assert found["lower"] == pytest.approx(wanted["low"])
        assert log["n_samples"] == 4
        by_id = {one["id"]: one for one in log["samples"]}
        for score in (one for one in scores if one["track"] == method):
            sample = by_id[score["sample_id"]]
            if score["verdict"] == "failed":
                assert sample["error"]
                continue
            assert sample["scores"]["accuracy"]["value"] == ("C" if score.get("value") else "I")
            assert sample["scores"]["accuracy"]["answer"] == score["answer"]


@pytest.fixture
def viewer(exported: Path) -> Iterator[str]:
    """The address of `inspect view` over the exported logs."""
    python = require_inspect()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [
            python,
            "-m",
            "inspect_ai",
            "view",
            "--log-dir",
            str(exported),
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}/"
    deadline = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(address):
                break
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
    yield address
    process.terminate()
    process.wait()


def test_the_viewer_shows_samples_scores_and_messages(viewer: str, exported: Path) -> None:
    from playwright.sync_api import expect, sync_playwright

    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no program `chromium`: apt-get install chromium")
    (log,) = exported.glob("*-ppl_*.eval")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        page.goto(f"{viewer}#/logs/{log.name}")
        expect(page.locator("body")).to_contain_text("4 samples")
        expect(page.locator("body")).to_contain_text("accuracy_per_char")
        page.get_by_text("Which is a fruit?").first.click()
        expect(page.locator("body")).to_contain_text("B. apple")
        page.get_by_role("tab", name="Scoring").click()
        expect(page.locator("body")).to_contain_text("log-probability")
        browser.close()
