"""Rendering of dialogue lines: one text for models that read text, messages for chat models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from assay.core.prompt import Message, Prompt, final_text
from assay.dialects.openicl.templates.dialogue_turns import DialogueLine, DialogueWalker, MetaTurn
from assay.dialects.openicl.templates.meta import (
    CHAT_META_TEMPLATE,
    CHAT_ROLES,
    OPENCOMPASS_LOCAL_CHAT,
    MetaTemplate,
)
from assay.dialects.shared.template import TemplateFailure


class RenderOptions(NamedTuple):
    """Properties of the model that affect rendering."""

    is_chat: bool
    """Whether it receives chat messages."""
    meta: MetaTemplate | None = None
    """The meta template of its config, or None."""
    is_faithful: bool = False
    """Whether prompts equal the original's, including its mistakes."""
    local_chat: MetaTemplate = OPENCOMPASS_LOCAL_CHAT
    """The original's default for local chat models; the two originals differ."""
    joins_turns: bool = False
    """Whether the original sends all turns to a chat service as one text, like OpenCompass without a meta
    template."""


class RenderedPrompt(NamedTuple):
    """A prompt, and the positions of the template's items in its final text."""

    prompt: Prompt
    places: dict[int, int]

    def place_of(self, item: int) -> int | None:
        """Return the position of an item, or of what follows it; None if not in the final text."""
        return min((place for one, place in self.places.items() if one >= item), default=None)


class Renderer:
    """Renders dialogues for one model."""

    def __init__(self, rendering: RenderOptions) -> None:
        self._is_chat, self._meta, self._is_faithful, local_chat, joins_turns = rendering
        self._is_one_message = self._is_chat and self._is_faithful and joins_turns and self._meta is None
        # A meta template of messages does not define roles.
        meta = None if self._meta is not None and self._meta.messages else self._meta
        if self._is_chat and meta is None and not self._is_one_message:
            meta = local_chat if self._is_faithful else CHAT_META_TEMPLATE
        self._skips_empty = not self._is_faithful or self._meta is None
        self._roles = meta
        self._walk = meta and DialogueWalker(meta, is_chat=self._is_chat, is_faithful=self._is_faithful)

    def show(self, lines: Sequence[DialogueLine], *, is_generation: bool) -> RenderedPrompt:
        """Render lines, either for generation or including the answer."""
        if self._walk is None or self._roles is None:
            shown = self.show_plain(lines)
            if not self._is_one_message:
                return shown
            return RenderedPrompt((Message("user", final_text(shown.prompt)),), shown.places)
        turns = self._walk.turns(lines, is_generation=is_generation)
        return self._messages(turns) if self._is_chat else _render_text(turns, self._roles)

    def show_plain(self, lines: Iterable[DialogueLine]) -> RenderedPrompt:
        """Render non-empty lines as text without roles, one per line."""
        chunks: list[str] = []
        places: dict[int, int] = {}
        length = 0
        is_first = True
        for line in lines:
            if line.text:
                joint = "" if is_first else "\n"
                places[line.item] = length + len(joint)
                chunks += [joint, line.text]
                length += len(joint) + len(line.text)
            # In the original an empty first line leaves its line break.
            is_first = is_first and not (line.text or self._is_faithful)
        return RenderedPrompt("".join(chunks), places)

    def show_text(self, text: str, *, is_generation: bool) -> Prompt:
        """Render a text without roles; for a chat model, it is a user message."""
        return self.merge_messages((Message("user", text),)) if self._is_chat and is_generation else text

    def merge_messages(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Merge messages with those of the model's meta template, if it has any."""
        return merge_messages(self._meta.messages, messages) if self._meta else messages

    def _messages(self, turns: Iterable[MetaTurn]) -> RenderedPrompt:
        pending: list[_PendingMessage] = []
        for turn in turns:
            if turn.is_open:
                break
            line = self._build_message(turn)
            if line is not None:
                _append_message(pending, line)
        if self._skips_empty:
            kept: list[_PendingMessage] = []
            for line in pending:
                if line.text:
                    _append_message(kept, line)
            pending = kept
        opening = self._meta.opening if self._meta else None
        messages = tuple(Message(CHAT_ROLES[one.api_role], one.text) for one in pending)
        messages = self.merge_messages((opening, *messages) if opening else messages)
        if not messages:
            raise TemplateFailure("the prompt is empty")
        return RenderedPrompt(messages, pending[-1].places if pending else {})

    def _build_message(self, turn: MetaTurn) -> _PendingMessage | None:
        """Return the chat message of a turn; None if it is empty."""
        if turn.role is None:
            if self._is_faithful or not turn.text.strip():
                return None
            return _PendingMessage("HUMAN", turn.text, {turn.item: 0})
        if not turn.is_said and not self._is_faithful:
            return None
        role = turn.role
        text = f"{role.begin}{turn.text}{role.end}"
        if not text and not self._is_faithful:
            return None
        return _PendingMessage(role.api_role, text, {turn.item: len(role.begin)})


class _PendingMessage(NamedTuple):
    """An unfinished message, and the positions of the template's items in it."""

    api_role: str
    text: str
    places: dict[int, int]


def _append_message(given: list[_PendingMessage], saying: _PendingMessage) -> None:
    """Append a message; merge adjacent messages of one role."""
    if not given or given[-1].api_role != saying.api_role:
        given.append(saying)
        return
    _, text, places = given[-1]
    moved = {item: place + len(text) + 1 for item, place in saying.places.items()}
    given[-1] = _PendingMessage(saying.api_role, f"{text}\n{saying.text}", {**moved, **places})


def _render_text(turns: Iterable[MetaTurn], meta: MetaTemplate) -> RenderedPrompt:
    chunks = [meta.begin]
    places: dict[int, int] = {}
    length = len(meta.begin)
    is_open = False
    for turn in turns:
        is_open = turn.is_open
        parts = (turn.text,) if turn.role is None else (turn.role.begin, turn.text, turn.role.end)
        places[turn.item] = length + (0 if turn.role is None else len(turn.role.begin))
        chunks += parts[:1] if is_open else parts
        length += sum(map(len, parts))
    if not is_open:
        chunks.append(meta.end)
    return RenderedPrompt("".join(chunks), places)


def merge_messages(given: Sequence[Message], prompt: Sequence[Message]) -> tuple[Message, ...]:
    """Merge a model's own messages into a prompt: before the next message of the same role, else between."""
    return tuple(_merge_in_order(list(given), list(prompt)))


def _merge_in_order(given: list[Message], prompt: list[Message]) -> Iterator[Message]:
    while given:
        role = given[0].role
        if not any(message.role == role for message in prompt):
            yield given.pop(0)
        elif prompt[0].role == role:
            yield Message(role, given.pop(0).text + prompt.pop(0).text)
        else:
            yield prompt.pop(0)
    yield from prompt


def find_white_space_start(prompt: Prompt, start: int) -> int:
    """Return the start of the white space before a position in the final text; it belongs to the answer."""
    return len(final_text(prompt)[:start].rstrip())
