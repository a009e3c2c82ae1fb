"""The client of OpenAI-compatible servers over real sockets: requests, responses and faults."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from assay.backends.http.post import Endpoint, RetryPolicy, find_error_message, parse_retry_after
from assay.backends.openai.backend import OpenAIBackend
from assay.core.errors import BackendError
from assay.core.media import Image, Text
from assay.core.prompt import Message, Prompt
from assay.core.request import Ask, Generate, Labels, Request, Sampling, Span, make_request
from assay.core.response import Completion, Failure, Finish, Outcome, Output
from fakes.fault_server import FaultServer, faulty, forever, stall
from fakes.infer_server import in_turn
from fakes.openai_server import (
    Body,
    Chunks,
    Model,
    choice,
    closed_early,
    error,
    event,
    failing,
    not_json,
    poisoned,
    reply,
    saying,
    serving,
    small_model,
    streamed,
    streaming_model,
    words,
)

GREEDY = Sampling(max_tokens=8)
ASKS: list[Ask] = [Generate(f"text number {n}, and on", GREEDY) for n in range(20)]
QUESTION = (Message("system", "Be brief."), Message("user", "What is 2+2?"))


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of the person who tests goes nowhere."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def requests(asks: Sequence[Ask]) -> list[Request]:
    return [make_request("t", str(n), "gen", "answer", 0, ask) for n, ask in enumerate(asks)]


def client(url: str, model: str = "m", **args: Any) -> OpenAIBackend:
    quick = {"retry_wait_s": "0", "retries": "2", **{name: str(value) for name, value in args.items()}}
    quick = {name.replace("extra_", "extra."): value for name, value in quick.items()}
    return OpenAIBackend(f"{model}@{url}", quick)


def outcomes(backend: OpenAIBackend, asks: Sequence[Ask]) -> list[Outcome]:
    found = {response.request_id: response.outcome for response in backend.run(requests(asks))}
    return [found[one.id] for one in requests(asks)]


def failures(found: Sequence[Outcome]) -> dict[int, Failure]:
    return {n: outcome for n, outcome in enumerate(found) if isinstance(outcome, Failure)}


def answer(model: Model, prompt: Prompt = "p", sampling: Sampling = GREEDY, **args: Any) -> Outcome:
    """What comes of one ask."""
    with serving(model) as server:
        (outcome,) = outcomes(client(server.url, **args), [Generate(prompt, sampling)])
    return outcome


def output(model: Model, prompt: Prompt = "p", sampling: Sampling = GREEDY, **args: Any) -> Output:
    outcome = answer(model, prompt, sampling, **args)
    assert isinstance(outcome, Completion), outcome
    (one,) = outcome.outputs
    return one


def sent(prompt: Prompt, sampling: Sampling = GREEDY, **args: Any) -> tuple[str, Body]:
    """Where an ask goes, and its body; without a stream unless asked for."""
    with serving(streaming_model) as server:
        outcomes(client(server.url, **{"stream": "false", **args}), [Generate(prompt, sampling)])
        return server.paths[0].removeprefix("/v1"), server.bodies[0]


# --- what is sent ---


def test_answers_come_as_streams_unless_a_person_says_no() -> None:
    with serving(streaming_model) as server:
        (answered,) = client(server.url).run(requests([Generate("p", GREEDY)]))
        assert server.bodies[0]["stream"] is True
        assert 0 < answered.first_s <= answered.latency_s
        (whole,) = client(server.url, stream="false").run(requests([Generate("p", GREEDY)]))
        assert "stream" not in server.bodies[1]
        assert whole.first_s == 0 < whole.latency_s


def test_a_server_that_rejects_streams_is_asked_for_whole_answers_from_then_on() -> None:
    def whole_alone(body: Body) -> Any:
        return error(400, "stream_options: not supported") if body.get("stream") else small_model(body)

    with serving(whole_alone) as server:
        backend = client(server.url, concurrency=1)
        assert not failures(outcomes(backend, ASKS))
        assert len(server.bodies) == len(ASKS) + 1
        assert [note for note in backend.notes() if "does not support streaming" in note]
        # Who asks for a stream by name wants to know.
        strict = client(server.url, concurrency=1, stream="true")
        assert len(failures(outcomes(strict, ASKS[:2]))) == 2


def test_conversations_go_to_chat_and_texts_to_completions() -> None:
    message = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is 2+2?"},
    ]
    plain = {"model": "m", "max_tokens": 8, "temperature": 0.0}
    assert sent(QUESTION) == ("/chat/completions", {**plain, "messages": message})
    assert sent("a text") == ("/completions", {**plain, "prompt": "a text"})
    assert sent("a text", api="completions") == sent("a text")
    assert sent(QUESTION, api="chat") == sent(QUESTION)
    as_chat = {**plain, "messages": [{"role": "user", "content": "a text"}]}
    assert sent("a text", api="chat") == ("/chat/completions", as_chat)


def test_all_settings_of_sampling_are_sent() -> None:
    _, body = sent("p", Sampling(5, temperature=0.5, top_p=1.0, stop=("\n", "Q:"), seed=3))
    assert body == {
        "model": "m",
        "prompt": "p",
        "max_tokens": 5,
        "temperature": 0.5,
        "top_p": 1.0,
        "stop": ["\n", "Q:"],
        "seed": 3,
    }
    assert "seed" not in sent("p", Sampling(5, seed=3))[1], "a greedy answer depends on no seed"


def test_arguments_become_fields() -> None:
    args: dict[str, Any] = {
        "extra_ignore_eos": "true",
        "extra_chat_template_kwargs": '{"enable_thinking": false}',
        "top_k": 5,
        "stream": "true",
        "max_tokens_name": "max_completion_tokens",
        "omit": "temperature, seed",
    }
    _, body = sent("p", Sampling(5, temperature=0.5, seed=3), **args)
    assert body == {
        "model": "m",
        "prompt": "p",
        "max_completion_tokens": 5,
        "top_p": 1.0,
        "top_k": 5,
        "ignore_eos": True,
        "chat_template_kwargs": {"enable_thinking": False},
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_begun_reply_is_continued_and_not_repeated() -> None:
    begun = (*QUESTION, Message("assistant", "The answer is"))
    _, body = sent(begun)
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert body["messages"][-1] == {"role": "assistant", "content": "The answer is"}
    assert output(saying("The answer is 4."), begun).text == " 4.", "llama.cpp repeats what was begun"
    assert output(saying(" 4."), begun).text == " 4.", "vLLM does not"
    assert output(saying("The answer is 4."), QUESTION).text == "The answer is 4."


def test_media_are_parts_of_messages(tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(b"picture")
    image = Image("image/png", path=str(tmp_path / "cat.png"))
    prompt = (Message("user", (Text("What is this?"), image)),)
    _, body = sent(prompt)
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,cGljdHVyZQ=="}},
    ]
    (tmp_path / "cat.png").unlink()
    outcome = answer(small_model, prompt)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, "cat.png" in outcome.message) == ("media", True)


# --- what is read ---


@pytest.mark.parametrize("prompt", ["p", QUESTION], ids=["completions", "chat"])
@pytest.mark.parametrize("stream", ["true", "false"])
def test_a_text_with_its_counts(prompt: Prompt, stream: str) -> None:
    outcome = answer(streaming_model, prompt, stream=stream)
    assert isinstance(outcome, Completion)
    assert outcome.n_prompt_tokens > 0
    (one,) = outcome.outputs
    assert len(one.text.split()) == 3
    assert one == Output(one.text, Finish.END, 3)
    assert outcome == answer(small_model, prompt), "streamed or not, it is the same answer"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (saying("four"), Output("four", Finish.END, 3)),
        (saying("fo", "length"), Output("fo", Finish.LENGTH, 3)),
        (saying("4 Q: more"), Output("4 ", Finish.STOP, 3)),
        (saying(""), Output("", Finish.END, 3)),
        (saying(None), Output("", Finish.END, 3)),
        (
            saying(None, "length", reasoning_content="hm"),
            Output("", Finish.LENGTH, 3, "hm", n_thinking_tokens=3),
        ),
        (saying("4", reasoning_content="2+2"), Output("4", Finish.END, 3, "2+2", n_thinking_tokens=2)),
        (saying("4", reasoning="2+2"), Output("4", Finish.END, 3, "2+2", n_thinking_tokens=2)),
        (
            saying("4", reasoning="2+2", reasoning_content="2+2"),
            Output("4", Finish.END, 3, "2+2", n_thinking_tokens=2),
        ),
        (saying("4", reasoning_content=""), Output("4", Finish.END, 3)),
        (saying(None, refusal="I will not."), Output("I will not.", Finish.END, 3)),
        (saying("4", "tool_calls"), Output("4", Finish.END, 3)),
        (lambda body: {"choices": [choice(body, "4")]}, Output("4", Finish.END, 0)),
        (lambda body: {"choices": [choice(body, "4")], "usage": None}, Output("4", Finish.END, 0)),
        (lambda body: reply({**choice(body, "4"), "stop_reason": "Q:"}), Output("4", Finish.STOP, 3)),
        (lambda body: reply({**choice(body, "4"), "matched_stop": "Q:"}), Output("4", Finish.STOP, 3)),
        (lambda body: reply({**choice(body, "4"), "stop_reason": 128009}), Output("4", Finish.END, 3)),
    ],
)
def test_why_a_text_ended(model: Model, expected: Output) -> None:
    assert output(model, QUESTION, Sampling(8, stop=("Q:",))) == expected


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (saying(None, None), "no_text"),
        (saying(None, "tool_calls", tool_calls=[{"id": "1"}]), "tool_calls"),
        (saying("", "tool_calls"), "tool_calls"),
        (saying("so", "content_filter"), "content_filter"),
        (saying(None, "abort"), "broken_off"),
        (lambda body: reply(), "wrong_reply"),
        (lambda body: {"choices": "none"}, "wrong_reply"),
        (lambda body: ["a list"], "wrong_reply"),
        (lambda body: reply({"index": 0, "message": {"content": 4}, "finish_reason": "stop"}), "wrong_reply"),
        (lambda body: {"error": {"message": "overloaded", "code": 503}}, "server"),
        (not_json, "not_json"),
        (closed_early, "connection"),
        (failing(500), "http"),
        (failing(400), "refused"),
    ],
)
def test_what_is_no_answer(model: Model, kind: str) -> None:
    outcome = answer(model, QUESTION)
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind


@pytest.mark.parametrize(
    ("n_tokens", "finish"), [(3, Finish.END), (8, Finish.LENGTH)], ids=["short", "as long as allowed"]
)
def test_a_server_that_does_not_say_why_is_noted(n_tokens: int, finish: Finish) -> None:
    def silent(body: Body) -> Body:
        return reply(choice(body, "four", finish=None), completion_tokens=n_tokens)

    with serving(silent) as server:
        backend = client(server.url)
        (outcome,) = outcomes(backend, [Generate("p", GREEDY)])
    assert isinstance(outcome, Completion)
    assert outcome.outputs[0].finish is finish
    (note,) = backend.notes()
    assert "did not report why 1 texts ended" in note


# --- several texts ---


@pytest.mark.parametrize("n_per_call", [1, 2, 3, 9])
@pytest.mark.parametrize("stream", ["true", "false"])
def test_every_text_of_a_prompt_is_a_draw_of_its_own(n_per_call: int, stream: str) -> None:
    ask = Generate("p", Sampling(3, temperature=0.7, seed=11, n=5))
    with serving(streaming_model) as server:
        backend = client(server.url, n_per_call=n_per_call, stream=stream)
        (outcome,) = outcomes(backend, [ask])
        assert [body.get("n", 1) for body in server.bodies].count(1) == {1: 5, 2: 1, 3: 0, 9: 0}[n_per_call]
        assert sum(body.get("n", 1) for body in server.bodies) == 5
        assert len({body["seed"] for body in server.bodies}) == len(server.bodies)
        assert 11 in [body["seed"] for body in server.bodies]
        (again,) = outcomes(client(server.url, n_per_call=n_per_call), [ask])
    assert isinstance(outcome, Completion)
    assert len({one.text for one in outcome.outputs}) == 5
    assert again == outcome, "the order does not depend on who came first"


def test_repeats_of_a_sample_have_seeds_of_their_own() -> None:
    ask = Generate("p", Sampling(3, temperature=0.7, seed=11))
    with serving() as server:
        list(client(server.url).run([make_request("t", "1", "gen", "answer", n, ask) for n in range(4)]))
        assert len({body["seed"] for body in server.bodies}) == 4


def test_a_server_that_writes_one_text_at_a_time_is_asked_again() -> None:
    def only_one(body: Body) -> Body:
        return small_model({**body, "n": 1})

    with serving(only_one) as server:
        (outcome,) = outcomes(
            client(server.url, n_per_call=4), [Generate("p", Sampling(3, 0.7, seed=1, n=4))]
        )
        assert [body.get("n") for body in server.bodies] == [4, 3, 2, None]
    assert isinstance(outcome, Completion)
    assert len({one.text for one in outcome.outputs}) == 4


def test_greedy_repeats_are_written_once() -> None:
    with serving() as server:
        (outcome,) = outcomes(client(server.url), [Generate("p", Sampling(3, n=3))])
        assert len(server.bodies) == 1
    assert isinstance(outcome, Completion)
    assert len(outcome.outputs) == 3
    assert len(set(outcome.outputs)) == 1


# --- streams ---


def chat_events(*deltas: Body, finish: str | None = "stop", done: bool = True) -> list[bytes]:
    pieces = [event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) for delta in deltas]
    if finish:
        pieces.append(event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}))
    return [*pieces, b"data: [DONE]\n\n"] if done else pieces


def cut(pieces: Sequence[bytes], every: int) -> list[bytes]:
    whole = b"".join(pieces)
    return [whole[at : at + every] for at in range(0, len(whole), every)]


@pytest.mark.parametrize("every", [1, 2, 3, 7, 64, 10_000])
def test_a_stream_may_be_cut_anywhere(every: int) -> None:
    events = chat_events(
        {"role": "assistant", "content": None},
        {"reasoning_content": "zwei "},
        {"reasoning_content": "plus"},
        {"content": "vi"},
        {"content": "är \U0001f600"},
    )
    pieces = cut([b": ping\r\n\r\n", *events], every)
    assert output(lambda body: Chunks(pieces), QUESTION, stream="true") == Output(
        "viär \U0001f600", Finish.END, 0, "zwei plus"
    )


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        (chat_events({"content": "ha"}, finish=None, done=False), "cut_short"),
        ([], "cut_short"),
        ([b"data: {broken\n\n"], "not_json"),
        ([*chat_events({"content": "ha"}, finish=None, done=False), event({"error": "gone"})], "server"),
        (chat_events({"content": 7}), "wrong_reply"),
        ([b"data: [DONE]\n\n"], "wrong_reply"),
    ],
)
def test_a_stream_that_is_not_whole_is_no_answer(pieces: list[bytes], kind: str) -> None:
    outcome = answer(lambda body: Chunks(pieces), QUESTION, stream="true")
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind


def raw(content: bytes, content_type: str = "application/json", **headers: str) -> Model:
    """Reply with these bytes."""
    named = {"Content-Type": content_type} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return lambda body: web.Response(body=content, headers=named)


EVENTS = event({"choices": [{"index": 0, "delta": {"content": "B"}}]})
EVENTS += event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + b"data: [DONE]\n\n"


def test_bytes_that_are_no_utf8_are_one_failure_and_not_the_end() -> None:
    model = raw(b'{"choices": [{"message": {"content": "\xff\xfe"}, "finish_reason": "stop"}]}')
    with serving(poisoned("number 3", model)) as server:
        found = outcomes(client(server.url), ASKS[:5])
    assert {n: failure.kind for n, failure in failures(found).items()} == {3: "not_json"}


@pytest.mark.parametrize("stream", ["true", "false"])
def test_a_mark_of_the_byte_order_is_no_part_of_a_reply(stream: str) -> None:
    whole = b'{"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}'
    is_stream = stream == "true"
    content_type = "text/event-stream" if is_stream else "application/json"
    model = raw(b"\xef\xbb\xbf" + (EVENTS if is_stream else whole), content_type)
    assert output(model, QUESTION, stream=stream).text == "B"


def test_the_type_of_a_stream_may_be_written_in_any_case() -> None:
    assert output(raw(EVENTS, "Text/Event-Stream; charset=UTF-8"), QUESTION).text == "B"


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
def test_a_reply_that_came_packed_is_reported_as_such(content_type: str) -> None:
    """Nothing is asked for packed; read as it is, such a stream would seem cut short, and come again."""
    with serving(raw(gzip.compress(EVENTS), content_type, Content_Encoding="gzip")) as server:
        (found,) = outcomes(client(server.url), [Generate(QUESTION, GREEDY)])
        assert len(server.bodies) == 1
    assert isinstance(found, Failure)
    assert "compressed (gzip)" in found.message


@pytest.mark.parametrize("reported", [-5, 10**30, 7.5e300, "7", [7], None, True])
def test_a_count_that_cannot_be_one_costs_no_answer(reported: Any) -> None:
    def model(body: Body) -> Body:
        return {**saying("B")(body), "usage": {"prompt_tokens": reported, "completion_tokens": reported}}

    outcome = answer(model)
    assert isinstance(outcome, Completion)
    assert outcome.outputs[0].text == "B"
    assert (outcome.n_prompt_tokens, outcome.outputs[0].n_tokens) in [(0, 0), (1, 1)]


def test_counts_that_are_whole_are_taken() -> None:
    outcome = answer(
        lambda body: {**saying("B")(body), "usage": {"prompt_tokens": 7.0, "completion_tokens": 3}}
    )
    assert isinstance(outcome, Completion)
    assert (outcome.n_prompt_tokens, outcome.outputs[0].n_tokens) == (7, 3)


@pytest.mark.parametrize(("code", "n_calls"), [(400, 1), (500, 3)])
def test_an_error_without_its_frame_is_no_end_of_a_text(code: int, n_calls: int) -> None:
    bare = event({"object": "error", "message": "out of blocks", "code": code})
    pieces = EVENTS.split(b"\n\n")[0] + b"\n\nevent: error\n" + bare + b"data: [DONE]\n\n"
    with serving(raw(pieces, "text/event-stream")) as server:
        (found,) = outcomes(client(server.url), [Generate(QUESTION, GREEDY)])
        assert len(server.bodies) == n_calls
    assert isinstance(found, Failure)
    assert "out of blocks" in found.message


def test_too_many_calls_reported_in_a_reply_may_pass_and_other_refusals_do_not() -> None:
    for code, n_calls in ((429, 3), (400, 1)):
        message = {"error": {"message": "no", "code": code}}
        with serving(raw(json.dumps(message).encode())) as server:
            outcomes(client(server.url), ASKS[:1])
            assert len(server.bodies) == n_calls


def test_texts_of_one_call_are_taken_in_their_order_and_not_counted() -> None:
    def model(body: Body) -> Body:
        return reply(*(choice(body, f"text {n}", index=n) for n in (2, 0, 1)), completion_tokens=9)

    outcome = answer(model, sampling=Sampling(max_tokens=8, temperature=1, seed=1, n=3), n_per_call=3)
    assert isinstance(outcome, Completion)
    assert [one.text for one in outcome.outputs] == ["text 0", "text 1", "text 2"]
    assert {one.n_tokens for one in outcome.outputs} == {0}


def test_more_texts_than_were_asked_for_are_left_away() -> None:
    outcome = answer(lambda body: reply(choice(body, "one"), choice(body, "two", index=1)))
    assert isinstance(outcome, Completion)
    assert [one.text for one in outcome.outputs] == ["one"]


def test_the_first_stop_string_in_a_text_cuts_it() -> None:
    assert output(saying("a; b. c"), sampling=Sampling(max_tokens=8, stop=(".", ";"))).text == "a"


def test_events_after_the_end_of_a_text_take_nothing_back() -> None:
    pieces = [
        event(
            {"choices": [{"index": 0, "text": "B", "finish_reason": "length"}], "usage": {"prompt_tokens": 7}}
        ),
        event({"choices": [{"index": 0, "text": ""}]}),
        b"data: [DONE]\n\n",
    ]
    outcome = answer(lambda body: Chunks(pieces))
    assert isinstance(outcome, Completion)
    assert (outcome.outputs[0].finish, outcome.n_prompt_tokens) == (Finish.LENGTH, 7)


def test_a_stream_that_broke_is_asked_for_again() -> None:
    broken = Chunks(chat_events({"content": "ha"}, finish=None, done=False), is_closed_early=True)
    whole = Chunks(chat_events({"content": "half and more"}))
    model = in_turn(lambda body: broken, lambda body: whole)
    assert output(model, QUESTION, stream="true").text == "half and more"


def test_the_end_of_a_stream_need_not_be_said_twice() -> None:
    pieces = chat_events({"content": "4"}, done=False)
    assert output(lambda body: Chunks(pieces), QUESTION, stream="true").text == "4"


def test_a_server_that_does_not_stream_is_understood() -> None:
    assert output(small_model, QUESTION, stream="true") == output(small_model, QUESTION)


# --- faults ---


@pytest.mark.parametrize(
    "trouble",
    [
        failing(429),
        failing(429, **{"Retry-After": "0"}),
        failing(408),
        failing(500),
        failing(503),
        not_json,
        closed_early,
        saying("so", "abort"),
        lambda body: {"error": {"message": "overloaded"}},
    ],
    ids=["429", "429-retry-after", "408", "500", "503", "not_json", "closed_early", "abort", "error"],
)
def test_trouble_that_passes_is_waited_for(trouble: Model) -> None:
    with serving(in_turn(trouble, trouble, small_model)) as server:
        backend = client(server.url, concurrency=1)
        assert failures(outcomes(backend, ASKS)) == {}
        assert backend.stats() == {
            "calls": 20.0,
            "retries": 2.0,
            "refusals": 2.0,
            "concurrency": 1.0,
            "highest_concurrency": 1.0,
        }
        (note,) = backend.notes()
        assert "2 calls were retried after" in note


def test_a_server_that_takes_few_calls_is_asked_less() -> None:
    places = threading.Semaphore(4)

    def crowded(body: Body) -> Any:
        if not places.acquire(blocking=False):
            return error(429, "too many")
        try:
            time.sleep(0.01)
            return small_model(body)
        finally:
            places.release()

    with serving(crowded) as server:
        backend = client(server.url, retries=30, retry_wait_s=0.05)
        asks: list[Ask] = [Generate(f"text {n}", GREEDY) for n in range(150)]
        assert failures(outcomes(backend, asks)) == {}
    found = backend.stats()
    assert found["highest_concurrency"] == 16
    assert found["concurrency"] < 16
    assert found["refusals"] == found["retries"] > 0
    assert (
        "was overloaded: Assay reduced the number of concurrent requests from at most 16 to"
        in backend.notes()[1]
    )


def test_notes_tell_reasons() -> None:
    with serving(in_turn(failing(429), failing(500), failing(429), small_model)) as server:
        backend = client(server.url, concurrency=1, retries=3)
        outcomes(backend, ASKS[:1])
        assert backend.notes()[0].endswith("after HTTP status 429 (2), HTTP status 500 (1)")


@pytest.mark.parametrize(
    ("trouble", "attempts", "message"),
    [
        (failing(500), 3, "HTTP status 500: out of order"),
        (failing(400, "maximum context length is 12"), 1, "HTTP status 400: maximum context length is 12"),
        (failing(422, "no"), 1, "HTTP status 422: no"),
        (failing(403, "no"), 1, "HTTP status 403: no"),
        (not_json, 3, "not JSON"),
        (closed_early, 3, "the connection broke"),
        (lambda body: {"error": {"message": "bad words", "code": 400}}, 1, "the server says: bad words"),
    ],
    ids=["500", "400", "422", "403", "not_json", "closed_early", "error"],
)
@pytest.mark.parametrize("poison", [0, 19])
def test_one_input_that_always_fails_costs_no_other(
    trouble: Model, attempts: int, message: str, poison: int
) -> None:
    with serving(poisoned(f"number {poison},", trouble)) as server:
        failed = failures(outcomes(client(server.url, concurrency=4), ASKS))
        assert len(server.bodies) == 19 + attempts
    assert list(failed) == [poison]
    assert message in failed[poison].message
    assert failed[poison].attempts == attempts


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits of the client, which take no time; its clock goes on by them."""
    noted: list[float] = []
    sleep, monotonic = asyncio.sleep, time.monotonic

    async def at_once(delay: float, *rest: Any) -> None:
        if delay > 0.01:  # Shorter ones are the server's and the session's.
            noted.append(delay)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", at_once)
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + sum(noted))
    return noted


