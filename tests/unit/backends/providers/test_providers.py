"""The clients of Anthropic's and Google's own protocols over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from assay.backends.registry import open_backend, open_timed_client
from assay.core.billing import Bill
from assay.core.errors import BackendError
from assay.core.media import Image, Text
from assay.core.ports import Backend
from assay.core.prompt import Message, Prompt
from assay.core.request import Generate, Kind, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Output
from assay.core.timing import TimedCall
from fakes.openai_server import Chunks
from fakes.provider_servers import (
    Body,
    ProviderServer,
    anthropic_error,
    anthropic_events,
    anthropic_reply,
    gemini_error,
    gemini_reply,
    providing,
)

GREEDY = Sampling(max_tokens=8)
CHAT: Prompt = (Message("system", "Be brief."), Message("user", "Which?"))
BOTH = pytest.mark.parametrize("name", ["anthropic", "gemini"])
STREAMS = pytest.mark.parametrize("stream", ["true", "false"])
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*KEYS.values(), "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


def client(server: ProviderServer, **args: str) -> Backend:
    return open_backend(f"{server.name}:some-model@{server.url}", {"retry_wait_s": "0.001", **args})


def outcome(backend: Backend, prompt: Prompt = CHAT, sampling: Sampling = GREEDY) -> Completion | Failure:
    request = make_request("t", "1", "gen", "answer", 0, Generate(prompt, sampling))
    [response] = backend.run([request])
    assert isinstance(response.outcome, (Completion, Failure))
    return response.outcome


def output(backend: Backend, prompt: Prompt = CHAT, sampling: Sampling = GREEDY) -> Output:
    found = outcome(backend, prompt, sampling)
    assert isinstance(found, Completion), found
    return found.outputs[0]


def always(reply: Any) -> Callable[[Body], Any]:
    return lambda body: reply


def say(name: str, text: str, reason: str | None = None) -> Callable[[Body], Any]:
    if name == "gemini":
        return always(gemini_reply([{"text": text}], reason or "STOP"))
    return always(anthropic_reply([{"type": "text", "text": text}], reason or "end_turn"))


@BOTH
@STREAMS
def test_a_conversation_is_answered(name: str, stream: str) -> None:
    with providing(name, say(name, "B it is")) as server:
        backend = client(server, stream=stream)
        found = outcome(
            backend, sampling=Sampling(max_tokens=8, temperature=0.5, top_p=0.9, seed=3, stop=("\n", "END"))
        )
        body, path = server.bodies[-1], server.paths[-1]
    assert isinstance(found, Completion)
    assert (found.outputs[0].text, found.outputs[0].finish) == ("B it is", Finish.END)
    assert found.n_prompt_tokens == 7
    assert found.outputs[0].n_tokens > 0
    if name == "anthropic":
        assert path == "/v1/messages"
        expected = {
            "model": "some-model",
            "max_tokens": 8,
            "system": "Be brief.",
            "messages": [{"role": "user", "content": "Which?"}],
            "temperature": 0.5,
            "top_p": 0.9,
            "stop_sequences": ["END"],
        }
        assert body == expected | ({"stream": True} if stream == "true" else {})
    else:
        call = ":streamGenerateContent?alt=sse" if stream == "true" else ":generateContent"
        assert path == f"/v1beta/models/some-model{call}"
        config = body.pop("generationConfig")
        assert config.pop("seed", None) is not None
        assert config == {
            "maxOutputTokens": 8,
            "temperature": 0.5,
            "topP": 0.9,
            "stopSequences": ["\n", "END"],
        }
        assert body == {
            "contents": [{"role": "user", "parts": [{"text": "Which?"}]}],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
        }


@BOTH
@STREAMS
def test_a_truncated_text_and_a_stop_string_are_reported(name: str, stream: str) -> None:
    cut = "MAX_TOKENS" if name == "gemini" else "max_tokens"
    with providing(name, say(name, "one\ntwo", cut)) as server:
        assert output(client(server, stream=stream)).finish is Finish.LENGTH
        stopped = output(client(server, stream=stream), sampling=Sampling(max_tokens=8, stop=("\n",)))
    assert (stopped.text, stopped.finish) == ("one", Finish.STOP)


@BOTH
def test_an_image_is_sent(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"pixels")
    image = Image(path=str(tmp_path / "a.png"), media_type="image/png")
    with providing(name) as server:
        output(client(server), (Message("user", (image, Text("What is it?"))),))
        body = server.bodies[-1]
    if name == "anthropic":
        [shown, text] = body["messages"][0]["content"]
        assert shown["source"] == {"type": "base64", "media_type": "image/png", "data": "cGl4ZWxz"}
        assert text == {"type": "text", "text": "What is it?"}
    else:
        [shown, text] = body["contents"][0]["parts"]
        assert shown == {"inlineData": {"mimeType": "image/png", "data": "cGl4ZWxz"}}


@STREAMS
def test_anthropics_thinking_blocks_are_not_the_answer(stream: str) -> None:
    blocks = [
        {"type": "thinking", "thinking": "A? No.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "B"},
    ]
    with providing("anthropic", always(anthropic_reply(blocks))) as server:
        backend = client(server, thinking="2000", stream=stream)
        found = output(backend)
        body = server.bodies[-1]
    assert (found.text, found.reasoning, found.n_thinking_tokens) == ("B", "A? No.", 9)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert body["max_tokens"] == 2008
    notes = " ".join(backend.notes())
    assert "temperature and top_p are not sent" in notes
    assert "estimated" in notes


@pytest.mark.parametrize(
    ("name", "thinking", "expected"),
    [
        ("anthropic", "on", {"thinking": {"type": "adaptive"}}),
        ("anthropic", "off", {"thinking": {"type": "disabled"}}),
        ("anthropic", "high", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        ("gemini", "on", {"includeThoughts": True, "thinkingBudget": -1}),
        ("gemini", "off", {"thinkingBudget": 0}),
        ("gemini", "low", {"includeThoughts": True, "thinkingLevel": "low"}),
        ("gemini", "64", {"includeThoughts": True, "thinkingBudget": 64}),
    ],
)
def test_thinking_is_requested_in_the_apis_own_words(name: str, thinking: str, expected: Any) -> None:
    with providing(name) as server:
        output(client(server, thinking=thinking))
        body = server.bodies[-1]
    if name == "gemini":
        assert body["generationConfig"]["thinkingConfig"] == expected
        assert body["generationConfig"]["maxOutputTokens"] == 8 + (64 if thinking == "64" else 0)
    else:
        assert {key: body[key] for key in expected} == expected


@STREAMS
def test_geminis_thoughts_are_counted_and_not_the_answer(stream: str) -> None:
    parts: list[Body] = [{"text": "A? No.", "thought": True}, {"text": "B"}]
    with providing("gemini", always(gemini_reply(parts, n=1, thoughts=30))) as server:
        found = output(client(server, thinking="on", stream=stream))
    assert (found.text, found.reasoning) == ("B", "A? No.")
    assert (found.n_thinking_tokens, found.n_tokens) == (30, 31)


@STREAMS
@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("anthropic", anthropic_reply([], "refusal")),
        ("gemini", gemini_reply([], "SAFETY")),
        ("gemini", {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}}),
    ],
)
def test_a_blocked_answer_is_a_failure(name: str, reply: Body, stream: str) -> None:
    with providing(name, always(reply)) as server:
        found = outcome(client(server, stream=stream))
    assert isinstance(found, Failure)
    assert found.kind == "content_filter"


TOOLS = (
    '[{"type": "function", "function": '
    '{"name": "add", "description": "Adds.", "parameters": {"type": "object"}}}]'
)


@BOTH
@STREAMS
def test_a_tool_call_is_an_answer(name: str, stream: str) -> None:
    arguments = {"a": 1}
    if name == "gemini":
        reply = gemini_reply([{"functionCall": {"name": "add", "args": arguments}}])
    else:
        block = {"type": "tool_use", "id": "t1", "name": "add", "input": arguments}
        reply = anthropic_reply([block], "tool_use")
    with providing(name, always(reply)) as server:
        found = output(client(server, stream=stream, tools=TOOLS, tool_choice="add"))
        body = server.bodies[-1]
    assert [call.name for call in found.calls] == ["add"]
    assert found.text == '[{"arguments":{"a":1},"name":"add"}]'
    if name == "gemini":
        assert body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["add"]
    else:
        assert body["tools"][0]["input_schema"] == {"type": "object"}
        assert body["tool_choice"] == {"type": "tool", "name": "add"}


@BOTH
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_an_overloaded_api_is_asked_again(name: str, status: int) -> None:
    n = 0

    def model(body: Body) -> Any:
        nonlocal n
        n += 1
        if n > 1:
            return say(name, "B")(body)
        if name == "gemini":
            return gemini_error(status, "overloaded", "UNAVAILABLE", retry_after="0")
        return anthropic_error(status, "Overloaded", "overloaded_error", retry_after="0")

    with providing(name, model) as server:
        backend = client(server)
        assert output(backend).text == "B"
    assert backend.stats()["retries"] == 1


def test_an_error_inside_a_stream_is_asked_again() -> None:
    n = 0

    def model(body: Body) -> Any:
        nonlocal n
        n += 1
        whole = anthropic_reply([{"type": "text", "text": "B"}])
        if n > 1:
            return whole
        error = (
            b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
        )
        return Chunks([*list(anthropic_events(whole))[:4], error])

    with providing("anthropic", model) as server:
        assert output(client(server, stream="true")).text == "B"


@BOTH
def test_keys_come_from_the_environment_and_are_never_shown(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-very-secret"
    monkeypatch.setenv(KEYS[name], secret)

    def repeat(body: Body) -> web.Response:
        make = gemini_error if name == "gemini" else anthropic_error
        return make(400, f"no, {secret}", "INVALID_ARGUMENT")

    with providing(name, key=secret) as server:
        backend = client(server)
        output(backend)
        assert secret not in repr(backend.identity())
        assert "Authorization" not in server.headers[-1]
        server.model = repeat
        found = outcome(client(server))
    assert isinstance(found, Failure)
    assert secret not in found.message


@BOTH
def test_a_wrong_key_ends_the_run_and_names_the_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEYS[name], "wrong")
    with providing(name, key="right") as server, pytest.raises(BackendError, match="MODEL-009") as error:
        outcome(client(server))
    assert KEYS[name] in str(error.value)


@BOTH
def test_without_a_key_the_providers_own_address_is_an_error(name: str) -> None:
    backend = open_backend(f"{name}:some-model", {})  # As `assay explain` does, which sends nothing.
    with pytest.raises(BackendError, match="MODEL-009") as error:
        backend.probe_card(frozenset({Kind.GENERATE}), is_chat=True)
    assert KEYS[name] in str(error.value)


@BOTH
@pytest.mark.parametrize("argument", ["api", "n_per_call", "scoring_fields"])
def test_arguments_of_other_protocols_are_errors(name: str, argument: str) -> None:
    with pytest.raises(BackendError, match="MODEL-002"):
        open_backend(f"{name}:m@http://127.0.0.1:1", {argument: "1"})


def test_a_budget_below_anthropics_least_is_an_error() -> None:
    with pytest.raises(BackendError, match=r"MODEL-021.*1,024"):
        open_backend("anthropic:m@http://127.0.0.1:1", {"thinking": "100"})


@BOTH
def test_likelihoods_are_not_supported_and_the_card_says_why(name: str) -> None:
    card = open_backend(f"{name}:m@http://127.0.0.1:1", {}).card
    assert card.kinds == {Kind.GENERATE}
    assert "log-probabilities" in card.cannot[Kind.LABELS]


def test_begun_replies() -> None:
    prompt: Prompt = (Message("user", "Which?"), Message("assistant", "The answer is "))
    with providing("anthropic") as server:
        output(client(server), prompt)
        assert server.bodies[-1]["messages"][-1] == {"role": "assistant", "content": "The answer is"}
        found = outcome(client(server, thinking="on"), prompt)
        assert isinstance(found, Failure)
    with providing("gemini") as server:
        found = outcome(client(server), prompt)
        assert isinstance(found, Failure)
        assert "cannot continue" in found.message


@BOTH
def test_the_identity_contains_what_the_api_reports(name: str) -> None:
    with providing(name) as server:
        reported = client(server).identity().reported
    expected = {
        "anthropic": {"id": "some-model-20260101"},
        "gemini": {"name": "models/some-model", "version": "001"},
    }
    assert reported == expected[name]


@BOTH
def test_a_call_is_timed(name: str) -> None:
    async def measure(model: str) -> TimedCall:
        async with open_timed_client(model, {}) as timed:
            return await timed.call(Generate(CHAT, GREEDY))

    with providing(name, say(name, "B it is")) as server:
        call = asyncio.run(measure(f"{name}:some-model@{server.url}"))
    assert isinstance(call.outcome, Completion)
    assert call.times.text_at


@STREAMS
def test_anthropic_counts_tokens_and_thoughts_without_their_text(stream: str) -> None:
    """Newer models leave out the text of a thought; cached tokens are part of the prompt's."""
    blocks = [{"type": "thinking", "thinking": "", "signature": "x"}, {"type": "text", "text": "A"}]

    def model(body: Body) -> Any:
        whole = anthropic_reply(blocks)
        whole["usage"] = {
            "input_tokens": 5,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 90,
            "output_tokens": 40,
            "output_tokens_details": {"thinking_tokens": 33},
        }
        return whole

    with providing("anthropic", model) as server:
        backend = client(server, thinking="on", stream=stream)
        request = make_request("t", "1", "gen", "answer", 0, Generate(CHAT, GREEDY))
        [response] = backend.run([request])
    assert isinstance(response.outcome, Completion)
    assert response.outcome.outputs[0].n_thinking_tokens == 33
    assert response.bill == Bill(95, 90, 40)


def test_gemini_bills_thoughts_as_output_and_counts_cached_tokens() -> None:
    whole = gemini_reply([{"text": "A"}], "STOP")
    whole["usageMetadata"] = {
        "promptTokenCount": 20,
        "cachedContentTokenCount": 12,
        "toolUsePromptTokenCount": 3,
        "candidatesTokenCount": 4,
        "thoughtsTokenCount": 6,
    }
    with providing("gemini", always(whole)) as server:
        request = make_request("t", "1", "gen", "answer", 0, Generate(CHAT, GREEDY))
        [response] = client(server).run([request])
    assert response.bill == Bill(23, 12, 10)
