"""What a model is shown: plain text, or a conversation, whose messages may hold more than text."""

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
    """Its text; or text and media, in the order in which the model is shown them."""

    @property
    def text(self) -> str:
        """Return its text alone."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def shown(self) -> str:
        """Return it as a person reads it: each medium by its name, on a line of its own."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text if isinstance(part, Text) else str(part) for part in self.content)

    @property
    def media(self) -> tuple[AnyMedia, ...]:
        """Return what it holds beside text."""
        if isinstance(self.content, str):
            return ()
        return tuple(part for part in self.content if not isinstance(part, Text))


Prompt: TypeAlias = str | tuple[Message, ...]
"""Text is read as it is. Messages go through the model's own chat template; a final assistant
message is the beginning of the reply, which the model continues."""

_NO_MEDIA: frozenset[Medium] = frozenset()

AFTER_TURN = "\n\n"
"""What parts the turns of a plain text."""


def count_chars(prompt: Prompt) -> int:
    """Return the characters of a prompt, media in base64 included: how large it is before it is tokens."""
    if isinstance(prompt, str):
        return len(prompt)
    return sum(len(m.text) + sum(len(part.data) for part in m.media) for m in prompt)


def final_text(prompt: Prompt) -> str:
    """Return the text that a continuation follows: the text itself, or the last message's last text."""
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
    """Return the prompt after the model has answered it and the user has said something more."""
    if isinstance(prompt, str):
        space = "" if not prompt or prompt[-1].isspace() or answer[:1].isspace() else " "
        return f"{prompt}{space}{answer}{AFTER_TURN}{turn}"
    return (*prompt, Message("assistant", answer), Message("user", turn))


def find_media(prompt: Prompt) -> frozenset[Medium]:
    """Return the kinds of media that a prompt holds."""
    if isinstance(prompt, str):
        return _NO_MEDIA
    return frozenset(part.medium for message in prompt for part in message.media)


def canonicalize_prompt(prompt: Prompt) -> Prompt:
    """Return a prompt as it decides an answer: its media by what is in them, wherever they lie."""
    return _map_media(prompt, lambda part: part.content())


def strip_media_data(prompt: Prompt) -> Prompt:
    """Return a prompt as it is stored: media that the dataset holds in base64 by their hash and size."""
    return _map_media(prompt, _strip_data)


def _strip_data(part: AnyMedia) -> AnyMedia:
    return msgspec.structs.replace(part, data="") if part.data else part


def _map_media(prompt: Prompt, change: Callable[[AnyMedia], AnyMedia]) -> Prompt:
    """Return a prompt with its media changed; one of text alone is the same object."""
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
