"""Prompts: plain text, or a conversation whose messages can contain media."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from assay.core.media import AnyMedia, Medium, Part, Text

Role: TypeAlias = Literal["system", "user", "assistant"]


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation."""

    role: Role
    content: str | tuple[Part, ...]
    """Its text, or text and media in the order in which the model sees them."""

    @property
    def text(self) -> str:
        """Return only its text."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def display_text(self) -> str:
        """Return it as shown to people: each medium as a description on its own line."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text if isinstance(part, Text) else str(part) for part in self.content)

    @property
    def media(self) -> tuple[AnyMedia, ...]:
        """Return its media."""
        if isinstance(self.content, str):
            return ()
        return tuple(part for part in self.content if not isinstance(part, Text))


Prompt: TypeAlias = str | tuple[Message, ...]
"""A text is used as is. Messages go through the model's chat template; a final assistant message is the
beginning of the reply, which the model continues."""

_NO_MEDIA: frozenset[Medium] = frozenset()

AFTER_TURN = "\n\n"
"""The separator between turns in a plain text."""


def count_chars(prompt: Prompt) -> int:
    """Return the number of characters of a prompt, including base64 media."""
    if isinstance(prompt, str):
        return len(prompt)
    return sum(len(m.text) + sum(len(part.data) for part in m.media) for m in prompt)


def final_text(prompt: Prompt) -> str:
    """Return the text that a continuation follows: the text itself, or the last text of the last message."""
    if isinstance(prompt, str):
        return prompt
    content = prompt[-1].content
    if isinstance(content, str):
        return content
    last = content[-1] if content else None
    return last.text if isinstance(last, Text) else ""


def replace_final_text(prompt: Prompt, text: str) -> Prompt:
    """Return the prompt with its final text replaced."""
    if isinstance(prompt, str):
        return text
    content = prompt[-1].content
    if not isinstance(content, str):
        before = content[:-1] if content and isinstance(content[-1], Text) else content
        return (*prompt[:-1], Message(prompt[-1].role, (*before, Text(text)) if text else before))
    return (*prompt[:-1], msgspec.structs.replace(prompt[-1], content=text))


def append_turn(prompt: Prompt, answer: str, turn: str) -> Prompt:
    """Return the prompt with the model's answer and the user's next turn."""
    if isinstance(prompt, str):
        space = "" if not prompt or prompt[-1].isspace() or answer[:1].isspace() else " "
        return f"{prompt}{space}{answer}{AFTER_TURN}{turn}"
    return (*prompt, Message("assistant", answer), Message("user", turn))


def find_media(prompt: Prompt) -> frozenset[Medium]:
    """Return the kinds of media in a prompt."""
    if isinstance(prompt, str):
        return _NO_MEDIA
    return frozenset(part.medium for message in prompt for part in message.media)


def canonicalize_prompt(prompt: Prompt) -> Prompt:
    """Return the form of a prompt that determines the answer: media by content, not by location."""
    return _map_media(prompt, lambda part: part.content())


def strip_media_data(prompt: Prompt) -> Prompt:
    """Return a prompt as stored: base64 media of the dataset are reduced to their hash and size."""
    return _map_media(prompt, _strip_data)


def _strip_data(part: AnyMedia) -> AnyMedia:
    return msgspec.structs.replace(part, data="") if part.data else part


def _map_media(prompt: Prompt, change: Callable[[AnyMedia], AnyMedia]) -> Prompt:
    """Return a prompt with its media changed; returns the same object if it has no media."""
    if isinstance(prompt, str) or not any(message.media for message in prompt):
        return prompt
    return tuple(
        message
        if isinstance(message.content, str)
        else Message(
            message.role,
            tuple(part if isinstance(part, Text) else change(part) for part in message.content),
        )
        for message in prompt
    )
