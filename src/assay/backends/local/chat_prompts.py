"""From a prompt to the one text that is encoded: plain text as it is, messages through the model's template.

The template is the model's own, with all it adds. SmolLM2's, for example, puts a default system message in
front when the conversation has none; that is how the model was trained, so it stays.

A reply that is begun or scored follows what the template itself writes before a reply, not what it writes to
ask for one: Mistral's templates set a reply off by a space, and those of reasoning models open a block of
reasoning for the model to fill, inside which no answer belongs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import msgspec

from assay.backends.local.chat_template import BoundedTemplate, ChatTemplate, ChatTemplateLimit
from assay.core.bounded_jinja import JinjaFailure
from assay.core.media import Part, Text
from assay.core.prompt import Message, Prompt, find_media

CACHED_RENDERINGS = 4096
"""Options of one question share their conversation: it is rendered once."""


_SYSTEM, _QUESTION, _REPLY = "assaysystem", "assayquestion", "assayreply"
"""Texts of messages that show what a template writes around them."""
_PROBES = (
    (Message("user", _QUESTION),),
    (Message("system", _SYSTEM), Message("user", _QUESTION)),
    (Message("user", _QUESTION), Message("assistant", _REPLY), Message("user", _QUESTION)),
)

_WITHOUT_REASONING = {"enable_thinking": False, "thinking": False}
"""What templates call the switch that has them close the block of reasoning."""

_INSIDE_REASONING = (
    "the model's chat template opens a block of reasoning ({}) before the reply and cannot close it, so that "
    "an answer would be scored inside the reasoning; use --method gen or --chat off, or give a template that "
    "closes the block: --model-arg chat_template=FILE"
)

_REASONING = r"think(?:ing)?|thought|reasoning"
_OPENS = re.compile(rf"[<\[◁]\|?(?:\w+:)?(?:start_|begin_of_)?(?:{_REASONING})\|?[>\]▷]", re.IGNORECASE)
_CLOSES = re.compile(
    rf"[<\[◁](?:/(?:\w+:)?(?:{_REASONING})|\|?(?:end_|end_of_)(?:{_REASONING})\|?)[>\]▷]", re.IGNORECASE
)


class TemplateTrouble(Exception):
    """A conversation cannot be shown to this model; the message says why."""


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A prompt as one text."""

    text: str
    final_at: int
    """Where the prompt's final text begins: 0 in plain text, the beginning of the reply in a conversation."""
    is_templated: bool
    """Whether the text comes from a chat template, and so holds its special tokens already."""


class _ReplyOpening(NamedTuple):
    """What a template writes between a question and the reply to it."""

    asked: str
    """Where it asks the model for a reply."""
    given: str
    """Where it shows a reply that is given."""

    @property
    def for_labels(self) -> str:
        """Return what the first token of a reply follows: a space that sets the reply off is part of it."""
        return self.asked if self.asked.rstrip(" ") == self.given.rstrip(" ") else self.given


