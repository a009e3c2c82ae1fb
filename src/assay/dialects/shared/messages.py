"""Conversations in datasets: lists of messages in the formats of OpenAI, ShareGPT and others.

A value is parsed to turns, and turns become the messages of a prompt. Independent of tables.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from assay.core.errors import listing, suggest_name
from assay.core.media import MEDIA, AnyMedia, Medium, Part, Text
from assay.core.prompt import Message, Role
from assay.sources.media_files import read_media_data, read_media_file
from assay.sources.media_formats import BrokenMedia

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
}
"""The roles that datasets use, and the role of each in a prompt."""
TOOL_ROLES = frozenset({"tool", "function", "observation", "function_call", "function_response", "ipython"})
_CALLS = ("tool_calls", "function_call", "tool_call_id", "functions", "tools")
"""Message keys of tool calls."""
_FORMS = (("role", "content"), ("from", "value"), ("role", "value"), ("role", "text"), ("from", "content"))
"""The message keys for role and content."""
_SENT = frozenset({"role", "from", "content", "value", "text", "id", "weight"})
"""Message keys that are sent, or that a model does not need."""
_MEDIA_PARTS: Mapping[str, Medium] = {
    "image_url": Medium.IMAGE,
    "input_image": Medium.IMAGE,
    "image": Medium.IMAGE,
    "audio_url": Medium.AUDIO,
    "input_audio": Medium.AUDIO,
    "audio": Medium.AUDIO,
    "video_url": Medium.VIDEO,
    "video": Medium.VIDEO,
}
_TEXT_PARTS = ("text", "input_text", "output_text")
_WHERE = ("url", "path", "image", "audio", "video", "data")
"""Keys under which a part contains its medium."""


class BadConversation(ValueError):
    """A value that is not a usable conversation; the message names the turn and the reason."""


class UnsupportedConversation(BadConversation):
    """A valid conversation that needs an unsupported feature, such as tool calls."""


class ConversationTurn(NamedTuple):
    """One turn of a dataset's conversation."""

    role: Role
    content: str | list[Any]
    """Its text, or its parts as written."""

    def to_openai(self) -> dict[str, Any]:
        """Return the turn in OpenAI's format."""
        return {"role": self.role, "content": self.content}


