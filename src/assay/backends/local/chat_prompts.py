"""Renders a prompt to the text that is encoded: plain text unchanged, messages through the chat template.

The template is the model's own, with everything it adds. SmolLM2's, for example, adds a default system
message to conversations without one. The model was trained this way, so it is kept.

A reply that is begun or scored follows what the template writes before a given reply, not what it writes to
request one. Mistral's templates separate a reply with a space, and those of reasoning models open a reasoning
block for the model to fill, in which no answer belongs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import msgspec

from assay.backends.local.chat_template import BoundedTemplate, ChatTemplate, ChatTemplateLimit
from assay.backends.local.thoughts import find_open_thought
from assay.core.bounded_jinja import JinjaFailure
from assay.core.media import Part, Text
from assay.core.prompt import Message, Prompt, find_media

CACHED_RENDERINGS = 4096
"""The options of a question share their conversation, which is rendered once."""


_SYSTEM, _QUESTION, _REPLY = "assaysystem", "assayquestion", "assayreply"
"""Message texts that show what a template writes around them."""
_PROBES = (
    (Message("user", _QUESTION),),
    (Message("system", _SYSTEM), Message("user", _QUESTION)),
    (Message("user", _QUESTION), Message("assistant", _REPLY), Message("user", _QUESTION)),
)

_WITHOUT_REASONING = {"enable_thinking": False, "thinking": False}
"""Names of the template variable that closes the reasoning block."""

_INSIDE_REASONING = (
    "the model's chat template opens a reasoning block ({}) before the reply and cannot close it, so an "
    "answer would be scored inside the reasoning; use --method gen or --chat off, or a template that closes "
    "the block: --model-arg chat_template=FILE"
)


class TemplateTrouble(Exception):
    """The template cannot render a conversation; the message says why."""


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A prompt as one text."""

    text: str
    final_at: int
    """Start of the prompt's final text: 0 in plain text, the start of the reply in a conversation."""
    is_templated: bool
    """Whether the text comes from a chat template, and so already contains its special tokens."""


class _ReplyOpening(NamedTuple):
    """What a template writes between a question and its reply."""

    before_model_reply: str
    """When it requests a reply from the model."""
    before_given_reply: str
    """When it renders a given reply."""

    @property
    def for_labels(self) -> str:
        """Return the text before the first token of a reply, including a space that separates the reply."""
        return (
            self.before_model_reply
            if self.before_model_reply.rstrip(" ") == self.before_given_reply.rstrip(" ")
            else self.before_given_reply
        )


def find_template_failure(source: str, *, in_parts: bool = False) -> JinjaFailure | None:
    """Return why a template can render no conversation, without its tokenizer; None if it can.

    The template does not parse, or does not end for a usual conversation. Other errors that it raises are
    left to the conversations: many templates accept some roles and reject others.
    """
    try:
        template = BoundedTemplate(source)
    except JinjaFailure as failure:
        return failure
    for messages in _PROBES:
        converted = _to_part_messages(messages) if in_parts else _to_text_messages(messages)
        try:
            template.render(converted, {"add_generation_prompt": True}, {})
        except JinjaFailure as failure:
            if failure.is_limit:
                return failure
    return None