def find_template_failure(source: str, *, in_parts: bool = False) -> JinjaFailure | None:
    """Return why a template can show no conversation, found without its tokenizer; None where it can.

    It does not parse, or runs away on a conversation such as any dataset has. What a template raises is left
    to the conversations themselves: many templates take some roles and reject others.
    """
    try:
        template = BoundedTemplate(source)
    except JinjaFailure as failure:
        return failure
    for messages in _PROBES:
        shown = _to_part_messages(messages) if in_parts else _to_text_messages(messages)
        try:
            template.render(shown, {"add_generation_prompt": True}, {})
        except JinjaFailure as failure:
            if failure.is_limit:
                return failure
    return None


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
        self.has_moved_system = False
        """Whether a system message was put before the user's, as the template has no system role."""

    def render(self, prompt: Prompt, *, is_scored: bool = False) -> RenderedPrompt:
        """Return a prompt as text; raise TemplateTrouble when the template refuses it.

        `is_scored`: whether the reply, or what follows it, is scored rather than written by the model.
        """
        if isinstance(prompt, str):
            return RenderedPrompt(prompt, 0, is_templated=False)
        if not self._with_media and (media := find_media(prompt)):
            raise TemplateTrouble(f"the model cannot be shown {', '.join(sorted(media))} here")
        if not prompt:
            raise TemplateTrouble("the conversation has no messages")
        is_begun = prompt[-1].role == "assistant"
        opened = self._opened(prompt[:-1] if is_begun else prompt)
        if is_begun or is_scored:
            reply = self._reply
            tail = reply.given if is_begun else reply.for_labels
            if is_scored and (tag := _find_open_reasoning(tail)) is not None:
                raise TemplateTrouble(_INSIDE_REASONING.format(tag))
            if opened.endswith(reply.asked):
                opened = opened[: len(opened) - len(reply.asked)] + tail
        text = opened + prompt[-1].text if is_begun else opened
        return RenderedPrompt(text, len(opened), is_templated=True)

    @cached_property
    def _reply(self) -> _ReplyOpening:
        """Return what the template writes before a reply, found by showing it one."""
        question, reply = Message("user", _QUESTION), Message("assistant", _REPLY)
        asked = self._opened((question,)).rpartition(_QUESTION)[2]
        candidates = []
        try:
            shown = self._apply_template((question, reply), add_generation_prompt=False)
        except TemplateTrouble:
            shown = ""  # The template takes no conversation that ends with a reply.
        before, found, _ = shown.rpartition(_REPLY)
        if found and _QUESTION in before:
            candidates.append(before.rpartition(_QUESTION)[2])
        without = self._apply_template((question,), add_generation_prompt=True, **_WITHOUT_REASONING)
        candidates += [without.rpartition(_QUESTION)[2], asked]
        given = next((one for one in candidates if _find_open_reasoning(one) is None), asked)
        return _ReplyOpening(asked, given)

    def _open(self, messages: tuple[Message, ...]) -> str:
        """Return the conversation up to where the model begins to speak."""
        if any(message.role == "system" for message in messages) and not self._takes_system:
            messages = _merge_system_messages(messages)
            self.has_moved_system = True
        text = self._apply_template(messages, add_generation_prompt=True)
        if self._in_parts:
            _check_whole(messages, text)
        return text

    @cached_property
    def _takes_system(self) -> bool:
        """Whether the template shows a system message, rather than refuse or drop it."""
        try:
            shown = self._apply_template(
                (Message("system", _SYSTEM), Message("user", _QUESTION)), add_generation_prompt=True
            )
        except TemplateTrouble:
            return False
        return _SYSTEM in shown

    def _apply_template(self, messages: Sequence[Message], **asked: bool) -> str:
        if not self._tokenizer.chat_template:
            raise TemplateTrouble("the model has no chat template; ask it with plain text")
        try:
            text = self._template.render(
                _to_part_messages(messages) if self._in_parts else _to_text_messages(messages), **asked
            )
        except ChatTemplateLimit as limit:
            raise TemplateTrouble(f"the model's chat template runs away: {limit}") from limit
        except Exception as trouble:  # A template is a program of its own and may raise anything.
            raise TemplateTrouble(
                f"the model's chat template refuses roles {[m.role for m in messages]}: {trouble}"
            ) from trouble
        return text


def _find_open_reasoning(text: str) -> str | None:
    """Return the tag of a block of reasoning that a text leaves open."""
    opened = list(_OPENS.finditer(text))
    closed = [match.end() for match in _CLOSES.finditer(text)]
    return opened[-1][0] if opened and (not closed or closed[-1] <= opened[-1].start()) else None


def _merge_system_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation in which the user says what the system would, before anything else."""
    made: list[Message] = []
    for message in messages:
        if message.role == "system":
            message = msgspec.structs.replace(message, role="user")
        if made and made[-1].role == message.role == "user":
            made[-1] = Message("user", _join_content(made[-1].content, message.content))
        else:
            made.append(message)
    return tuple(made)


def _join_content(first: str | tuple[Part, ...], second: str | tuple[Part, ...]) -> str | tuple[Part, ...]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n{second}"
    before = (Text(f"{first}\n"),) if isinstance(first, str) else first
    return (*before, *((Text(second),) if isinstance(second, str) else second))


def _check_whole(messages: Sequence[Message], text: str) -> None:
    """Raise when a template lost what the user says: it looks for another form of message."""
    for message in messages:
        texts = [part.text.strip() for part in _content(message) if isinstance(part, Text)]
        if message.role == "user" and any(said not in text for said in texts):
            raise TemplateTrouble("the model's chat template leaves out text of the user")


def _to_part_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as templates of models that take media expect them."""
    return [
        {"role": message.role, "content": [_part(part) for part in _content(message)]} for message in messages
    ]


def _content(message: Message) -> tuple[Part, ...]:
    return (Text(message.content),) if isinstance(message.content, str) else message.content


def _part(part: Part) -> dict[str, str]:
    return {"type": "text", "text": part.text} if isinstance(part, Text) else {"type": str(part.medium)}


def _to_text_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.text} for message in messages]