def test_waits_grow(waits: list[float]) -> None:
    with serving(failing(500)) as server:
        (failure,) = failures(
            outcomes(client(server.url, retries=8, retry_wait_s=1, timeout_s=9999), ASKS[:1])
        ).values()
    longest = [1, 2, 4, 8, 16, 32, 60, 60]
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, longest, strict=True))
    assert failure.attempts == 9


def test_waits_of_many_calls_spread_and_are_always_the_same(waits: list[float]) -> None:
    def waited() -> list[float]:
        waits.clear()
        with serving(failing(429)) as server:
            backend = client(server.url, retries=1, retry_wait_s=1, concurrency=1, timeout_s=9999)
            assert len(failures(outcomes(backend, ASKS))) == len(ASKS)
        return list(waits)

    first = waited()
    assert len(set(first)) == len(ASKS)
    assert max(first) - min(first) > 0.3
    assert waited() == first


def test_a_server_is_not_asked_before_it_wants_to_be(waits: list[float]) -> None:
    with serving(in_turn(failing(429, **{"Retry-After": "30"}), small_model)) as server:
        assert not failures(outcomes(client(server.url, retry_wait_s=1, concurrency=1), ASKS[:2]))
    assert 29.5 < sum(waits) < 33.5


def test_a_short_wait_that_a_server_asks_for_does_not_end_a_long_one(waits: list[float]) -> None:
    with serving(failing(429)) as server:
        endpoint = Endpoint(server.url, RetryPolicy(5, 0, 0))
        endpoint._pause(30)
        endpoint._pause(0)
        assert endpoint._resting_until > time.monotonic() + 29