def parse_value(value: Any) -> Any:
    """Parse a text that is a JSON list or object; return any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def is_conversation(value: Any) -> bool:
    """Whether a value is a list of messages, judged by its keys only."""
    # Hot path of every table: most cells are texts.
    if is_plain_text(value):
        return False
    messages = _list_messages(parsed := parse_value(value))
    if not messages or (isinstance(parsed, list) and isinstance(parsed[0], str)):
        return False
    return all(
        isinstance(one, Mapping) and (_form(one) is not None or "tool_calls" in one) for one in messages
    )


def is_plain_text(value: Any) -> bool:
    """Whether a value is a text and not JSON."""
    return isinstance(value, str) and value.lstrip()[:1] not in ("[", "{")


def is_text_list(value: Any) -> bool:
    """Whether a value is a list of at least two texts."""
    texts = parse_value(value)
    return isinstance(texts, list) and len(texts) > 1 and all(isinstance(one, str) for one in texts)


def read_turns(value: Any) -> list[ConversationTurn]:
    """Return the turns of a conversation; raise BadConversation with the turn and the reason.

    In a list of texts the speakers alternate, the user first; a single text is a user turn.
    """
    if isinstance(value, str) and is_plain_text(value) and value.strip():
        return [ConversationTurn("user", value)]
    parsed = parse_value(value)
    messages = _list_messages(parsed)
    if not messages:
        found = "an empty list" if messages == [] else f"{parsed!r:.80}"
        raise BadConversation(f"found {found}, expected a list of messages with 'role' and 'content'")
    return [_turn(one, number) for number, one in enumerate(messages, 1)]


def find_unsent_keys(value: Any) -> frozenset[str]:
    """Return the message keys of a conversation that have values but are not part of a prompt."""
    messages = parse_value(value)
    if not isinstance(messages, list) or all(type(one) is dict and len(one) == 2 for one in messages):
        return frozenset()
    return frozenset(
        key
        for one in messages
        if isinstance(one, Mapping)
        for key, content in one.items()
        if key not in _SENT and content
    )


def to_message(turn: Mapping[str, Any], roots: Sequence[Path]) -> Message:
    """Return the prompt message for a turn; media are looked up in the roots."""
    content = turn["content"]
    if isinstance(content, str):
        return Message(turn["role"], content)
    parts = tuple(_part(one, roots) for one in content)
    if all(isinstance(one, Text) for one in parts):
        return Message(turn["role"], "\n".join(one.text for one in parts if isinstance(one, Text)))
    return Message(turn["role"], parts)


def get_turn_text(turn: ConversationTurn) -> str:
    """Return the text of a turn without its media."""
    if isinstance(turn.content, str):
        return turn.content
    return "\n".join(one if isinstance(one, str) else str(one.get("text") or "") for one in turn.content)


def _list_messages(value: Any) -> list[Any] | None:
    """Return the messages of a value; None if it is neither a list nor an object of lists."""
    if isinstance(value, Mapping):
        return _read_column_messages(value)
    if not isinstance(value, list):
        return None
    if value and isinstance(value[0], str) and all(isinstance(one, str) for one in value):
        speakers = cycle(("user", "assistant"))
        return [{"role": role, "content": text} for role, text in zip(speakers, value, strict=False)]
    return value


def _read_column_messages(value: Mapping[str, Any]) -> list[Any] | None:
    """Return the messages of an object of equally long lists, a form in which `datasets` stores objects."""
    names = [name for name, column in value.items() if isinstance(column, list)]
    if not any({*keys} <= {*names} for keys in _FORMS) or len({len(value[name]) for name in names}) != 1:
        return None
    return [dict(zip(names, row, strict=True)) for row in zip(*(value[name] for name in names), strict=True)]


def _form(message: Mapping[str, Any]) -> tuple[str, str] | None:
    return next(((who, what) for who, what in _FORMS if who in message and what in message), None)


def _turn(message: Any, number: int) -> ConversationTurn:
    # Hot path of every table of conversations: most messages have a known role and a text.
    if type(message) is dict and len(message) == 2:
        name = message["role"] if "role" in message else message.get("from")
        text = message["content"] if "content" in message else message.get("value")
        if type(name) is str and type(text) is str and text and not text.isspace() and name in ROLES:
            return ConversationTurn(ROLES[name], text)
    place = f"message {number}"
    if not isinstance(message, Mapping):
        raise BadConversation(f"{place} is {message!r:.80}, expected an object with 'role' and 'content'")
    for key in _CALLS:
        if message.get(key):
            raise UnsupportedConversation(f"{place} has {key!r}; tool calls are not supported")
    keys = _form(message)
    if keys is None:
        raise BadConversation(f"{place} has the keys {listing(message)}, expected 'role' and 'content'")
    who, what = keys
    name = message[who]
    if isinstance(name, str) and name.lower() in TOOL_ROLES:
        raise UnsupportedConversation(f"{place} has the role {name!r}; tool calls are not supported")
    role = ROLES.get(name.lower()) if isinstance(name, str) else None
    if role is None:
        hint = suggest_name(name, ROLES) if isinstance(name, str) else ""
        raise BadConversation(f"{place} has the unknown role {name!r}{hint}; known roles: {listing(ROLES)}")
    return ConversationTurn(role, _content(message[what], f"{place}, the {role}'s,"))


def _content(content: Any, place: str) -> str | list[Any]:
    if isinstance(content, str) and content.strip():
        return content
    if isinstance(content, Mapping) and "type" in content:
        content = [content]
    if not isinstance(content, list) or not content:
        empty = content is None or content in ("", []) or (isinstance(content, str) and not content.strip())
        found = "is empty" if empty else f"is {content!r:.80}, expected a text or a list of parts"
        raise BadConversation(f"{place} {found}")
    for part in content:
        _check_part(part, place)
    if not any(
        isinstance(part, str) or part.get("type") in _MEDIA_PARTS or part.get("text") for part in content
    ):
        raise BadConversation(f"{place} is empty")
    return content


def _check_part(part: Any, place: str) -> None:
    if isinstance(part, str):
        return
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind in _TEXT_PARTS and isinstance(part.get("text"), str):
        return
    if kind in _MEDIA_PARTS:
        if _medium_address(part) is None:
            raise BadConversation(f"{place} has a part of type {kind!r} without an address, a path or data")
        return
    known = listing((*_TEXT_PARTS, *_MEDIA_PARTS))
    raise UnsupportedConversation(
        f"{place} has a part of type {kind!r}, which is not supported; supported: {known}"
    )


def _part(part: Any, roots: Sequence[Path]) -> Part:
    if isinstance(part, str):
        return Text(part)
    if part["type"] in _TEXT_PARTS:
        return Text(part["text"])
    address = _medium_address(part) or ""
    try:
        return build_media_part(_MEDIA_PARTS[part["type"]], address, roots=roots)
    except BrokenMedia as trouble:
        raise BadConversation(
            f"the {_MEDIA_PARTS[part['type']]} {clip_address(address)!r}: {trouble}"
        ) from None


def _medium_address(part: Mapping[str, Any]) -> str | None:
    """Return the address of a part's medium: under the key of its type, `source` or a usual key."""
    content = part.get(part["type"], part.get("image_url", part.get("source", part)))
    if isinstance(content, str):
        return content or None
    if not isinstance(content, Mapping):
        return None
    data, media_type = content.get("data"), content.get("media_type")
    if isinstance(data, str) and (media_type or content.get("format")):
        return f"data:{media_type or 'audio/' + str(content['format'])};base64,{data}"
    return next((content[key] for key in _WHERE if isinstance(content.get(key), str) and content[key]), None)


