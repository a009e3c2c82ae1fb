"""Conversations of rows as prompts: messages for a chat, or a text with the speakers named.

The plain form, for models without a chat template:

    System: Answer in one word.

    User: What is the capital of France?

    Assistant:
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.media import Text
from assay.core.prompt import AFTER_TURN, Message, Role
from assay.dialects.shared.dialogue import Dialogue, DialogueOpening, RoleMarks, TemplateTurn
from assay.dialects.shared.messages import to_message
from assay.dialects.shared.template import BraceTemplate, get_field
from assay.dialects.table.layout import OPTION_LIST

SPEAKERS: Mapping[Role, str] = {"system": "System", "user": "User", "assistant": "Assistant"}
CHAT_STOPS = ("\nUser:", "\nSystem:")
"""Where a model that continues a text begins the next turn by itself."""


class ChatDialogue(Dialogue):
    """The conversation that a row holds, up to the reply; options are listed behind its last turn."""

    def __init__(
        self, column: str, answer_field: str, roots: Sequence[Path], marks: RoleMarks | None, *, options: bool
    ) -> None:
        shown = f"{{{column}}}{{{OPTION_LIST}}}" if options else f"{{{column}}}"
        super().__init__([TemplateTurn("user", BraceTemplate(shown))], answer_field, marks)
        self._column = column
        self._roots = tuple(roots)
        self._shows_options = options

    def opening(
        self, values: Mapping[str, Any], shots: Sequence[Mapping[str, Any]], *, chat: bool
    ) -> DialogueOpening:
        """Return the row's conversation up to the reply; chat rows have no solved examples."""
        messages = [to_message(turn, self._roots) for turn in get_field(values, self._column)]
        if self._shows_options:
            messages[-1] = _append_text(messages[-1], f"\n{values[OPTION_LIST]}")
        if chat:
            history = tuple(messages)
            return DialogueOpening("", "", history, history, history)
        turns = [(message.role, message.shown) for message in messages]
        if self._marks is not None:
            text = self._marks.begin + self._marks.text(turns) + self._marks.reply("")
            context = text.rstrip(" ")
            return DialogueOpening(context, text[len(context) :], None, context, text)
        text = "".join(f"{SPEAKERS[role]}: {said}{AFTER_TURN}" for role, said in turns)
        text += f"{SPEAKERS['assistant']}:"
        return DialogueOpening(text, " ", None, text, text)


def _append_text(message: Message, text: str) -> Message:
    if isinstance(message.content, str):
        return Message(message.role, message.content + text)
    return msgspec.structs.replace(message, content=(*message.content, Text(text)))