@pytest.mark.parametrize(("status", "level"), [(503, 11), (429, 11), (500, 16), (400, 16)])
def test_which_troubles_are_for_the_number_of_calls(status: int, level: int) -> None:
    """One 500 may be an input's own; a 503 is nobody's."""
    with serving(poisoned("number 3", failing(status), small_model)) as server:
        backend = client(server.url, retries=0)
        outcomes(backend, ASKS[:8])
    stats = backend.stats()
    assert (stats["concurrency"], stats["refusals"]) == (level, float(status != 400))


def test_an_error_that_comes_as_a_stream_is_read_as_an_error() -> None:
    model = raw(b'data: {"error": {"message": "busy"}}\n\n', "text/event-stream")

    def refusing(body: Body) -> web.Response:
        response: web.Response = model(body)
        response.set_status(422)
        return response

    found = answer(refusing)
    assert isinstance(found, Failure)
    assert (found.kind, "HTTP status 422" in found.message) == ("refused", True)


def test_a_server_that_wants_to_be_left_alone_for_hours_is_not_waited_for(waits: list[float]) -> None:
    with serving(failing(429, "quota", **{"Retry-After": "7200"})) as server:
        (failure,) = failures(outcomes(client(server.url), ASKS[:1])).values()
    assert waits == []
    assert (failure.attempts, failure.message) == (1, "HTTP status 429: quota")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 60.0),
        ("Wed, 21 Oct 2026 07:00:00 GMT", 0.0),
        ("soon", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, datetime(2026, 10, 21, 7, 27, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"error": {"message": "too long"}}', "too long"),
        (b'{"error": "too long"}', "too long"),
        (b'{"message": "too long"}', "too long"),
        (b'{"detail": "too long"}', "too long"),
        (b'{"detail": [{"loc": 1}]}', """'{"detail": [{"loc": 1}]}'"""),
        (b"<html>", "'<html>'"),
        (b'"text"', "'\"text\"'"),
        (b"", "''"),
    ],
)
def test_what_a_server_says_is_found(content: bytes, message: str) -> None:
    assert find_error_message(content) == message