_DATA = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*?;base64,", re.IGNORECASE)
_SHOWN_CHARS = 120
_LONGEST_PATH = 4096
"""The maximum path length on Linux; other systems allow about the same."""


def build_media_part(
    medium: Medium, where: str, *, roots: Sequence[Path] = (), is_faithful: bool = False
) -> AnyMedia:
    """Return the part for a medium; raise BrokenMedia if it cannot be read.

    A relative path is looked up in the current folder, then in the `roots`.
    """
    if where.lower().startswith(("http://", "https://")):
        return MEDIA[medium](url=where)
    if (data := _DATA.match(where)) is not None:
        return read_media_data(data["type"] or "", where[data.end() :], medium, keeps_type=is_faithful)
    if where.startswith("data:"):
        raise BrokenMedia("it is a data address that is not base64")
    return read_media_file(_find_file(where.removeprefix("file://"), roots), medium)


def clip_address(where: str) -> str:
    """Return the address of a medium for a message, shortened if it is long."""
    return where if len(where) <= _SHOWN_CHARS else f"{where[:_SHOWN_CHARS]}... ({len(where):,} characters)"


def _find_file(name: str, roots: Sequence[Path]) -> str:
    """Return the first file of this name; if there is none, the path as written."""
    if not name.strip():
        raise BrokenMedia("it has no path")
    if len(name) > _LONGEST_PATH:
        raise BrokenMedia("it is not a path; base64 data needs the prefix data:TYPE;base64,")
    # An address may write a space as %20, but a file name may also contain %20 literally.
    for spelling in dict.fromkeys((name, unquote(name))):
        for root in ("", *map(str, roots)):
            path = os.path.join(root, spelling)
            if os.path.isfile(path):
                return path
    return name
