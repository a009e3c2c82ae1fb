"""Thinking behind OpenAI-compatible servers: what is sent, and which part of a reply is the answer."""

from __future__ import annotations

from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.errors import BackendError
from assay.core.ports import Backend
from assay.core.prompt import Message
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Output
from fakes.openai_server import Body, Chunks, OpenAIServer, choice, error, event, reply, serving

GREEDY = Sampling(max_tokens=8)
CHAT = (Message("user", "Which?"),)
BOTH = pytest.mark.parametrize("stream", ["true", "false"])


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def client(server: OpenAIServer, **args: str) -> Backend:
    return open_backend(f"openai:any@{server.url}", {"retry_wait_s": "0.001", **args})


def outcome(backend: Backend, sampling: Sampling = GREEDY) -> Completion | Failure:
    request = make_request("t", "1", "gen", "answer", 0, Generate(CHAT, sampling))
    [response] = backend.run([request])
    assert isinstance(response.outcome, (Completion, Failure))
    return response.outcome


def output(backend: Backend, sampling: Sampling = GREEDY) -> Output:
    found = outcome(backend, sampling)
    assert isinstance(found, Completion), found
    return found.outputs[0]


def saying(
    text: str, finish: str = "stop", usage: dict[str, Any] | None = None, n: int = 10, **message: Any
) -> Any:
    """Return a model that always sends this message."""

    def model(body: Body) -> Any:
        whole = reply(choice(body, text, finish=finish, **message), completion_tokens=n)
        whole["usage"] |= usage or {}
        return whole

    return model


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({}, {}),
        ({"thinking": "on"}, {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}}),
        ({"thinking": "off"}, {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
        ({"thinking": "low"}, {"reasoning_effort": "low"}),
        (
            {"thinking": "64"},
            {
                "chat_template_kwargs": {"enable_thinking": True, "thinking": True},
                "thinking_token_budget": 64,
                "max_tokens": 72,
            },
        ),
        (
            {"thinking": "64", "thinking_budget_name": "reasoning_budget"},
            {
                "chat_template_kwargs": {"enable_thinking": True, "thinking": True},
                "reasoning_budget": 64,
                "max_tokens": 72,
            },
        ),
        (
            {"thinking": "on", "extra.chat_template_kwargs": '{"locale": "en"}'},
            {"chat_template_kwargs": {"enable_thinking": True, "thinking": True, "locale": "en"}},
        ),
    ],
)
def test_the_request_asks_for_it(args: dict[str, str], expected: dict[str, Any]) -> None:
    with serving() as server:
        outcome(client(server, stream="false", **args))
        body = server.bodies[-1]
    plain = {"model", "messages", "max_tokens", "temperature"}
    assert {name: value for name, value in body.items() if name not in plain or name in expected} == expected


@BOTH
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_a_separate_thought_is_not_the_answer(stream: str, field: str) -> None:
    usage: Any = {"completion_tokens_details": {"reasoning_tokens": 6}}
    thought: Any = {field: "A? No."}
    with serving(saying("B", usage=usage, **thought)) as server:
        found = output(client(server, thinking="on", stream=stream))
    assert (found.text, found.reasoning, found.n_thinking_tokens) == ("B", "A? No.", 6)


def test_a_thought_inside_the_text_is_separated() -> None:
    with serving(saying("<think>A? No.</think>\n\nB", n=10)) as server:
        backend = client(server)
        found = output(backend)
        kept = output(client(server, thoughts="inline"))
    assert (found.text, found.reasoning) == ("B", "A? No.")
    assert found.n_thinking_tokens == 9
    assert "estimated" in " ".join(backend.notes())
    assert kept.text == "<think>A? No.</think>\n\nB"


@pytest.mark.parametrize("text", ["<think>It is B", "It is B"])
def test_a_truncated_thought_is_never_the_answer(text: str) -> None:
    with serving(saying(text, finish="length", n=8)) as server:
        backend = client(server, thinking="on")
        found = output(backend)
    assert (found.text, found.reasoning, found.finish) == ("", "It is B", Finish.LENGTH)
    assert found.is_cut_in_thought
    assert ("do not show whether" in " ".join(backend.notes())) == (text == "It is B")


def test_a_hidden_thought_is_counted() -> None:
    usage = {"completion_tokens_details": {"reasoning_tokens": 8}}
    with serving(saying("", finish="length", n=8, usage=usage)) as server:
        found = output(client(server, thinking="high"))
    assert found.reasoning is None
    assert found.is_cut_in_thought
    assert found.n_thinking_tokens == 8


def test_a_truncated_answer_after_a_reported_thought_stays_an_answer() -> None:
    usage = {"completion_tokens_details": {"reasoning_tokens": 0}}
    with serving(saying("It is", finish="length", n=8, usage=usage)) as server:
        assert output(client(server, thinking="low")).text == "It is"


@pytest.mark.parametrize(
    ("thinking", "model", "words"),
    [
        ("on", saying("B"), "no reply contains a thought"),
        ("off", saying("B", reasoning_content="A?"), "although --thinking off"),
        ("4", saying("B", n=200, reasoning_content="A? " * 99), "longer than the budget of 4 tokens"),
        ("on", saying("", reasoning_content="First,"), None),
    ],
)
def test_what_a_server_ignores_becomes_a_note(thinking: str, model: Any, words: str | None) -> None:
    with serving(model) as server:
        backend = client(server, thinking=thinking)
        outcome(backend)
    notes = [note for note in backend.notes() if "estimated" not in note]
    assert (words in " ".join(notes)) if words else not notes


def test_a_rejected_field_is_an_error_with_its_fix() -> None:
    def model(body: Body) -> Any:
        return error(400, "Unrecognized request argument supplied: chat_template_kwargs")

    with serving(model) as server:
        for thinking, fix in (("on", "use --thinking low"), ("off", "extra.reasoning_effort=none")):
            found = outcome(client(server, thinking=thinking))
            assert isinstance(found, Failure)
            assert fix in found.message


@pytest.mark.parametrize(
    ("args", "code"),
    [({"thinking": "maybe"}, "MODEL-002"), ({"thinking": "on", "api": "completions"}, "MODEL-021")],
)
def test_wrong_arguments_are_errors(args: dict[str, str], code: str) -> None:
    with pytest.raises(BackendError, match=code):
        open_backend("openai:any@http://127.0.0.1:1/v1", args)


def test_it_is_part_of_the_models_identity() -> None:
    with serving() as server:
        kept = {
            client(server, **args).identity().digest for args in ({}, {"thinking": "on"}, {"thinking": "9"})
        }
        assert len(kept) == 3
        assert client(server, thinking="on").card.thinks
        assert not client(server, thinking="off").card.thinks


def test_a_stream_keeps_both_apart() -> None:
    def model(body: Body) -> Chunks:
        deltas = [{"reasoning": "A? "}, {"reasoning": "No."}, {"content": "B"}]
        pieces = [event({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
        last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        usage = {"choices": [], "usage": {"completion_tokens": 9, "reasoning_tokens": 7}}
        return Chunks([*pieces, event(last), event(usage), b"data: [DONE]\n\n"])

    with serving(model) as server:
        found = output(client(server, stream="true"))
    assert (found.text, found.reasoning, found.n_thinking_tokens) == ("B", "A? No.", 7)