def test_a_server_that_is_too_slow_for_one_input() -> None:
    waiting = threading.Event()

    def slow(body: Body) -> Any:
        waiting.wait(20)
        return small_model(body)

    with serving(poisoned("number 3,", slow)) as server:
        try:
            failed = failures(outcomes(client(server.url, retries=0, timeout_s=1), ASKS[:8]))
        finally:
            waiting.set()
    assert {n: failure.kind for n, failure in failed.items()} == {3: "timeout"}


def test_a_stream_that_is_still_is_asked_for_again() -> None:
    with faulty({"number 3,": [stall]}) as server:
        backend = client(server.url, stream="true", idle_s=0.5, concurrency=4, retries=5)
        assert failures(outcomes(backend, ASKS[:8])) == {}
        assert server.asked_with("number 3,") > 1
    assert "stalled (" in backend.notes()[0]


def test_a_stream_that_always_is_still_is_one_failure() -> None:
    with faulty({"number 3,": forever(stall)}) as server:
        backend = client(server.url, stream="true", idle_s=0.2, retries=1, concurrency=1)
        (failure,) = failures(outcomes(backend, ASKS[3:4])).values()
    assert (failure.kind, failure.message) == ("stalled", "the reply stalled: no data for 0.2 s")
    assert failure.attempts == 2


