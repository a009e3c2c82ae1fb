"""Rows with conversations: the user's turns."""

from __future__ import annotations

from typing import Any

import pytest

from assay.bench.conversations import build_conversation_item, is_conversation
from assay.bench.items import LoadItem
from assay.core.errors import AuthorError
from assay.core.origin import Origin
from assay.core.prompt import Message

HERE = Origin("chats.json", 3)
FIRST = (Message("user", "one"),)


def turns(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"from": role, "value": text} for role, text in pairs]


@pytest.mark.parametrize(
    "fields",
    [
        {"conversations": turns(("human", "one"), ("gpt", "a"), ("human", "two"), ("gpt", "b"))},
        {"conversations": turns(("gpt", "hello"), ("user", "one"), ("bing", "a"), ("human", "two"))},
        {"messages": [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]},
        {"question": ["one", "two"], "answer": ["a", "b"]},
        {"turns": ["one", "two"], "question_id": 7},
        {"turns": ["one", " ", "two"]},
    ],
)
def test_what_the_user_says_is_asked_and_answers_are_left_away(fields: dict[str, Any]) -> None:
    assert is_conversation(fields)
    assert build_conversation_item("3", fields, HERE) == LoadItem("3", FIRST, turns=("two",))


def test_a_systems_message_is_first() -> None:
    fields = {"conversations": turns(("system", "Be short."), ("human", "one"))}
    item = build_conversation_item("3", fields, HERE)
    assert item is not None
    assert item.prompt == (Message("system", "Be short."), *FIRST)
    assert item.turns == ()


@pytest.mark.parametrize(("given", "expected"), [(16, 16), ([16, 64], 64), (None, None), ([], None)])
@pytest.mark.parametrize("column", ["max_tokens", "max_out_len"])
def test_answers_are_as_long_as_the_row_allows(column: str, given: Any, expected: int | None) -> None:
    item = build_conversation_item("3", {"turns": ["one"], column: given}, HERE)
    assert item is not None
    assert item.max_tokens == expected


@pytest.mark.parametrize("messages", [[], turns(("gpt", "hello")), turns(("human", " "))])
def test_a_conversation_without_the_user_is_none(messages: list[dict[str, str]]) -> None:
    assert build_conversation_item("3", {"conversations": messages}, HERE) is None


def test_a_question_alone_is_a_row_of_a_table() -> None:
    assert not is_conversation({"question": "one"})


@pytest.mark.parametrize(
    ("fields", "column", "text"),
    [
        ({"conversations": "one"}, "conversations", "'one', expected a list"),
        ({"conversations": ["one"]}, "conversations", "expected a message"),
        ({"conversations": [{"from": "human"}]}, "conversations", "'value'"),
        ({"conversations": turns(("narrator", "one"))}, "conversations", "'narrator'"),
        ({"turns": ["one", 2]}, "turns", "expected a list of strings"),
        ({"question": 5}, "question", "expected a list of strings"),
        ({"prompt": "one"}, None, "expected one of 'conversations'"),
        ({"turns": ["one"], "max_tokens": 0}, "max_tokens", "found 0"),
        ({"turns": ["one"], "max_tokens": [8, "x"]}, "max_tokens", "[8, 'x']"),
        ({"turns": ["one"], "max_tokens": True}, "max_tokens", "True"),
    ],
)
def test_a_wrong_row_names_row_and_column(fields: dict[str, Any], column: str | None, text: str) -> None:
    with pytest.raises(AuthorError) as caught:
        build_conversation_item("3", fields, HERE)
    (problem,) = caught.value.problems
    assert problem.code == "BENCH-024"
    assert problem.where == Origin("chats.json", 3, column=column)
    assert text in problem.what
