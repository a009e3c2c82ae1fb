"""The clients of TGI and of Triton's generate extension over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web

from assay.backends.registry import open_backend, open_timed_client
from assay.core.errors import BackendError
from assay.core.ports import Backend
from assay.core.prompt import Message
from assay.core.request import Ask, Generate, Kind, Sampling, Span, make_request
from assay.core.response import Completion, Failure, Finish, Outcome
from fakes.generate_server import Body, GenerateServer, generating, tgi_error, tgi_events, words
from fakes.openai_server import Chunks, event

GREEDY = Sampling(max_tokens=8)
DRAWN = Sampling(max_tokens=8, temperature=0.5, top_p=0.9, seed=7, n=2)
NAMES = {"tgi": "", "triton": "llm"}
BOTH = pytest.mark.parametrize("protocol", NAMES)
STREAMS = pytest.mark.parametrize("stream", ["true", "false"])


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def client(server: GenerateServer, protocol: str, **args: str) -> Backend:
    return open_backend(f"{protocol}:{NAMES[protocol]}@{server.url}", {"retry_wait_s": "0.001", **args})


def outcomes(backend: Backend, *asks: Ask) -> list[Outcome]:
    requests = [make_request("t", str(n), "gen", "answer", 0, ask) for n, ask in enumerate(asks)]
    by_id = {one.request_id: one.outcome for one in backend.run(requests)}
    return [by_id[one.id] for one in requests]


def texts(found: Outcome) -> list[str]:
    assert isinstance(found, Completion), found
    return [one.text for one in found.outputs]


def failure(found: Outcome) -> Failure:
    assert isinstance(found, Failure), found
    return found


@BOTH
@STREAMS
def test_texts_are_those_of_the_server(protocol: str, stream: str) -> None:
    asks = [Generate(f"text {n}", GREEDY) for n in range(5)]
    with generating() as server:
        found = outcomes(client(server, protocol, stream=stream), *asks)
        ending = "generate_stream" if stream == "true" else "generate"
        path = f"/{ending}" if protocol == "tgi" else f"/v2/models/llm/{ending}"
        assert server.paths == [path] * 5
    assert [texts(one) for one in found] == [["".join(words(f"text {n}", {}))] for n in range(5)]


@STREAMS
def test_what_tgi_is_sent_and_says(stream: str) -> None:
    with generating() as server:
        backend = client(server, "tgi", stream=stream, top_k="5")
        greedy, drawn = outcomes(backend, Generate("a", GREEDY), Generate("b", DRAWN))
        first, *rest = sorted(server.bodies, key=lambda body: str(body["inputs"]))
    parameters = {"max_new_tokens": 8, "do_sample": False, "details": True, "top_k": 5}
    assert first == {"inputs": "a", "parameters": parameters}
    assert len({body["parameters"]["seed"] for body in rest}) == 2
    assert rest[0]["parameters"]["temperature"] == 0.5
    assert rest[0]["parameters"]["top_p"] == 0.9
    assert isinstance(greedy, Completion)
    (output,) = greedy.outputs
    assert (output.finish, output.n_tokens) == (Finish.END, 3)
    assert greedy.n_prompt_tokens == (7 if stream == "true" else 0)
    assert len(texts(drawn)) == 2


@STREAMS
def test_a_temperature_or_top_p_that_tgi_rejects_is_not_sent(stream: str) -> None:
    with generating() as server:
        sampling = Sampling(max_tokens=2, temperature=1.0)
        (found,) = outcomes(client(server, "tgi", stream=stream), Generate("a", sampling))
        assert "top_p" not in server.bodies[0]["parameters"]
    assert isinstance(found, Completion)
    assert found.outputs[0].finish is Finish.LENGTH


@pytest.mark.parametrize(("fields", "is_flat"), [("parameters", False), ("top", True)])
def test_what_triton_is_sent(fields: str, is_flat: bool) -> None:
    with generating() as server:
        backend = client(server, "triton", stream="false", fields=fields, max_tokens_name="max_new_tokens")
        outcomes(backend, Generate("a", Sampling(max_tokens=8, stop=("Q:",))))
        sent = {"max_new_tokens": 8, "temperature": 0.0, "stream": False}
        assert server.bodies == [
            {"text_input": "a", **sent} if is_flat else {"text_input": "a", "parameters": sent}
        ]


@BOTH
@STREAMS
def test_texts_are_cut_at_stop_strings(protocol: str, stream: str) -> None:
    with generating(lambda prompt, parameters: [" one", " two", "\nQ: three"]) as server:
        (found,) = outcomes(
            client(server, protocol, stream=stream), Generate("a", Sampling(max_tokens=8, stop=("\nQ:",)))
        )
        if protocol == "tgi":
            assert server.bodies[0]["parameters"]["stop"] == ["\nQ:"]
    assert isinstance(found, Completion)
    assert (found.outputs[0].text, found.outputs[0].finish) == (" one two", Finish.STOP)


@STREAMS
def test_a_prompt_that_triton_repeats_is_no_answer(stream: str) -> None:
    with generating(echoes=True) as server:
        (found,) = outcomes(client(server, "triton", stream=stream), Generate("a text", GREEDY))
    assert texts(found) == ["".join(words("a text", {}))]


def test_special_tokens_of_a_stream_are_no_text() -> None:
    details = {"finish_reason": "eos_token", "generated_tokens": 2}
    with generating(lambda *_: Chunks(tgi_events([" yes", "."], details))) as server:
        (found,) = outcomes(client(server, "tgi"), Generate("a", GREEDY))
    assert texts(found) == [" yes."]


@pytest.mark.parametrize(
    ("kind", "n_calls"), [("validation", 1), ("generation", 3), ("overloaded", 3)], ids=str
)
def test_an_error_in_a_stream_is_a_failure(kind: str, n_calls: int) -> None:
    document = {"error": "Request failed during generation", "error_type": kind}
    with generating(lambda *_: Chunks([event(document)])) as server:
        (found,) = outcomes(client(server, "tgi", retries="2"), Generate("a", GREEDY))
        assert len(server.bodies) == n_calls
    assert "Request failed during generation" in failure(found).message


@BOTH
@STREAMS
def test_an_error_reply_is_a_failure_with_its_message(protocol: str, stream: str) -> None:
    def model(prompt: str, parameters: Body) -> Any:
        return tgi_error(422, "inputs must have less than 4 tokens", "validation")

    with generating(model) as server:
        (found,) = outcomes(client(server, protocol, stream=stream), Generate("a", GREEDY))
        assert len(server.bodies) == 1
    assert failure(found).kind == "refused"
    assert "inputs must have less than 4 tokens" in failure(found).message


@BOTH
def test_an_overloaded_server_is_called_again(protocol: str) -> None:
    replies = iter([tgi_error(429, "Model is overloaded", "overloaded")])

    def model(prompt: str, parameters: Body) -> Any:
        return next(replies, None) or words(prompt, parameters)

    with generating(model) as server:
        (found,) = outcomes(client(server, protocol), Generate("a", GREEDY))
        assert len(server.bodies) == 2
    assert texts(found) == ["".join(words("a", {}))]


@BOTH
@pytest.mark.parametrize("document", [[], {}, {"generated_text": 3, "text_output": 3}, "text"], ids=str)
def test_a_reply_of_another_form_is_a_failure(protocol: str, document: Any) -> None:
    with generating(lambda *_: web.json_response(document)) as server:
        (found,) = outcomes(client(server, protocol, retries="0"), Generate("a", GREEDY))
    assert failure(found).kind == "wrong_reply"


@BOTH
def test_a_stream_that_breaks_off_is_a_failure(protocol: str) -> None:
    pieces = [event({"token": {"text": " half"}, "text_output": " half"})]
    with generating(lambda *_: Chunks(pieces, is_closed_early=True)) as server:
        (found,) = outcomes(client(server, protocol, retries="0"), Generate("a", GREEDY))
    assert failure(found).kind in ("connection", "cut_short")


@BOTH
def test_conversations_and_likelihoods_are_failures(protocol: str) -> None:
    with generating() as server:
        backend = client(server, protocol)
        assert backend.card.kinds == {Kind.GENERATE}
        assert not backend.card.is_chat
        chat, span = outcomes(backend, Generate((Message("user", "hi"),), GREEDY), Span("a b", 1))
        assert not server.bodies
    assert failure(chat).kind == "chat"
    assert "--method gen" in failure(span).message


def test_the_key_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    with generating(key="secret") as server:
        (found,) = outcomes(client(server, "tgi", key_env="MY_KEY"), Generate("a", GREEDY))
        assert isinstance(found, Completion)
        with pytest.raises(BackendError, match="MODEL-009"):
            outcomes(client(server, "tgi"), Generate("a", GREEDY))


def test_the_server_reports_its_model() -> None:
    with generating() as server:
        tgi = client(server, "tgi").identity()
        triton = client(server, "triton").identity()
    assert (tgi.backend, tgi.server) == ("tgi", "reports")
    assert tgi.reported == {"model_id": "org/model", "model_sha": "abc123", "model_dtype": "bfloat16"}
    assert not tgi.args
    assert triton.reported == {"name": "llm", "platform": "vllm", "versions": "1"}


def test_a_parameter_by_another_name_is_another_model_of_triton() -> None:
    with generating() as server:
        found = client(server, "triton", fields="top", max_tokens_name="max_new_tokens").identity()
    assert found.args == {"fields": "top", "max_tokens_name": "max_new_tokens"}


@pytest.mark.parametrize(
    ("model", "args", "message"),
    [
        ("triton:@http://127.0.0.1:1", {}, "triton needs the name of a model"),
        ("tgi:http://127.0.0.1:1", {}, "after an @"),
        ("tgi:@http://127.0.0.1:1/generate", {}, "the base address is needed"),
        ("triton:m@http://127.0.0.1:1", {"fields": "both"}, "fields=parameters or fields=top"),
        ("tgi:@http://127.0.0.1:1", {"tools": "x.json"}, "tgi argument tools"),
        ("tgi:@http://127.0.0.1:1", {"n_per_call": "2"}, "tgi argument n_per_call"),
        ("tgi:@http://127.0.0.1:1", {"concurency": "2"}, "tgi"),
    ],
)
def test_a_wrong_address_or_argument_is_an_error(model: str, args: dict[str, str], message: str) -> None:
    with pytest.raises(BackendError) as caught:
        open_backend(model, args)
    assert message in str(caught.value)


@BOTH
def test_calls_can_be_timed(protocol: str) -> None:
    async def timed(server: GenerateServer, asks: Sequence[Generate]) -> list[Any]:
        async with open_timed_client(f"{protocol}:{NAMES[protocol]}@{server.url}", {}) as timing:
            return [await timing.call(ask) for ask in asks]

    with generating() as server:
        (call,) = asyncio.run(timed(server, [Generate("a", GREEDY)]))
        with pytest.raises(BackendError, match="--text"):
            asyncio.run(timed(server, [Generate((Message("user", "a"),), GREEDY)]))
    assert texts(call.outcome) == ["".join(words("a", {}))]
    assert len(call.times.text_at) == 3
