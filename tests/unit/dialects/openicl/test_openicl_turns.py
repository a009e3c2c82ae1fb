from __future__ import annotations

from typing import Any

import pytest

from assay.core.prompt import Message
from assay.core.request import Sampling
from assay.dialects.openicl.task import (
    RowConversation,
    UnreadableTurns,
    build_turn_requests,
    read_conversation,
)

TALK = RowConversation(("Be brief.",), ("Hi", "And?", "Bye"), ("Hello", "Well", None))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Hi", RowConversation((), ("Hi",), (None,))),
        (["Hi", "And?"], RowConversation((), ("Hi", "And?"), (None, None))),
        (
            [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello"},
                {"role": "user", "content": "And?"},
            ],
            RowConversation(("Be brief.",), ("Hi", "And?"), ("Hello", None)),
        ),
        (
            [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}],
            RowConversation((), ("Hi",), ("Hello",)),
        ),
    ],
)
def test_forms_of_a_conversation(value: Any, expected: RowConversation) -> None:
    assert read_conversation(value) == expected


@pytest.mark.parametrize("value", [None, [], 3, [{"role": "pirate", "content": "Arr"}], [{"role": "user"}]])
def test_what_is_no_conversation(value: Any) -> None:
    with pytest.raises(UnreadableTurns):
        read_conversation(value)


def test_every_turn_follows_the_models_own_answers() -> None:
    (ask,) = build_turn_requests(TALK, "every", Sampling(), is_chat=True)
    assert ask.prompt == (Message("system", "Be brief."), Message("user", "Hi"))
    assert ask.turns == ("And?", "Bye")


def test_every_turn_follows_the_right_answers() -> None:
    asks = build_turn_requests(TALK, "every_with_gt", Sampling(), is_chat=True)
    assert [ask.prompt[-1] for ask in asks] == [Message("user", turn) for turn in ("Hi", "And?", "Bye")]
    assert asks[1].prompt[2] == Message("assistant", "Hello")
    assert all(ask.turns == () for ask in asks)


def test_the_last_turn_alone() -> None:
    (chat,) = build_turn_requests(TALK, "last", Sampling(), is_chat=True)
    assert [one.role for one in chat.prompt if isinstance(one, Message)] == [
        "system", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    (text,) = build_turn_requests(TALK, "last", Sampling(), is_chat=False)
    assert text.prompt == "Be brief.\n\nHi\n\nHello\n\nAnd?\n\nWell\n\nBye"


def test_a_right_answer_that_is_missing_cannot_stand_before_the_next_turn() -> None:
    with pytest.raises(UnreadableTurns, match="turn 1"):
        build_turn_requests(read_conversation(["Hi", "And?"]), "last", Sampling(), is_chat=True)
