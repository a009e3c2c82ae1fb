"""From a prompt to the one text that is encoded: plain text as it is, messages through the model's template.

The template is the model's own, with all it adds. SmolLM2's, for example, puts a default system message in
front when the conversation has none; that is how the model was trained, so it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from assay.backends.chat_template import ChatTemplate, ChatTemplateLimit
from assay.core.media import Part, Text
from assay.core.prompt import Message, Prompt, media_of

CACHED_RENDERINGS = 4096
"""Options of one question share their conversation: it is rendered once."""


class TemplateTrouble(Exception):
    """A conversation cannot be shown to this model; the message says why."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt as one text."""

    text: str
    final_at: int
    """Where the prompt's final text begins: 0 in plain text, the beginning of the reply in a conversation."""
    is_templated: bool
    """Whether the text comes from a chat template, and so holds its special tokens already."""


class Renderer:
    """Renders prompts for one tokenizer."""

    def __init__(self, tokenizer: Any, *, in_parts: bool = False, with_media: bool = False) -> None:
        """Say how the template takes messages, as texts or as lists of parts, and whether media may be there.

        Templates of models that take media look for parts, and lose a plain text.
        """
        self._tokenizer = tokenizer
        self._template = ChatTemplate(tokenizer)
        self._in_parts = in_parts
        self._with_media = with_media
        self._opened = lru_cache(CACHED_RENDERINGS)(self._open)

    def render(self, prompt: Prompt) -> Rendered:
        """Return a prompt as text; raise TemplateTrouble when the template refuses it."""
        if isinstance(prompt, str):
            return Rendered(prompt, 0, is_templated=False)
        if not self._with_media and (media := media_of(prompt)):
            raise TemplateTrouble(f"the model cannot be shown {', '.join(sorted(media))} here")
        if not prompt:
            raise TemplateTrouble("the conversation has no messages")
        if prompt[-1].role != "assistant":
            text = self._opened(prompt)
            return Rendered(text, len(text), is_templated=True)
        opened = self._opened(prompt[:-1])
        return Rendered(opened + prompt[-1].text, len(opened), is_templated=True)

    def _open(self, messages: tuple[Message, ...]) -> str:
        """Return the conversation up to where the model begins to speak."""
        if not self._tokenizer.chat_template:
            raise TemplateTrouble("the model has no chat template; ask it with plain text")
        try:
            text = self._template.render(_parts(messages) if self._in_parts else _plain(messages))
        except ChatTemplateLimit as limit:
            raise TemplateTrouble(f"the model's chat template runs away: {limit}") from limit
        except Exception as trouble:  # A template is a program of its own and may raise anything.
            raise TemplateTrouble(
                f"the model's chat template refuses roles {[m.role for m in messages]}: {trouble}"
            ) from trouble
        if self._in_parts:
            _check_whole(messages, text)
        return text


def _check_whole(messages: Sequence[Message], text: str) -> None:
    """Raise when a template lost what the user says: it looks for another form of message."""
    for message in messages:
        texts = [part.text.strip() for part in _content(message) if isinstance(part, Text)]
        if message.role == "user" and any(said not in text for said in texts):
            raise TemplateTrouble("the model's chat template leaves out text of the user")


def _parts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as templates of models that take media expect them."""
    return [
        {"role": message.role, "content": [_part(part) for part in _content(message)]} for message in messages
    ]


def _content(message: Message) -> tuple[Part, ...]:
    return (Text(message.content),) if isinstance(message.content, str) else message.content


def _part(part: Part) -> dict[str, str]:
    return {"type": "text", "text": part.text} if isinstance(part, Text) else {"type": str(part.medium)}


def _plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.text} for message in messages]
