from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.dialects.llmbox.library.conversation import Conversation, Message, Method

USER, ASSISTANT, SYSTEM = "user", "assistant", "system"


def message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def shots(count: int) -> Conversation:
    pairs = (Conversation.from_chat(user=f"q{number}", assistant=f"a{number}") for number in range(count))
    conversation = Conversation.from_conversations(pairs)
    conversation.set_num_shots(count)
    return conversation


def test_one_turn() -> None:
    assert Conversation.from_chat(user="q", assistant="a").messages == [
        message(USER, "q"),
        message(ASSISTANT, "a"),
    ]
    assert Conversation.from_chat(user="", assistant="a").messages == [message(ASSISTANT, "a")]
    assert len(Conversation.from_chat()) == 0


def test_add_copies_and_starts_the_counts_again() -> None:
    first, second = shots(1), Conversation.from_chat(user="q")
    both = first.add(second)
    assert both.messages == [*first.messages, *second.messages]
    assert (first.num_shots, both.num_shots) == (1, 0)
    both[0]["content"] = both[2]["content"] = "changed"
    assert first[0]["content"] == "q0"
    assert second[0]["content"] == "q"
    assert first.add(user="x", assistant="y").messages[2:] == [message(USER, "x"), message(ASSISTANT, "y")]


def test_add_in_place_shares_messages() -> None:
    first, second = shots(1), Conversation.from_chat(user="q")
    assert first.add_(second) is first
    assert first[2] is second[0]
    assert first.add(user="more", inplace=True) is first
    assert [message["content"] for message in first] == ["q0", "a0", "q", "more"]
    assert first.num_shots == 1


@given(st.booleans(), st.integers(0, 4), st.booleans())
def test_segments_hold_every_message_once_and_in_order(system: bool, n_shots: int, target: bool) -> None:
    conversation = Conversation([message(SYSTEM, "s")] if system else None)
    conversation.add_(shots(n_shots)).add_(user="question", assistant="answer" if target else None)
    conversation.set_num_shots(n_shots)
    segments = conversation.get_segs()
    assert list(segments) == ["system", "examples", "source", "target"]
    assert [message for part in segments.values() for message in part] == conversation.messages
    assert segments["source"] == conversation.get_segs("source") == [message(USER, "question")]
    assert len(segments["examples"]) == 2 * n_shots
    assert len(segments["target"]) == target
    assert conversation.get_segs_num() == sum(bool(part) for part in segments.values())


def test_an_empty_source_leaves_the_target() -> None:
    conversation = Conversation.from_chat(user="", assistant="a sentence")
    assert conversation.get_segs("source") == []
    assert conversation.get_segs("target") == [message(ASSISTANT, "a sentence")]
    assert conversation.get_segs_num() == 1
    assert Conversation().get_segs() == {"system": [], "examples": [], "source": [], "target": []}


def test_shots_that_are_no_pairs_are_rejected() -> None:
    conversation = Conversation([message(USER, "a"), message(USER, "b"), message(USER, "c")], num_shots=1)
    with pytest.raises(ValueError, match="must alternate user and assistant messages"):
        conversation.get_segs()
    conversation = shots(2).add_(user="question")
    conversation.set_num_shots(1)
    with pytest.raises(ValueError, match="set_num_shots"):
        conversation.get_segs("source")


def test_counts() -> None:
    conversation = Conversation()
    conversation.set_num_shots(None)
    conversation.set_num_options(None)
    assert (conversation.num_shots, conversation.num_options, conversation.num_turns) == (0, 0, 1)
    conversation.set_num_options(4)
    assert conversation.num_options == 4


def test_turns_come_one_after_the_other() -> None:
    users = ["first", "second", "third"]
    conversation = shots(1)
    conversation.add_multi_turn(users=users)
    assert users == ["first", "second", "third"]
    assert conversation.num_turns == 3
    for reply in ("one", "two", "three"):
        asked = conversation.get_segs("source")
        assert [message["role"] for message in asked] == [USER]
        conversation.add_multi_turn(assistant=reply)
    assert [message["content"] for message in conversation.messages[2:]] == [
        "first",
        "one",
        "second",
        "two",
        "third",
        "three",
    ]
    assert conversation.get_generation_results() == ("one", "two", "three")


@pytest.mark.parametrize(
    "call",
    [
        lambda conversation: conversation.add_multi_turn(users=["one"]),
        lambda conversation: conversation.add_multi_turn(),
        lambda conversation: conversation.add_multi_turn(users=["a", "b"], assistant="c"),
        lambda conversation: conversation.get_generation_results(),
        lambda conversation: conversation.to_model_prompt(),
    ],
)
def test_calls_that_make_no_sense(call: Callable[[Conversation], object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        call(Conversation.from_chat(user="q"))


def test_a_missing_reply_is_not_made_up() -> None:
    conversation = Conversation()
    conversation.add_multi_turn(users=["a", "b"])
    conversation.add_multi_turn(assistant="one")
    with pytest.raises(ValueError, match="2 turns have 1 replies"):
        conversation.get_generation_results()


def test_one_reply() -> None:
    assert shots(1).add_(user="q", assistant="a").get_generation_results() == "a"


class Spelled:
    """Writes the contents of a conversation, and what it was asked."""

    def to_model_prompts(
        self,
        conversations: Sequence[Conversation],
        split: bool,
        model_evaluation_method: Method,
        max_turns: int = 1,
    ) -> Sequence[Any]:
        return [
            ("|".join(m["content"] for m in c), split, model_evaluation_method, max_turns)
            for c in conversations
        ]


def test_the_formatter_writes_the_prompt() -> None:
    conversation = shots(1).add_(user="q")
    conversation.set_formatter(Spelled(), "generation", split=True)
    assert conversation.to_model_prompt() == ("q0|a0|q", True, "generation", 1)
    assert conversation.to_model_prompt(max_turns=2) is None
    single = Conversation.from_chat(user="q")
    single.set_formatter(Spelled(), "get_prob", split=True)
    assert single.to_model_prompt() == ("q", False, "get_prob", 1)


def test_items_and_writing() -> None:
    conversation = Conversation.from_chat(user="q")
    conversation[0] = message(USER, "other")
    assert conversation[0]["content"] == "other"
    assert "other" in repr(conversation)