def test_the_first_piece_of_a_stream_may_take_longer_than_the_next() -> None:
    async def thinking(server: FaultServer, asked: web.Request, body: Body) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(asked)
        await asyncio.sleep(0.5)
        await response.write(b"".join(streamed(body)))
        return response

    with faulty({"number 3,": forever(thinking)}) as server:
        backend = client(server.url, stream="true", idle_s=0.2, retries=0)
        assert failures(outcomes(backend, ASKS[3:4])) == {}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.mark.parametrize("model", ["m", ""])
def test_no_server_at_the_start_is_an_error_at_once(model: str) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    began = time.monotonic()
    with pytest.raises(BackendError, match=rf"MODEL-007.*{url}.*Fix: start the server"):
        outcomes(client(url, model, retries=50, retry_wait_s=60), ASKS)
    assert time.monotonic() - began < 10, "it was not waited for"


def test_a_server_that_is_gone_ends_the_run_once_and_keeps_what_was_answered() -> None:
    with serving() as server:
        stream = client(server.url, concurrency=4).run(requests(ASKS))
        answered = [next(stream)]
    with pytest.raises(BackendError, match=r"MODEL-007.*no longer responds.*3 times in a row"):
        answered.extend(stream)
    assert all(isinstance(response.outcome, Completion) for response in answered)