class Renderer:
    """Renders prompts for one tokenizer."""

    def __init__(
        self,
        tokenizer: Any,
        *,
        in_parts: bool = False,
        with_media: bool = False,
        variables: Mapping[str, Any] | None = None,
    ) -> None:
        """Set the form of messages, as texts or as lists of parts, and whether media are allowed.

        Templates of models that accept media expect parts, and lose a plain text. `variables`: further
        variables of the template, such as `enable_thinking`.
        """
        self._variables = variables or {}
        self._tokenizer = tokenizer
        self._template = ChatTemplate(tokenizer)
        self._in_parts = in_parts
        self._with_media = with_media
        self._open_cached = lru_cache(CACHED_RENDERINGS)(self._open)
        self.has_moved_system = False
        """Whether a system message was merged into the user's, because the template has no system role."""

    def render(self, prompt: Prompt, *, is_scored: bool = False) -> RenderedPrompt:
        """Return a prompt as text; raise TemplateTrouble if the template rejects it.

        `is_scored`: whether the reply, or what follows it, is scored instead of generated.
        """
        if isinstance(prompt, str):
            return RenderedPrompt(prompt, 0, is_templated=False)
        if not self._with_media and (media := find_media(prompt)):
            raise TemplateTrouble(f"the model does not accept {', '.join(sorted(media))} here")
        if not prompt:
            raise TemplateTrouble("the conversation has no messages")
        is_begun = prompt[-1].role == "assistant"
        opened = self._open_cached(prompt[:-1] if is_begun else prompt)
        if is_begun or is_scored:
            reply = self._reply
            tail = reply.before_given_reply if is_begun else reply.for_labels
            if is_scored and (tag := find_open_thought(tail)) is not None:
                raise TemplateTrouble(_INSIDE_REASONING.format(tag))
            if opened.endswith(reply.before_model_reply):
                opened = opened[: len(opened) - len(reply.before_model_reply)] + tail
        text = opened + prompt[-1].text if is_begun else opened
        return RenderedPrompt(text, len(opened), is_templated=True)

    @cached_property
    def _reply(self) -> _ReplyOpening:
        """Return what the template writes before a reply, found by rendering one."""
        question, reply = Message("user", _QUESTION), Message("assistant", _REPLY)
        asked = self._open_cached((question,)).rpartition(_QUESTION)[2]
        candidates = []
        try:
            rendered = self._apply_template((question, reply), add_generation_prompt=False)
        except TemplateTrouble:
            rendered = ""  # The template rejects conversations that end with a reply.
        before, separator, _ = rendered.rpartition(_REPLY)
        if separator and _QUESTION in before:
            candidates.append(before.rpartition(_QUESTION)[2])
        without = self._apply_template((question,), add_generation_prompt=True, **_WITHOUT_REASONING)
        candidates += [without.rpartition(_QUESTION)[2], asked]
        given = next((opening for opening in candidates if find_open_thought(opening) is None), asked)
        return _ReplyOpening(asked, given)

    def _open(self, messages: tuple[Message, ...]) -> str:
        """Return the conversation up to the start of the model's reply."""
        if any(message.role == "system" for message in messages) and not self._takes_system:
            messages = _merge_system_messages(messages)
            self.has_moved_system = True
        text = self._apply_template(messages, add_generation_prompt=True)
        if self._in_parts:
            _check_whole(messages, text)
        return text

    @cached_property
    def _takes_system(self) -> bool:
        """Return whether the template renders a system message, instead of rejecting or dropping it."""
        try:
            rendered = self._apply_template(
                (Message("system", _SYSTEM), Message("user", _QUESTION)), add_generation_prompt=True
            )
        except TemplateTrouble:
            return False
        return _SYSTEM in rendered

    def _apply_template(self, messages: Sequence[Message], **switches: Any) -> str:
        if not self._tokenizer.chat_template:
            raise TemplateTrouble("the model has no chat template; use plain text: --chat off")
        try:
            text = self._template.render(
                _to_part_messages(messages) if self._in_parts else _to_text_messages(messages),
                **{**self._variables, **switches},
            )
        except ChatTemplateLimit as limit:
            raise TemplateTrouble(f"the model's chat template exceeds its limits: {limit}") from limit
        except Exception as trouble:  # A template is a program and may raise anything.
            raise TemplateTrouble(
                f"the model's chat template rejects roles {[m.role for m in messages]}: {trouble}"
            ) from trouble
        return text


def _merge_system_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation whose system messages are merged into the user's messages."""
    merged: list[Message] = []
    for message in messages:
        if message.role == "system":
            message = msgspec.structs.replace(message, role="user")
        if merged and merged[-1].role == message.role == "user":
            merged[-1] = Message("user", _join_content(merged[-1].content, message.content))
        else:
            merged.append(message)
    return tuple(merged)


def _join_content(first: str | tuple[Part, ...], second: str | tuple[Part, ...]) -> str | tuple[Part, ...]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n{second}"
    before = (Text(f"{first}\n"),) if isinstance(first, str) else first
    return (*before, *((Text(second),) if isinstance(second, str) else second))


def _check_whole(messages: Sequence[Message], text: str) -> None:
    """Raise if a template lost a user's text because it expects another form of message."""
    for message in messages:
        texts = [part.text.strip() for part in _content(message) if isinstance(part, Text)]
        if message.role == "user" and any(part not in text for part in texts):
            raise TemplateTrouble("the model's chat template drops some of the user's text")


def _to_part_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages in the form that templates of models with media expect."""
    return [
        {"role": message.role, "content": [_part(part) for part in _content(message)]} for message in messages
    ]


def _content(message: Message) -> tuple[Part, ...]:
    return (Text(message.content),) if isinstance(message.content, str) else message.content


def _part(part: Part) -> dict[str, str]:
    return {"type": "text", "text": part.text} if isinstance(part, Text) else {"type": str(part.medium)}


def _to_text_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.text} for message in messages]
