"""`assay bench` against servers on the loopback: what is asked for is sent, counted and written down."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.openai_server import OpenAIServer, error, failing, serving, small_model, streaming_model
from fakes.page_blocks import read_blocks

TRACE = [
    {"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]},
    {"timestamp": 20, "input_length": 550, "output_length": 2, "hash_ids": [1, 3]},
    {"timestamp": 40, "input_length": 30, "output_length": 1, "hash_ids": [4]},
]


@pytest.fixture(autouse=True)
def _no_key(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def summary() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("b/summary.json").read_text(encoding="utf-8"))
    return found


def page_data(folder: str = "b") -> Any:
    return read_blocks(Path(folder, "report.html").read_text(encoding="utf-8"))["bench"]


def calls(folder: str = "b") -> list[dict[str, Any]]:
    lines = Path(folder, "requests.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def measured(server: OpenAIServer, *options: str, status: int = 0) -> str:
    result = assay("bench", f"openai:m@{server.url}", *options, "--out", "b")
    assert result.status == status, result.err + result.out
    return result.out


def test_a_made_up_load_is_sent_measured_and_shown() -> None:
    with serving(streaming_model) as server:
        out = measured(server, "-n", "20", "-c", "4", "--input", "uniform:20..40", "--output", "3")
        assert len(server.bodies) == 21, "one more to warm up"
        assert server.most_under_way <= 4
        assert {body["max_tokens"] for body in server.bodies} == {3}
        prompts = [body["messages"][-1]["content"] for body in server.bodies]
        assert len(set(prompts)) == 21
        assert len({prompt[:12] for prompt in prompts}) == 21, "no two prompts begin alike"
    assert "TTFT, ms" in out
    assert "requests/s" in out
    found = summary()["summary"]
    assert (found["n_calls"], found["n_failed"], found["output_tokens"]) == (20, 0, 60)
    assert found["metrics"]["ttft"]["n"] == found["metrics"]["tpot"]["n"] == 20
    assert found["metrics"]["itl"]["n"] == 40
    assert sorted(call["number"] for call in calls()) == list(range(20))
    page = Path("b/report.html").read_text(encoding="utf-8")
    assert page_data()["loads"][0]["whole"]["latencies"][0]["title"] == "Time to first token"
    assert "http://" not in page.replace("http://www.w3.org/", "")


def test_the_same_seed_sends_the_same_load() -> None:
    sent = []
    for _ in range(2):
        with serving(streaming_model) as server:
            assay(
                "bench",
                f"openai:m@{server.url}",
                "-n",
                "5",
                "-c",
                "1",
                "--seed",
                "7",
                "--output",
                "zipf:alpha=2,min=1,max=3",
            )
            sent.append(server.bodies)
    assert sent[0] == sent[1]


def test_a_rate_is_an_open_load() -> None:
    with serving(streaming_model) as server:
        measured(server, "-n", "10", "--rate", "200", "--burstiness", "1", "--output", "2")
    due = sorted(call["due"] for call in calls())
    assert len(due) == 10
    assert summary()["summary"]["metrics"]["late"]["n"] == 10


def test_a_timed_load_continues_with_new_prompts() -> None:
    with serving(streaming_model) as server:
        measured(server, "-c", "2", "--duration", "0.5", "--output", "1", "--input", "12")
        n = len(server.bodies)
        assert n > 2
        assert len({body["messages"][-1]["content"] for body in server.bodies}) == n


def test_a_sweep_tries_its_levels_and_a_search_ends_at_one(workdir: Path) -> None:
    quick = ("--trial-requests", "6", "--trial-seconds", "0", "--output", "1", "--input", "12")
    with serving(streaming_model) as server:
        out = measured(server, "--sweep", "concurrency", "--levels", "1,2", *quick)
        assert "by concurrency" in out
        assert [trial["level"] for trial in summary()["swept"]["trials"]][:2] == [1, 2]
        assert len(calls("b/trials/01-1")) >= 5
        page = page_data()
        notes = str([load["steady_note"] for load in page["loads"]])
        assert "with 2 or more concurrent requests" in notes, "each level has a steady window of its own"
        assert "make a load steady" not in str(page)
        result = assay(
            *("bench", f"openai:m@{server.url}", "--search", "concurrency", "--levels", "1..2", "--out", "s"),
            *("--limit", "failed < 1%", *quick),
        )
        assert result.status == 0, result.err
        assert "concurrency 2 meets the limits" in result.out
        assert page_data("s")["search"]["chosen"] == 2


def test_a_dataset_and_a_trace_are_loads_too(workdir: Path) -> None:
    Path("data.csv").write_text(
        "question,answer\n" + "".join(f"{n}+1=,{n + 1}\n" for n in range(4)), encoding="utf-8"
    )
    Path("trace.jsonl").write_text("\n".join(map(json.dumps, TRACE)) + "\n", encoding="utf-8")
    with serving(streaming_model) as server:
        result = assay("bench", f"openai:m@{server.url}", "data.csv", "-c", "2", "--warm-up", "0")
        assert result.status == 0, result.err
        assert sum("3+1=" in json.dumps(body) for body in server.bodies) == 1
        server.bodies.clear()
        measured(server, "trace.jsonl", "--warm-up", "0")
        assert [body["max_tokens"] for body in server.bodies] == [3, 2, 1]
    due = [call["due"] for call in sorted(calls(), key=lambda call: call["number"])]
    assert [round(moment - due[0], 3) for moment in due] == [0.0, 0.02, 0.04]


def test_turns_of_a_conversation_follow_each_other(workdir: Path) -> None:
    expected = [
        {"from": who, "value": text} for who, text in [("human", "one?"), ("gpt", "1"), ("human", "two?")]
    ]
    Path("talks.jsonl").write_text(
        json.dumps({"id": "t", "conversations": expected}) + "\n", encoding="utf-8"
    )
    with serving(streaming_model) as server:
        measured(server, "talks.jsonl", "--warm-up", "0", "--output", "2")
        first, second = (body["messages"] for body in server.bodies)
    assert [message["content"] for message in first] == ["one?"]
    assert [message["role"] for message in second] == ["user", "assistant", "user"]
    assert second[1]["content"] != "1", "what the model said, not what the file has"
    assert [call.get("turn", 0) for call in calls()] == [0, 1]


def test_failed_calls_are_apart_and_make_the_status() -> None:
    n = 0

    def sometimes(body: dict[str, Any]) -> Any:
        nonlocal n
        n += 1
        return error(500, "<b>no</b>") if n % 3 == 0 else streaming_model(body)

    with serving(sometimes) as server:
        out = measured(server, "-n", "9", "-c", "1", "--warm-up", "0", status=3)
    found = summary()["summary"]
    assert (found["n_succeeded"], found["n_failed"]) == (6, 3)
    assert found["metrics"]["ttft"]["n"] == 6
    assert all(call["times"]["ended"] > call["times"]["began"] for call in calls() if "failure" in call)
    assert "failures" in out
    (failures,) = page_data()["loads"][0]["failures"]
    assert failures["n"] == 3
    assert "<b>no</b>" in failures["examples"][0]
    assert "<b>no</b>" not in Path("b/report.html").read_text(encoding="utf-8")


def test_a_server_that_answers_nobody_ends_it_before_the_load() -> None:
    with serving(failing(500)) as server:
        result = assay("bench", f"openai:m@{server.url}", "-n", "5")
    assert result.status == 2
    assert "LOAD-004" in result.err


def test_whole_answers_have_no_time_to_first_token() -> None:
    with serving(small_model) as server:
        out = measured(server, "-n", "3", "--model-arg", "stream=false")
        assert all("stream" not in body for body in server.bodies)
    assert "TTFT, ms" not in out
    assert "no TTFT" in out


def test_a_finished_benchmark_is_shown_again_by_other_formulas() -> None:
    with serving(streaming_model) as server:
        measured(server, "-n", "4", "--output", "3")
    Path("b/report.html").unlink()
    again = assay("bench", "b", "--profile", "aisbench")
    assert again.status == 0, again.err
    assert "Benchmark Duration" in again.out
    assert "Total Generated Tokens" in again.out
    assert "Performance Parameters  Stage" in again.out
    assert "Prefill Token Throughput  total" in again.out
    assert "…" not in again.out, "nothing is cut"
    assert Path("b/report.html").is_file()
    printed = assay("bench", "b", "--json")
    assert json.loads(printed.out) == summary()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--rate", "5", "--concurrency", "2"), "LOAD-010"),
        (("--search", "rate"), "LOAD-010"),
        (("--levels", "1..4"), "LOAD-010"),
        (("--burstiness", "1"), "LOAD-010"),
        (("--ramp", "fast"), "LOAD-010"),
        (("--replay",), "LOAD-010"),
        (("--input", "many"), "BENCH-0"),
        (("--limit", "p99 speed < 1s"), "LOAD-005"),
        (("--concurrency", "10000000"), "LOAD-011"),
        (("--concurrency", "0"), "LOAD-001"),
        (("--warm-up", "-1"), "LOAD-001"),
        (("--temperature", "-1"), "LOAD-001"),
        (("--search", "rate", "--limit", "ttft < 1s"), "LOAD-005"),
        # What nothing would be done with is not passed over.
        (("--ramp-seconds", "3"), "LOAD-010"),
        (("--ramp-form", "exponential"), "LOAD-010"),
        (("--think", "1"), "LOAD-010"),
        (("--grace", "1"), "LOAD-010"),
        (("--trial-requests", "5"), "LOAD-010"),
        (("--prefix-groups", "3"), "BENCH-025"),
        (("--sweep", "concurrency", "--concurrency", "5"), "LOAD-010"),
        (("--sweep", "concurrency", "--duration", "5"), "LOAD-010"),
        (("--sweep", "rate", "--rate", "5"), "LOAD-010"),
        (("--search", "rate", "--ramp", "1..5", "--limit", "failed < 1%"), "LOAD-010"),
        (("--sweep", "rate", "--requests", "5"), "LOAD-010"),
    ],
)
def test_what_does_not_go_together_is_reported_before_a_call(options: tuple[str, ...], code: str) -> None:
    with serving(streaming_model) as server:
        result = assay("bench", f"openai:m@{server.url}", *options)
        assert (result.status, server.bodies) == (2, [])
        assert not Path("runs").exists()
    assert code in result.err


def test_help_shows_its_examples_line_by_line() -> None:
    message = assay("bench", "--help").out
    assert "\\b" not in message
    assert "  assay bench openai:NAME@URL --concurrency 64 --requests 1000\n" in message


def test_a_rate_is_swept_with_the_gaps_and_the_bound_that_are_asked_for() -> None:
    quick = ("--trial-requests", "6", "--trial-seconds", "0", "--output", "1", "--input", "12")
    with serving(streaming_model) as server:
        measured(server, "--sweep", "rate", "--levels", "100", "--burstiness", "1", *quick)
        due = sorted(call["due"] for call in calls("b/trials/01-100"))
        assert len({round(later - before, 6) for before, later in pairwise(due)}) > 1, "drawn gaps"
        options = ("--sweep", "rate", "--levels", "1000", "--max-under-way", "1", *quick)
        assert assay("bench", f"openai:m@{server.url}", *options, "--out", "bounded").status == 0
    assert json.loads(Path("bounded/summary.json").read_bytes())["swept"]["trials"][0]["driven"]["n_held"] > 0


def test_it_is_said_whether_limits_were_kept() -> None:
    limits = ("--limit", "p99 ttft < 1us", "--limit", "failed < 1%")
    with serving(streaming_model) as server:
        out = measured(server, "-n", "4", "--output", "2", *limits)
        quick = ("--trial-requests", "4", "--trial-seconds", "0", "--output", "1", "--input", "12")
        swept = ("--sweep", "concurrency", "--levels", "1", "--out", "s", *quick, *limits)
        assert assay("bench", f"openai:m@{server.url}", *swept).status == 0
    assert "limit p99 ttft < 0.001ms: NOT met, measured " in out
    assert "limit failed < 1%: met, measured 0%" in out
    (trial,) = json.loads(Path("s/summary.json").read_bytes())["swept"]["trials"]
    (broken,) = trial["broken"]
    assert broken.startswith("p99 ttft < 0.001ms: measured ")


def test_a_search_whose_limits_cannot_be_kept_ends_when_calls_are_alone() -> None:
    quick = ("--trial-requests", "3", "--trial-seconds", "0", "--output", "1", "--input", "12")
    with serving(streaming_model) as server:
        out = measured(server, "--search", "rate", "--levels", "5", "--limit", "p50 ttft < 1us", *quick)
    assert len(summary()["swept"]["trials"]) == 1
    assert "even 5 does not meet the limits, although no two requests were concurrent" in out


def test_a_steady_window_that_is_too_short_to_trust_says_so_on_screen_and_page() -> None:
    both, began = threading.Barrier(2), time.monotonic()

    def together(body: dict[str, Any]) -> Any:
        both.wait(300)  # Unless both calls are under way at once, there is no window.
        # The window also contains the time before a call is sent. Replies that take as long as everything
        # before them make it shorter than two calls, however slow the machine is.
        time.sleep(time.monotonic() - began)
        return streaming_model(body)

    with serving(together) as server:
        out = measured(server, "-n", "2", "-c", "2", "--output", "3", "--warm-up", "0")
    assert "is shorter than three times its longest request" in out
    assert "is shorter than three times its longest request" in str(page_data()["head"]["notes"])


def test_nothing_measured_is_a_status_of_its_own() -> None:
    with serving(failing(500)) as server:
        measured(server, "-n", "3", "--warm-up", "0", status=2)


def test_calls_that_never_end_are_cut_off_after_the_grace() -> None:
    is_over = threading.Event()

    def never(body: dict[str, Any]) -> Any:
        is_over.wait(20)
        return streaming_model(body)

    with serving(never) as server:
        options = ("-c", "2", "--duration", "0.2", "--grace", "0.1", "--warm-up", "0")
        out = measured(server, *options, status=2)
        is_over.set()
    assert "2 requests were cancelled" in out
    assert "no steady window: no request finished" in out


def test_a_folder_that_cannot_be_written_is_reported() -> None:
    Path("notes.txt").write_text("mine", encoding="utf-8")
    with serving(streaming_model) as server:
        result = assay("bench", f"openai:m@{server.url}", "-n", "2", "--out", "notes.txt/bench")
        assert (result.status, server.bodies) == (2, [])
    assert "STORE-011 notes.txt/bench" in result.err
    assert "Not a directory" in result.err


def test_other_commands_know_a_benchmark() -> None:
    with serving(streaming_model) as server:
        assert assay("bench", f"openai:m@{server.url}", "-n", "2", "--out", "runs/mine").status == 0
    shown = assay("report", "runs/mine")
    assert (shown.status, shown.out) == (0, assay("bench", "runs/mine").out)
    assert "TTFT, ms" in shown.out
    assert "benchmark  runs/mine" in assay("ls").out
    ignored = assay("bench", "runs/mine", "--concurrency", "5")
    assert ignored.status == 2
    assert "--concurrency does not apply to a finished benchmark" in ignored.err


@pytest.mark.parametrize("is_warming_up", [False, True])
def test_ctrl_c_keeps_what_is_complete_and_never_promises_to_continue(is_warming_up: bool) -> None:
    is_over = threading.Event()

    def slow(body: dict[str, Any]) -> Any:
        if len(server.bodies) > (0 if is_warming_up else 3):
            is_over.wait()
        return streaming_model(body)

    with serving(slow) as server:
        options = ("-c", "1", "-n", "50", "--output", "2", "--input", "12", "--out", "b")
        command = (sys.executable, "-m", "assay", "bench", f"openai:m@{server.url}", *options)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            deadline = time.monotonic() + 300
            while len(server.bodies) < (1 if is_warming_up else 4):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
        finally:
            is_over.set()
            process.kill()
    assert process.returncode == 130, err
    assert "resumes from here" not in err
    if is_warming_up:
        assert "the same command starts over" in err
    else:
        assert "stopped early" in out
        assert len(calls()) == summary()["summary"]["n_calls"] == 2


def test_only_servers_are_measured() -> None:
    result = assay("bench", "mock")
    assert result.status == 2
    assert "only servers can be benchmarked" in result.err
