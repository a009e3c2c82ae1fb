from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from assay.backends.python.signature import read_signature


def prompt(text: str) -> str:
    return text


def prompts(texts: Sequence[str]) -> list[str]:
    return list(texts)


def messages(chat: list[dict[str, Any]]) -> str:
    return str(chat)


def conversations(chats: list[list[dict[str, Any]]]) -> list[str]:
    return [str(one) for one in chats]


def named_messages(messages: Any) -> str:
    return str(messages)


def named_prompts(prompts) -> Any:  # type: ignore[no-untyped-def]
    return prompts


@pytest.mark.parametrize(
    ("function", "takes"),
    [
        (prompt, "prompt"),
        (prompts, "prompts"),
        (messages, "messages"),
        (conversations, "conversations"),
        (named_messages, "messages"),
        (named_prompts, "prompts"),
        (lambda anything: "", "prompt"),
        (str.upper, "prompt"),
    ],
)
def test_the_signature_says_what_a_function_takes(function: Any, takes: str) -> None:
    assert read_signature("f", function, None).takes == takes


def test_the_caller_may_say_it() -> None:
    assert read_signature("f", prompt, "conversations").takes == "conversations"