@pytest.mark.parametrize("trouble", [failing(503), not_json], ids=["503", "not_json"])
def test_a_server_that_answers_nobody_any_more_is_gone(trouble: Model) -> None:
    asks: list[Ask] = [Generate(f"text {n}", GREEDY) for n in range(200)]
    with serving(poisoned("text", trouble)) as server:
        backend = client(server.url, retries=0, concurrency=4)
        with pytest.raises(BackendError, match=r"MODEL-007.*has stopped responding: 32 calls in a row"):
            outcomes(backend, asks)
        assert len(server.bodies) < 32 + 4


def test_a_server_that_answers_some_is_not_gone() -> None:
    asks: list[Ask] = [Generate(f"text {n} {'bad' * (n % 2)}", GREEDY) for n in range(100)]
    with serving(poisoned("bad", failing(500))) as server:
        failed = failures(outcomes(client(server.url, retries=0, concurrency=1), asks))
    assert list(failed) == list(range(1, 100, 2))


def test_rejected_inputs_are_no_sign_of_a_server_gone() -> None:
    asks: list[Ask] = [Generate(f"text {n}", GREEDY) for n in range(80)]
    with serving(failing(400, "no")) as server:
        assert len(failures(outcomes(client(server.url), asks))) == 80


@pytest.mark.parametrize("status", [404, 405, 307])
def test_an_address_that_is_not_served_ends_the_run(status: int, caplog: pytest.LogCaptureFixture) -> None:
    headers = {"Location": "http://127.0.0.1:9/other"} if status == 307 else {}
    model = failing(status, "The model `m` does not exist", **headers)
    with serving(model) as server, pytest.raises(BackendError, match=rf"MODEL-008.*{status}") as caught:
        outcomes(client(server.url), ASKS)
    assert "The model `m` does not exist" in str(caught.value)
    assert f"{server.url}/models" in str(caught.value)
    gc.collect()
    assert caplog.records == [], "it is said once, though many calls ended so"


