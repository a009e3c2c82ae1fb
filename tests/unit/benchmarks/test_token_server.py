"""The server that serving benchmarks are measured against: its plan, its log, and what it sends."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.token_log import Sent, line_of, read_line, read_log
from benchmarks.token_schedule import Schedule, n_tokens_of, schedule_of

ROOT = Path(__file__).resolve().parents[3]
waits = st.floats(0, 5000).map(lambda ms: round(ms, 3))


def test_tokens_are_due_after_the_first_wait_and_equal_gaps() -> None:
    offsets = Schedule(ttft=120, itl=20).offsets(4, number=1)
    assert offsets == pytest.approx([0.120, 0.140, 0.160, 0.180])


@given(ttft=waits, itl=waits, jitter=st.floats(0, 1), n=st.integers(1, 60), number=st.integers(1, 10**6))
def test_jitter_keeps_every_gap_in_its_bounds_and_is_the_same_again(
    ttft: float, itl: float, jitter: float, n: int, number: int
) -> None:
    schedule = Schedule(ttft=ttft, itl=itl, jitter=jitter, seed=3)
    offsets = schedule.offsets(n, number)
    gaps = [b - a for a, b in zip([0.0, *offsets], offsets, strict=False)]
    for gap, wait in zip(gaps, [ttft] + [itl] * (n - 1), strict=True):
        assert wait * (1 - jitter) / 1000 - 1e-6 <= gap <= wait * (1 + jitter) / 1000 + 1e-6
    assert offsets == schedule.offsets(n, number)


def test_jitter_differs_between_requests_and_seeds() -> None:
    schedule = Schedule(jitter=0.5)
    drawn = {
        tuple(one.offsets(5, number)) for one in (schedule, schedule._replace(seed=1)) for number in (1, 2)
    }
    assert len(drawn) == 4


def test_the_prompt_wins_over_the_body_and_the_body_over_the_command_line() -> None:
    default = Schedule().changed("ttft=1 itl=2 n=3 seed=4")
    body = {"schedule": "itl=20 n=30", "messages": [{"role": "user", "content": "Answer n=300 role=0.5 now"}]}
    assert schedule_of(body, default) == Schedule(ttft=1, itl=20, n=300, seed=4, role=0.5)
    assert schedule_of({"prompt": "no words"}, default) == default
    assert schedule_of({"prompt": [1, 2, 3]}, default) == default


@pytest.mark.parametrize("words", ["ttft=-1", "itl=-0.5", "jitter=1.5", "n=0", "role=-3"])
def test_a_schedule_that_nobody_can_keep_is_rejected(words: str) -> None:
    with pytest.raises(ValueError, match=r"below zero|share|at least one"):
        Schedule().changed(words)


def test_a_reply_is_as_long_as_the_schedule_says_else_as_the_request_allows() -> None:
    assert n_tokens_of({"max_tokens": 50}, Schedule(n=7)) == 7
    assert n_tokens_of({"max_tokens": 50}, Schedule()) == 50
    assert n_tokens_of({"max_tokens": 9, "max_completion_tokens": 50}, Schedule()) == 50
    assert n_tokens_of({}, Schedule()) == 16


def test_the_role_never_comes_after_the_first_token() -> None:
    assert Schedule(role=None).role_offset(0.1) == 0.1
    assert Schedule(role=30).role_offset(0.1) == 0.03
    assert Schedule(role=300).role_offset(0.1) == 0.1


@given(
    arrived=st.floats(0, 1e7),
    planned=st.lists(st.floats(0, 1000), min_size=1, max_size=9).map(sorted),
    n_unsent=st.integers(0, 3),
)
def test_a_log_is_read_as_it_was_written(arrived: float, planned: list[float], n_unsent: int) -> None:
    moments = tuple(arrived + offset for offset in planned)
    one = Sent(7, "a b", arrived - 1, arrived, moments, moments[: len(moments) - n_unsent])
    read = read_line(line_of(one))
    assert read[:4] == one[:4]
    assert read.planned == pytest.approx(one.planned, abs=2e-6)
    assert read.sent == pytest.approx(one.sent, abs=2e-6)
    assert read.is_whole == (n_unsent == 0)


def test_lateness_is_the_worst_of_all_tokens_and_of_a_whole_reply_its_own() -> None:
    streamed = Sent(1, "", 0.0, 1.0, (2.0, 3.0, 4.0), (2.1, 3.4, 4.2))
    assert streamed.worst_lag == pytest.approx(0.4)
    assert streamed._replace(sent=()).worst_lag == 0.0
    whole = Sent(1, "", 0.0, 1.0, (2.0, 3.0, 4.0), (4.3, 4.3, 4.3), is_stream=False)
    assert whole.worst_lag == pytest.approx(0.3)


Address = tuple[HTTPConnection, Path, "subprocess.Popen[str]"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Address]:
    if sys.platform != "linux":
        pytest.skip("the server waits by epoll and reads the kernel's time stamps")
    log = tmp_path / "sent.jsonl"
    command = [sys.executable, "-m", "benchmarks.token_server", "--log", str(log), "--mark"]
    command += ["--schedule", "ttft=30 itl=10 role=0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        match = re.fullmatch(r"http://(.*):(\d+)/v1", server.stdout.readline().strip())
        assert match
        connection = HTTPConnection(match[1], int(match[2]), timeout=10)
        yield connection, log, server
        connection.close()
        server.terminate()


def ask(connection: HTTPConnection, path: str, **body: Any) -> HTTPResponse:
    connection.request("POST", f"/v1/{path}", json.dumps(body), {"X-Request-Id": "mine"})
    return connection.getresponse()


def ended(server: "subprocess.Popen[str]", log: Path) -> list[Sent]:
    server.terminate()
    server.wait(10)
    return read_log(log)


def test_a_stream_holds_role_tokens_usage_and_end_at_the_moments_of_the_log(served: Address) -> None:
    connection, log, server = served
    began = perf_counter()
    messages = [{"role": "user", "content": "hello"}]
    usage = {"include_usage": True}
    reply = ask(
        connection, "chat/completions", messages=messages, stream=True, stream_options=usage, max_tokens=3
    )
    events, noticed = [], []
    while line := reply.readline().strip() or reply.readline().strip():
        noticed.append(perf_counter())
        events.append(line.removeprefix(b"data: "))
    role, first, second, third, counted = (json.loads(data) for data in events[:-1])
    assert events[-1] == b"[DONE]"
    assert role["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [one["choices"][0]["delta"]["content"] for one in (first, second, third)] == [
        " one", " two", " end",
    ]  # fmt: skip
    assert third["choices"][0]["finish_reason"] == "length"
    assert (counted["choices"], counted["usage"]["completion_tokens"]) == ([], 3)
    (sent,) = ended(server, log)
    assert (sent.name, sent.number, counted["usage"]["prompt_tokens"]) == ("mine", 1, 1)
    assert sent.is_whole
    assert began <= sent.arrived <= noticed[0] <= sent.sent[0] + 1
    for due, moment, seen in zip(sent.planned, sent.sent, noticed[1:4], strict=True):
        assert due <= moment <= seen


def test_requests_on_one_connection_are_answered_in_turn_whole_or_as_a_stream(served: Address) -> None:
    connection, log, server = served
    whole = json.loads(ask(connection, "completions", prompt="Say ttft=5 itl=1 n=2").read())
    assert whole["choices"][0]["text"] == " one end"
    streamed = ask(connection, "completions", prompt="Say n=1", stream=True).read()
    assert streamed.count(b"data: ") == 2
    refused = ask(connection, "completions", prompt="Say n=0")
    assert (refused.status, json.loads(refused.read())["error"]["message"]) == (
        400,
        "a reply has at least one token",
    )
    connection.request("GET", "/stats")
    reported = json.loads(connection.getresponse().read())
    assert (reported["requests"], reported["streams"], reported["most_streams"], reported["left"]) == (
        2,
        0,
        1,
        0,
    )
    assert reported["unstamped"] == 0
    assert [(one.number, one.is_stream, len(one.sent)) for one in ended(server, log)] == [
        (1, False, 2), (2, True, 1),
    ]  # fmt: skip


def test_a_client_that_leaves_is_counted_and_its_reply_is_not_whole(served: Address) -> None:
    connection, log, server = served
    reply = ask(connection, "completions", prompt="Say itl=10 n=500", stream=True)
    reply.read(10)
    reply.close()
    connection.close()
    reported = {"streams": 1}
    while reported["streams"]:  # The server notices when the next token is due.
        connection.request("GET", "/stats")
        reported = json.loads(connection.getresponse().read())
    assert (reported["requests"], reported["left"]) == (1, 1)
    (sent,) = ended(server, log)
    assert 1 <= len(sent.sent) < len(sent.planned) == 500
    assert not sent.is_whole
