"""Multi-turn conversations read from the rows of a file.

    {"conversations": [{"from": "human", "value": "..."}, {"from": "gpt", "value": "..."}]}     ShareGPT
    {"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]}
    {"question": ["...", "..."]}    {"turns": ["...", "..."]}

Responses of the model in the file are ignored: the measured model writes its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.bench.items import LoadItem
from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.core.prompt import Message

MESSAGE_COLUMNS = ("conversations", "conversation", "messages")
"""Columns that contain messages with roles."""
TURN_COLUMNS = ("turns", "question")
"""Columns that contain the user's messages, turn by turn."""
LENGTH_COLUMNS = ("max_tokens", "max_out_len")
"""Columns that contain the maximum length of a response: a number, or one for each turn."""

_COLUMNS = listing((*MESSAGE_COLUMNS, *TURN_COLUMNS))
_ROLE = ("from", "role")
_CONTENT = ("value", "content")
_USER = ("human", "user", "HUMAN")
_MODEL = ("gpt", "assistant", "bot", "chatgpt", "bing", "bard", "BOT")
_SYSTEM = ("system", "SYSTEM")


class Turns(NamedTuple):
    """The system prompt and the user's messages of a row."""

    system: str
    users: tuple[str, ...]


def is_conversation(fields: Mapping[str, Any]) -> bool:
    """Return whether a row is meant as a conversation, valid or not."""
    return any(name in fields for name in MESSAGE_COLUMNS) or any(
        isinstance(fields.get(name), list) for name in TURN_COLUMNS
    )


def build_conversation_item(item_id: str, fields: Mapping[str, Any], where: Origin) -> LoadItem | None:
    """Return the item of a row; None if it has no message of the user."""
    turns = _turns(fields, where)
    if not turns.users:
        return None
    system = (Message("system", turns.system),) if turns.system else ()
    return LoadItem(
        item_id,
        (*system, Message("user", turns.users[0])),
        max_tokens=_read_max_tokens(fields, where),
        turns=turns.users[1:],
    )


def _turns(fields: Mapping[str, Any], where: Origin) -> Turns:
    for name in MESSAGE_COLUMNS:
        if name in fields:
            return _messages(fields[name], where.at(name))
    column = next((name for name in TURN_COLUMNS if name in fields), None)
    if column is None:
        raise _build_row_error(f"found the columns {listing(fields)}, expected one of {_COLUMNS}", where)
    texts = [fields[column]] if isinstance(fields[column], str) else fields[column]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _build_row_error(f"found {texts!r:.80}, expected a list of strings", where.at(column))
    return Turns("", tuple(text for text in texts if text.strip()))


def _messages(value: Any, where: Origin) -> Turns:
    if not isinstance(value, list):
        raise _build_row_error(f"found {value!r:.80}, expected a list of messages", where)
    system, users = [], []
    for message in value:
        role, text = _get_text(message, _ROLE), _get_text(message, _CONTENT)
        if role is None or text is None:
            what = f"found {message!r:.80}, expected a message with {listing(_ROLE)} and {listing(_CONTENT)}"
            raise _build_row_error(what, where)
        if role in _SYSTEM:
            system.append(text)
        elif role in _USER:
            users.append(text)
        elif role not in _MODEL:
            known = listing((*_USER, *_MODEL, *_SYSTEM), at_most=20)
            raise _build_row_error(f"found the role {role!r}, expected one of {known}", where)
    return Turns("\n\n".join(system), tuple(text for text in users if text.strip()))


def _get_text(message: Any, names: Sequence[str]) -> str | None:
    if not isinstance(message, Mapping):
        return None
    return next((message[name] for name in names if isinstance(message.get(name), str)), None)


def _read_max_tokens(fields: Mapping[str, Any], where: Origin) -> int | None:
    """Return the maximum length of a response; the largest if each turn has its own."""
    for name in LENGTH_COLUMNS:
        value = fields.get(name)
        numbers = value if isinstance(value, list) else [value]
        if value is None or value == []:
            continue
        if not all(isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in numbers):
            what = f"found {value!r:.60}, expected a positive integer, or a list with one for each turn"
            raise _build_row_error(what, where.at(name))
        return int(max(numbers))
    return None


def _build_row_error(what: str, where: Origin) -> AuthorError:
    return AuthorError(Problem("BENCH-024", what, "correct the row, or remove it", where))