def test_it_works_where_an_event_loop_runs_already() -> None:
    async def in_a_notebook(url: str) -> list[Outcome]:
        return outcomes(client(url, ""), ASKS)

    with serving() as server:
        assert failures(asyncio.run(in_a_notebook(server.url))) == {}


# --- order, memory ---


@pytest.mark.parametrize("concurrency", [1, 3, 32])
def test_answers_do_not_depend_on_concurrency(concurrency: int) -> None:
    def dawdling(body: Body) -> Body:
        time.sleep(0.005)
        return small_model(body)

    with serving(dawdling) as server:
        found = outcomes(client(server.url, concurrency=concurrency), ASKS)
        assert server.most_under_way <= concurrency
        assert concurrency == 1 or server.most_under_way > 1
    for ask, outcome in zip(ASKS, found, strict=True):
        assert isinstance(outcome, Completion)
        body = {"prompt": ask.prompt, "temperature": 0}
        assert outcome.outputs[0].text == "".join(words(body))


def test_requests_are_pulled_as_there_is_room() -> None:
    pulled = 0

    def endless() -> Iterator[Request]:
        nonlocal pulled
        while True:
            pulled += 1
            yield make_request("t", str(pulled), "gen", "answer", 0, Generate(f"prompt {pulled}", GREEDY))

    with serving() as server:
        stream = client(server.url, concurrency=3).run(endless())
        assert pulled == 0
        for _ in range(20):
            next(stream)
        assert pulled <= 20 + 3
        stream.close()  # type: ignore[attr-defined]
        assert "assay-http" not in [thread.name for thread in threading.enumerate()]


