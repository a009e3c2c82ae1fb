"""What a model is shown: plain text, or a conversation."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Role: TypeAlias = Literal["system", "user", "assistant"]


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation."""

    role: Role
    content: str


Prompt: TypeAlias = str | tuple[Message, ...]
"""Text is read as it is. Messages go through the model's own chat template; a final assistant
message is the beginning of the reply, which the model continues."""


def final_text(prompt: Prompt) -> str:
    """Return the text that a continuation follows: the text itself, or the last message's content."""
    return prompt if isinstance(prompt, str) else prompt[-1].content


def with_final_text(prompt: Prompt, text: str) -> Prompt:
    """Return the prompt with its final text replaced."""
    if isinstance(prompt, str):
        return text
    return (*prompt[:-1], msgspec.structs.replace(prompt[-1], content=text))
