"""Conversations of several turns: what the user says, and what should be answered, in any of the forms that
configs write them in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from assay.core.prompt import Message, Prompt, Role
from assay.core.request import Generate, Sampling
from assay.dialects.openicl.inferencing import TurnMode

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "SYSTEM": "system",
    "user": "user",
    "HUMAN": "user",
    "human": "user",
    "assistant": "assistant",
    "BOT": "assistant",
    "gpt": "assistant",
}
_AFTER_TURN = "\n\n"


class UnreadableTurns(ValueError):
    """A row that holds no conversation."""


class RowConversation(NamedTuple):
    """What is said in a row."""

    system: tuple[str, ...]
    users: tuple[str, ...]
    references: tuple[str | None, ...]
    """What should be answered to each, where the dataset says it."""


def read_conversation(value: Any) -> RowConversation:
    """Read a column: one text, several texts one for each turn, or messages with roles."""
    if isinstance(value, str):
        return RowConversation((), (value,), (None,))
    if not isinstance(value, Sequence) or not value:
        raise UnreadableTurns(f"found {value!r:.80}, expected a text, several texts, or messages with roles")
    if all(isinstance(one, str) for one in value):
        return RowConversation((), tuple(value), (None,) * len(value))
    messages = [_message(one) for one in value]
    users = [at for at, (role, _) in enumerate(messages) if role == "user"]
    if not users:
        raise UnreadableTurns("no message is the user's")
    answers = [
        messages[at + 1][1] if at + 1 < len(messages) and messages[at + 1][0] == "assistant" else None
        for at in users
    ]
    system = tuple(text for role, text in messages if role == "system")
    return RowConversation(system, tuple(messages[at][1] for at in users), tuple(answers))


def _message(value: Any) -> tuple[Role, str]:
    role = value.get("role", value.get("from")) if isinstance(value, Mapping) else None
    text = value.get("content", value.get("value", value.get("prompt"))) if isinstance(value, Mapping) else ""
    if role not in _ROLES or not isinstance(text, str):
        raise UnreadableTurns(f"found the message {value!r:.80}, expected a 'role' and a 'content'")
    return _ROLES[cast(str, role)], text


def build_turn_requests(
    said: RowConversation, mode: TurnMode, sampling: Sampling, *, is_chat: bool
) -> list[Generate]:
    """Return what the model is asked: all turns in one conversation, or each by itself.

    `every`: the model's own answers stand before a turn. `every_with_gt`: one ask for each turn, before which
    the right answers stand. `last`: the last turn alone, after the right answers.
    """
    if mode == "every":
        return [Generate(_prompt(said, 0, is_chat), sampling, tuple(said.users[1:]))]
    wanted = range(len(said.users)) if mode == "every_with_gt" else [len(said.users) - 1]
    return [Generate(_prompt(said, turn, is_chat), sampling) for turn in wanted]


def _prompt(said: RowConversation, turn: int, is_chat: bool) -> Prompt:
    """Return the prompt for one turn: what stands before it with its right answers."""
    messages = [Message("system", text) for text in said.system]
    for number in range(turn):
        reference = said.references[number]
        if reference is None:
            raise UnreadableTurns(f"turn {number + 1} has no right answer, which would stand before the next")
        messages += [Message("user", said.users[number]), Message("assistant", reference)]
    messages.append(Message("user", said.users[turn]))
    return tuple(messages) if is_chat else _AFTER_TURN.join(message.text for message in messages)
