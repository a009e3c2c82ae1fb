"""`assay bench` against servers on the loopback: what is asked for is sent, counted and written down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.openai_server import OpenAIServer, error, failing, serving, small_model, streaming_model

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
    assert "Time to first token" in page
    assert "http://" not in page.replace(server.url, "").replace("http://www.w3.org/", "")


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


def test_a_timed_load_goes_on_with_new_prompts() -> None:
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
        result = assay(
            *("bench", f"openai:m@{server.url}", "--search", "concurrency", "--levels", "1..2", "--out", "s"),
            *("--limit", "failed < 1%", *quick),
        )
        assert result.status == 0, result.err
        assert "concurrency 2 keeps the limits" in result.out
        assert "Search" in Path("s/report.html").read_text(encoding="utf-8")


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
    said = [
        {"from": who, "value": text} for who, text in [("human", "one?"), ("gpt", "1"), ("human", "two?")]
    ]
    Path("talks.jsonl").write_text(json.dumps({"id": "t", "conversations": said}) + "\n", encoding="utf-8")
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
    assert "failures" in out
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
    ],
)
def test_what_does_not_go_together_is_told_before_a_call(options: tuple[str, ...], code: str) -> None:
    with serving(streaming_model) as server:
        result = assay("bench", f"openai:m@{server.url}", *options)
        assert (result.status, server.bodies) == (2, [])
    assert code in result.err


def test_only_servers_are_measured() -> None:
    result = assay("bench", "mock")
    assert result.status == 2
    assert "no server whose speed can be measured" in result.err
