from __future__ import annotations

import pytest

from assay.core.prompt import AFTER_TURN, Message, append_turn


@pytest.mark.parametrize(
    ("prompt", "answer", "joined"),
    [
        ("Question:", "Paris", "Question: Paris"),
        ("Question:", " Paris", "Question: Paris"),
        ("Question: ", "Paris", "Question: Paris"),
        ("Question:\n", "Paris", "Question:\nParis"),
        ("", "Paris", "Paris"),
        ("Question:", "", "Question: "),
    ],
)
def test_a_plain_conversation_has_one_space_before_each_answer(prompt: str, answer: str, joined: str) -> None:
    assert append_turn(prompt, answer, "And then?") == f"{joined}{AFTER_TURN}And then?"


def test_a_conversation_in_messages_keeps_the_answer_as_it_is() -> None:
    begun = (Message("user", "Question"),)
    assert append_turn(begun, " Paris ", "And then?") == (
        *begun,
        Message("assistant", " Paris "),
        Message("user", "And then?"),
    )
