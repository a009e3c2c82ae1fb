"""Tools offered to a model, and its tool calls, whole or streamed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.openai.arguments import read_openai_settings
from assay.backends.openai.backend import OpenAIBackend
from assay.backends.openai.stream import StreamedReply
from assay.backends.openai.tools import CalledFunction, ToolCall, format_calls, read_calls
from assay.core.errors import BackendError
from assay.core.prompt import Message, Prompt
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Call, Completion, Failure, Finish, Outcome, Output
from fakes.openai_server import Body, Chunks, Model, choice, event, reply, saying, serving

ADD = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
SEARCH = {"type": "function", "function": {"name": "search", "description": "Look something up."}}
TOOLS = json.dumps([ADD, SEARCH])
QUESTION = (Message("user", "What is 2+2?"),)
SUM = Call("add", '{"b": 2, "a": 2}')
SUM_TEXT = '[{"arguments":{"a":2,"b":2},"name":"add"}]'


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def ask_server(
    model: Model, prompt: Prompt = QUESTION, sampling: Sampling | None = None, **args: str
) -> tuple[Outcome, list[Body], list[str]]:
    """Ask a server once; return the outcome, and what the server heard."""
    ask = Generate(prompt, sampling or Sampling(max_tokens=8))
    with serving(model) as server:
        backend = OpenAIBackend(f"m@{server.url}", {"retries": "0", "retry_wait_s": "0", **args})
        (response,) = backend.run([make_request("t", "0", "gen", "answer", 0, ask)])
        return response.outcome, server.bodies, server.paths


def output(model: Model, sampling: Sampling | None = None, **args: str) -> Output:
    outcome, _, _ = ask_server(model, QUESTION, sampling, **args)
    assert isinstance(outcome, Completion), outcome
    return outcome.outputs[0]


def sent(*calls: Call) -> list[dict[str, Any]]:
    """Return calls as a server sends them whole."""
    return [
        {"id": f"call_{n}", "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for n, one in enumerate(calls)
    ]


def calling(*calls: Call, content: str | None = None, finish: str = "tool_calls") -> Model:
    return saying(content, finish, tool_calls=sent(*calls))


def in_pieces(deltas: Sequence[dict[str, Any]], finish: str = "tool_calls") -> Model:
    """Return a model that says some deltas one by one."""
    pieces = [event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) for delta in deltas]
    last = event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return lambda body: Chunks([*pieces, last, b"data: [DONE]\n\n"])


def piece(index: int | None, arguments: str | None = None, **first: str) -> dict[str, Any]:
    function = {key: value for key, value in (("name", first.get("name")), ("arguments", arguments)) if value}
    known = {"index": index, "id": first.get("id"), "function": function}
    return {"tool_calls": [{key: value for key, value in known.items() if value is not None}]}


# --- what is offered ---


def test_tools_are_sent_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(TOOLS, encoding="utf-8")
    for given_ in (TOOLS, str(file)):
        _, (body,), (path,) = ask_server(saying("4"), tools=given_)
        assert body["tools"] == [ADD, SEARCH]
        assert "tool_choice" not in body
        assert path == "/v1/chat/completions"
    _, (body,), _ = ask_server(saying("4"))
    assert "tools" not in body


def test_a_text_goes_to_chat_where_tools_are_offered() -> None:
    _, (body,), (path,) = ask_server(saying("4"), "What is 2+2?", tools=TOOLS)
    assert path == "/v1/chat/completions"
    assert body["messages"] == [{"role": "user", "content": "What is 2+2?"}]


@pytest.mark.parametrize(
    ("choice_", "message"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("search", {"type": "function", "function": {"name": "search"}}),
    ],
)
def test_which_tool_is_called_can_be_said(choice_: str, message: object) -> None:
    _, (body,), _ = ask_server(saying("4"), tools=TOOLS, tool_choice=choice_)
    assert body["tool_choice"] == message


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"tools": "nowhere.json"}, "nowhere.json cannot be read: No such file"),
        ({"tools": "[1, "}, "is not JSON"),
        ({"tools": "[]"}, "contains no list of tools"),
        ({"tools": json.dumps(ADD)}, "contains no list of tools"),
        ({"tools": json.dumps([ADD, {"type": "function"}])}, "tool 2 names no function"),
        ({"tools": json.dumps([ADD, {"name": "bare"}])}, "tool 2 names no function"),
        ({"tools": json.dumps([ADD, ADD])}, "'add' appears twice"),
        ({"tools": TOOLS, "tool_choice": "serch"}, "did you mean 'search'"),
        ({"tool_choice": "auto"}, "no tools are offered"),
        ({"tools": TOOLS, "api": "completions"}, "only chat supports tools"),
        ({"extra.tools": TOOLS}, "tools=FILE.json"),
        ({"extra.tool_choice": "auto"}, "tool_choice=NAME"),
    ],
)
def test_what_cannot_be_offered_is_reported_before_anything_is_asked(
    args: dict[str, str], message: str
) -> None:
    with pytest.raises(BackendError, match="MODEL-002") as error:
        read_openai_settings(args)
    assert message in str(error.value)


def test_other_tools_are_another_model(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([ADD, SEARCH], indent=4), encoding="utf-8")
    with serving() as server:

        def args(**given_: str) -> dict[str, Any]:
            return OpenAIBackend(f"m@{server.url}", given_).identity().args

        assert args(tools=str(file)) == args(tools=TOOLS), "how they are written down does not count"
        assert len(args(tools=TOOLS)["tools"]) == 16
        every = [
            args(),
            args(tools=TOOLS),
            args(tools=json.dumps([ADD])),
            args(tools=json.dumps([SEARCH, ADD])),
            args(tools=TOOLS, tool_choice="add"),
            args(tools=TOOLS, tool_choice="required"),
        ]
    assert len({json.dumps(one) for one in every}) == len(every)


# --- what is called ---


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (calling(SUM), Output(SUM_TEXT, Finish.END, 3, calls=(SUM,))),
        (calling(SUM, content=""), Output(SUM_TEXT, Finish.END, 3, calls=(SUM,))),
        (calling(SUM, content="\n"), Output(SUM_TEXT, Finish.END, 3, calls=(SUM,))),
        (calling(SUM, content="I add."), Output("I add.", Finish.END, 3, calls=(SUM,))),
        (calling(SUM, finish="stop"), Output(SUM_TEXT, Finish.END, 3, calls=(SUM,))),
        (
            calling(Call("add", '{"a": 2, "b'), finish="length"),
            Output(
                '[{"arguments":"{\\"a\\": 2, \\"b","name":"add"}]',
                Finish.LENGTH,
                3,
                calls=(Call("add", '{"a": 2, "b'),),
            ),
        ),
        (saying("4"), Output("4", Finish.END, 3)),
        (saying("4", tool_calls=[]), Output("4", Finish.END, 3)),
        (saying("4", tool_calls=None), Output("4", Finish.END, 3)),
    ],
)
def test_calls_are_the_answer(model: Model, expected: Output) -> None:
    assert output(model, tools=TOOLS) == expected


def test_several_calls_keep_their_order() -> None:
    find = Call("search", '{"for":"수도"}')
    found = output(calling(SUM, find), tools=TOOLS)
    assert found.calls == (SUM, find)
    assert json.loads(found.text) == [
        {"name": "add", "arguments": {"a": 2, "b": 2}},
        {"name": "search", "arguments": {"for": "수도"}},
    ]


def test_stop_strings_cut_what_is_said_and_no_calls() -> None:
    found = output(calling(SUM, content="I add. END no"), Sampling(8, stop=("END", '"name"')), tools=TOOLS)
    assert (found.text, found.calls) == ("I add. ", (SUM,))
    assert output(calling(SUM), Sampling(8, stop=('"name"',)), tools=TOOLS).text == SUM_TEXT


def test_arguments_may_come_as_an_object() -> None:
    model = saying(
        None, "tool_calls", tool_calls=[{"function": {"name": "add", "arguments": {"b": 2, "a": 2}}}]
    )
    assert output(model, tools=TOOLS) == Output(
        SUM_TEXT, Finish.END, 3, calls=(Call("add", '{"b":2,"a":2}'),)
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [({}, "no tools were offered"), ({"tools": TOOLS}, "does not say which")],
    ids=["not offered", "not said"],
)
def test_calls_that_cannot_be_an_answer(args: dict[str, str], message: str) -> None:
    model = calling(SUM) if not args else saying(None, "tool_calls", tool_calls=[{"id": "1"}])
    outcome, _, _ = ask_server(model, QUESTION, None, **args)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "tool_calls"
    assert message in outcome.message


def test_each_of_several_texts_has_its_own_calls() -> None:
    def model(body: Body) -> Body:
        called = choice(body, None, finish="tool_calls", tool_calls=sent(SUM))
        return reply(called, choice(body, "4", index=1))

    sampling = Sampling(8, temperature=1.0, n=2, seed=0)
    outcome, _, _ = ask_server(model, QUESTION, sampling, tools=TOOLS, n_per_call="2")
    assert isinstance(outcome, Completion)
    assert [(one.text, one.calls) for one in outcome.outputs] == [(SUM_TEXT, (SUM,)), ("4", ())]


# --- pieces ---


@given(
    st.lists(st.tuples(st.sampled_from(["add", "search"]), st.text(max_size=12)), min_size=1, max_size=3),
    st.data(),
)
def test_pieces_of_any_size_in_any_order_make_the_calls(
    written: list[tuple[str, str]], data: st.DataObject
) -> None:
    calls = [Call(name, json.dumps({"x": text}, ensure_ascii=False)) for name, text in written]
    queues: list[list[dict[str, Any]]] = []
    for index, call in enumerate(calls):
        cuts = sorted(data.draw(st.lists(st.integers(0, len(call.arguments)), max_size=4)))
        ends = [0, *cuts, len(call.arguments)]
        parts = [call.arguments[a:b] for a, b in pairwise(ends)]
        queues.append([piece(index, id=f"c{index}", name=call.name), *(piece(index, part) for part in parts)])
    # Calls begin in their order; the pieces of those that are begun may come mixed.
    deltas = [queue.pop(0) for queue in queues]
    while any(queues):
        queue = data.draw(st.sampled_from([queue for queue in queues if queue]))
        deltas.append(queue.pop(0))
    stream = StreamedReply()
    for delta in deltas:
        stream.feed(event({"choices": [{"index": 0, "delta": delta}]}), 0.0)
    stream.feed(event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}), 0.0)
    (whole,) = stream.join_reply().choices
    assert whole.message is not None
    assert list(read_calls(whole.message.tool_calls)) == calls


@pytest.mark.parametrize(
    "deltas",
    [
        [piece(0, id="a", name="add"), piece(0, '{"b": 2,'), piece(0, ' "a": 2}')],
        [piece(None, SUM.arguments, id="a", name="add")],
        [
            {"role": "assistant", "content": None},
            piece(0, "{", id="a", name="add"),
            piece(0, '"b": 2, "a": 2}', name="add"),
        ],
    ],
    ids=["as usual", "without an index", "the name each time"],
)
def test_a_stream_says_the_same_as_a_whole_reply(deltas: list[dict[str, Any]]) -> None:
    streamed = output(in_pieces(deltas), tools=TOOLS, stream="true")
    assert (streamed.text, streamed.finish, streamed.calls) == (SUM_TEXT, Finish.END, (SUM,))


def test_calls_that_share_an_index_are_distinguished_by_their_ids() -> None:
    deltas = [piece(0, "{}", id="a", name="add"), piece(0, "[]", id="b", name="search")]
    assert output(in_pieces(deltas), tools=TOOLS, stream="true").calls == (
        Call("add", "{}"),
        Call("search", "[]"),
    )


def test_a_piece_of_a_call_counts_as_text_for_the_time_of_the_first() -> None:
    stream = StreamedReply()
    stream.feed(event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]}), 0.0)
    assert len(stream.text_at) == 0
    stream.feed(event({"choices": [{"index": 0, "delta": piece(0, id="a", name="add")}]}), 0.0)
    assert len(stream.text_at) == 1


# --- one text for the same calls ---


@given(st.dictionaries(st.text(), st.integers(-9, 9) | st.text() | st.none() | st.lists(st.booleans())))
def test_the_order_of_arguments_does_not_show_in_the_text(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(arguments.items()))
    one, other = (Call("f", json.dumps(some, indent=n)) for n, some in ((None, arguments), (2, turned)))
    assert format_calls([one]) == format_calls([other])
    assert json.loads(format_calls([one])) == [{"name": "f", "arguments": arguments}]


def test_a_call_without_a_function_is_none() -> None:
    assert read_calls([ToolCall(0, "a"), ToolCall(1, "b", CalledFunction(None, "{}"))]) == ()


# --- content in parts ---


@pytest.mark.parametrize("stream", ["true", "false"])
def test_content_in_parts_is_read(stream: str) -> None:
    parts = [{"type": "text", "text": "fo"}, {"type": "text", "text": "ur"}]
    model = in_pieces([{"content": parts}], "stop") if stream == "true" else saying(parts)  # type: ignore[arg-type]
    assert output(model, stream=stream).text == "four"


def test_a_part_that_is_no_text_is_no_answer() -> None:
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}]
    outcome, _, _ = ask_server(saying(parts))  # type: ignore[arg-type]
    assert isinstance(outcome, Failure)
    assert outcome.kind == "wrong_reply"
    assert "'image_url'" in outcome.message
