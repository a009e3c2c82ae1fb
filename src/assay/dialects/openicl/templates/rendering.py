"""From lines to a prompt: one text for models that read text, messages for models that chat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from assay.core.prompt import Message, Prompt, final_text
from assay.dialects.openicl.templates.dialogue_line import DialogueLine
from assay.dialects.openicl.templates.dialogue_turns import DialogueWalker, MetaTurn
from assay.dialects.openicl.templates.meta import (
    CHAT_META_TEMPLATE,
    CHAT_ROLES,
    OPENCOMPASS_LOCAL_CHAT,
    MetaTemplate,
)
from assay.dialects.shared.template import TemplateFailure


class RenderOptions(NamedTuple):
    """What is known of the model that is asked."""

    is_chat: bool
    """Whether it is spoken to in messages."""
    meta: MetaTemplate | None = None
    """What its config says of roles; None: nothing."""
    is_faithful: bool = False
    """Whether prompts are the original's, its mistakes included."""
    local_chat: MetaTemplate = OPENCOMPASS_LOCAL_CHAT
    """How the original speaks to a chat model that runs locally; the two originals differ."""
    joins_turns: bool = False
    """Whether the original sends the turns to a chat service as one text, as OpenCompass does without a meta
    template."""


class RenderedPrompt(NamedTuple):
    """A prompt, and where in its final text the items of the template begin."""

    prompt: Prompt
    places: dict[int, int]

    def place_of(self, item: int) -> int | None:
        """Return where an item begins, or what follows it; None: not in the final text."""
        return min((place for one, place in self.places.items() if one >= item), default=None)


class Renderer:
    """Shows dialogues to one model."""

    def __init__(self, rendering: RenderOptions) -> None:
        self._is_chat, self._meta, self._is_faithful, local_chat, joins_turns = rendering
        self._is_one_message = self._is_chat and self._is_faithful and joins_turns and self._meta is None
        # Messages of a meta template say nothing of roles.
        meta = None if self._meta is not None and self._meta.messages else self._meta
        if self._is_chat and meta is None and not self._is_one_message:
            meta = local_chat if self._is_faithful else CHAT_META_TEMPLATE
        self._skips_empty = not self._is_faithful or self._meta is None
        self._roles = meta
        self._walk = meta and DialogueWalker(meta, is_chat=self._is_chat, is_faithful=self._is_faithful)

    def show(self, lines: Sequence[DialogueLine], *, is_generation: bool) -> RenderedPrompt:
        """Show lines to the model, to go on from or with the answer in them."""
        if self._walk is None or self._roles is None:
            shown = self.show_plain(lines)
            if not self._is_one_message:
                return shown
            return RenderedPrompt((Message("user", final_text(shown.prompt)),), shown.places)
        turns = self._walk.turns(lines, is_generation=is_generation)
        return self._messages(turns) if self._is_chat else _render_text(turns, self._roles)

    def show_plain(self, lines: Iterable[DialogueLine]) -> RenderedPrompt:
        """Show lines as text without roles: those that say something, one below the other."""
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
            # In the original a first line without text leaves its line break.
            is_first = is_first and not (line.text or self._is_faithful)
        return RenderedPrompt("".join(chunks), places)

    def show_text(self, text: str, *, is_generation: bool) -> Prompt:
        """Show a text that has no roles; a model that chats is told it by the user."""
        return self.merged((Message("user", text),)) if self._is_chat and is_generation else text

    def merged(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Merge messages with those of the model's meta template, if it has any."""
        return merge_messages(self._meta.messages, messages) if self._meta else messages

    def _messages(self, turns: Iterable[MetaTurn]) -> RenderedPrompt:
        said: list[_PendingMessage] = []
        for turn in turns:
            if turn.is_open:
                break
            saying = self._build_message(turn)
            if saying is not None:
                _append_message(said, saying)
        if self._skips_empty:
            kept: list[_PendingMessage] = []
            for saying in said:
                if saying.text:
                    _append_message(kept, saying)
            said = kept
        opening = self._meta.opening if self._meta else None
        messages = tuple(Message(CHAT_ROLES[one.api_role], one.text) for one in said)
        messages = self.merged((opening, *messages) if opening else messages)
        if not messages:
            raise TemplateFailure("the prompt says nothing")
        return RenderedPrompt(messages, said[-1].places if said else {})

    def _build_message(self, turn: MetaTurn) -> _PendingMessage | None:
        """Return what a turn says in a chat; None: nothing."""
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
    """A message in the making, and where in it the items of the template begin."""

    api_role: str
    text: str
    places: dict[int, int]


def _append_message(said: list[_PendingMessage], saying: _PendingMessage) -> None:
    """Append what is said; neighbours of one role become one."""
    if not said or said[-1].api_role != saying.api_role:
        said.append(saying)
        return
    _, text, places = said[-1]
    moved = {item: place + len(text) + 1 for item, place in saying.places.items()}
    said[-1] = _PendingMessage(saying.api_role, f"{text}\n{saying.text}", {**moved, **places})


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
    """Merge a model's own messages into a prompt's: before the next one of the same role, else between."""
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
    """Return the place in the final text where the white space before a place begins: it is the answer's."""
    return len(final_text(prompt)[:start].rstrip())