# --- who it is, what it can do ---


def test_without_a_name_the_first_model_of_the_list_is_asked() -> None:
    with serving() as server:
        backend = client(server.url, "")
        assert backend.card.name == backend.identity().name == f"openai:@{server.url}"
        assert backend.identity().args == {"model": "first"}
        outcomes(backend, ASKS[:3])
        assert {body["model"] for body in server.bodies} == {"first"}
        # Once for the name, once for what the server reports about the model.
        assert server.paths.count("/v1/models") == 2


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ({"data": []}, "lists no model"),
        ({"models": []}, "not a list of models"),
        (["a"], "not a list of models"),
        (error(500, "down"), "HTTP status 500: down"),
    ],
)
def test_a_list_of_models_that_is_none(listed: Any, message: str) -> None:
    def fresh() -> Any:
        return error(500, "down") if isinstance(listed, web.Response) else listed

    with serving(models=fresh()) as server, pytest.raises(BackendError, match=message):
        client(server.url, "", retries=0).identity()


def test_what_it_cannot_do_is_said_without_a_call() -> None:
    asks: list[Ask] = [
        Span("a text", 6),
        Span("", 0),
        Labels("p", ((" A",), (" A",))),
        Generate("", GREEDY),
        Generate((), GREEDY),
        Generate("p", Sampling(max_tokens=0)),
    ]
    with serving() as server:
        found = failures(outcomes(client(server.url), asks))
        assert server.bodies == []
        talks: list[Ask] = [Generate(QUESTION, GREEDY), Labels(QUESTION, ((" A",), (" B",)))]
        chats = failures(outcomes(client(server.url, api="completions"), talks))
        assert server.bodies == []
    kinds = ["empty", "empty", "labels", "empty", "empty", "max_tokens"]
    assert [failure.kind for failure in found.values()] == kinds
    assert [failure.kind for failure in chats.values()] == ["chat", "chat"]
    assert client("http://127.0.0.1:1/v1").card.is_chat
    assert not client("http://127.0.0.1:1/v1", api="completions").card.is_chat


# --- the key ---


def test_the_key_is_shown_to_the_server_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-123456")
    with serving(key="sk-123456") as server:
        backend = client(server.url, "", key_env="MY_KEY")
        assert failures(outcomes(backend, ASKS[:2])) == {}
        assert set(server.keys) == {"Bearer sk-123456"}
        seen = f"{backend.identity()} {backend.card} {backend.notes()} {backend.stats()}"
        assert "sk-1" not in seen


@pytest.mark.parametrize("key", [None, "sk-wrong"])
def test_a_wrong_key_ends_the_run_and_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    with serving(key="sk-right") as server:
        with pytest.raises(BackendError, match=r"MODEL-009.*401.*OPENAI_API_KEY") as caught:
            outcomes(client(server.url), ASKS)
        assert len(server.bodies) <= 16
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("status", [400, 404, 500, 200])
def test_a_server_that_repeats_the_key_is_not_quoted(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-echoed")
    message = {"error": {"message": "your key is sk-echoed", "code": 400}}
    model: Model = failing(status, "your key is sk-echoed") if status != 200 else lambda body: message
    with serving(model) as server:
        try:
            reported = str(outcomes(client(server.url), ASKS[:1]))
        except BackendError as trouble:
            reported = str(trouble)
    assert "your key is (the key)" in reported
    assert "sk-echoed" not in reported


@pytest.mark.parametrize("stream", ["true", "false"])
def test_an_answer_that_repeats_the_key_is_stored_without_it(
    monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    key = 'sk-0123456789"abc'
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serving(saying(f"the key is {key}!")) as server:
        reported = str(outcomes(client(server.url, stream=stream), ASKS[:1]))
    assert "the key is (hidden)!" in reported
    assert "0123456789" not in reported


def test_a_short_key_may_be_a_word_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    with serving(saying("the set is EMPTY")) as server:
        assert "the set is EMPTY" in str(outcomes(client(server.url), ASKS[:1]))


def test_streams_of_the_fake_are_what_it_says_whole() -> None:
    """The fake is right: else the tests above compare two mistakes."""
    body: Body = {"prompt": "p", "temperature": 0}
    assert b"".join(streamed(body)).count(b"data:") == 3 + 1 + 1 + 1
