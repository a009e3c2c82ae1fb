"""Templates of messages: `RawPromptTemplate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, get_args

import msgspec

from assay.core.errors import explain_type_error, listing, suggest_name
from assay.core.prompt import Message, Role
from assay.dialects.openicl.templates.dialogue_turns import DialogueLine
from assay.dialects.openicl.templates.layouts import TemplateItem
from assay.dialects.openicl.templates.meta import CHAT_ROLES
from assay.dialects.openicl.templates.template_problems import TemplateFault, describe_value
from assay.dialects.openicl.templates.text import Row, TemplateMarks, TemplateText
from assay.dialects.shared.template import TemplateFailure

_ROLES = get_args(Role)
_ROLE_NAMES = {role: name for name, role in CHAT_ROLES.items()}


class _ExpandedColumn(NamedTuple):
    """A placeholder for the messages of a column."""

    column: str


class RawLayout:
    """Messages with placeholders, columns of messages, and a place for examples."""

    format: ClassVar[str] = "messages"

    def __init__(self, parts: Sequence[TemplateItem | _ExpandedColumn | None], *, is_filled: bool) -> None:
        """Store the messages in order (None for the examples), and whether placeholders are filled."""
        self._parts = tuple(parts)
        self._is_filled = is_filled
        self.items = tuple(part for part in parts if isinstance(part, TemplateItem))
        self.expanded = tuple(part.column for part in parts if isinstance(part, _ExpandedColumn))
        """The columns of messages."""
        self.has_examples = None in parts

    def messages(self, row: Row, examples: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages of a row, with the examples inserted."""
        found: list[Message] = []
        for part in self._parts:
            if part is None:
                found += examples
            elif isinstance(part, _ExpandedColumn):
                found += _read_column_messages(row, part.column)
            else:
                content = part.text.fill(row) if self._is_filled else part.text.raw
                found.append(Message(CHAT_ROLES[str(part.role)], content))
        return tuple(found)

    def faults(self, columns: Sequence[str]) -> Iterator[TemplateFault]:
        """Yield faults for missing columns."""
        for column in self.expanded:
            if column not in columns:
                hint = suggest_name(column, columns)
                what = f"expand_column names {column!r}, but there is no such column{hint}"
                yield TemplateFault(what, f"write one of the columns {listing(columns)}")


def to_dialogue_lines(messages: Sequence[Message]) -> list[DialogueLine]:
    """Return messages as dialogue lines, for models that read text."""
    return [
        DialogueLine(
            _ROLE_NAMES[one.role], one.text, "HUMAN" if one.role == "system" else None, "round", item=at
        )
        for at, one in enumerate(messages)
    ]


def _read_column_messages(row: Row, column: str) -> Iterator[Message]:
    value = row.get(column)
    if not isinstance(value, list | tuple):
        raise TemplateFailure(
            f"the column {column!r} has {describe_value(value)}, expected a list of messages"
        )
    for one in value:
        try:
            yield msgspec.convert(one, Message)
        except msgspec.ValidationError as error:
            raise TemplateFailure(
                f"the column {column!r} has the message {one!r:.80}: {explain_type_error(error)}"
            ) from None


def read_raw_layout(
    given: Mapping[str, Any], is_faithful: bool, faults: list[TemplateFault]
) -> RawLayout | None:
    """Read the arguments of a `RawPromptTemplate`; add faults and return None if they are invalid."""
    before = len(faults)
    messages = given.get("messages")
    if not isinstance(messages, list | tuple):
        what = f"messages is {describe_value(messages)}, expected a list of messages"
        faults.append(TemplateFault(what, "write messages=[dict(role='user', content='...')]"))
        return None
    token = given.get("ice_token", "</E>")
    marks = TemplateMarks(is_faithful=is_faithful)
    parts: list[TemplateItem | _ExpandedColumn | None] = []
    for at, one in enumerate(messages):
        place = f"messages[{at}]"
        if isinstance(one, str):
            if one != token:
                what = f"{place} is the text {one!r:.60}, which is not the ice_token {token!r}"
                faults.append(
                    TemplateFault(what, "write dict(role='user', content='...'), or only the ice_token")
                )
            parts.append(None)
        elif isinstance(one, Mapping) and isinstance(one.get("expand_column"), str):
            parts.append(_ExpandedColumn(one["expand_column"]))
        elif isinstance(one, Mapping):
            _check_message(one, place, faults)
            parts.append(
                TemplateItem(
                    _ROLE_NAMES.get(one.get("role", ""), "HUMAN"),
                    None,
                    TemplateText(str(one.get("content")), marks),
                )
            )
        else:
            faults.append(
                TemplateFault(
                    f"{place} is {describe_value(one)}, expected a dict", "write dict(role=..., content=...)"
                )
            )
    is_filled = given.get("format_variables", True) is not False
    return RawLayout(parts, is_filled=is_filled) if len(faults) == before else None


def _check_message(given: Mapping[str, Any], place: str, faults: list[TemplateFault]) -> None:
    keys = ("role", "content")
    for key in given:
        if key not in keys:
            what = f"{place} has the unknown key {key!r}{suggest_name(str(key), (*keys, 'expand_column'))}"
            faults.append(
                TemplateFault(what, "write dict(role=..., content=...), or dict(expand_column=...)")
            )
    if given.get("role") not in _ROLES:
        role = str(given.get("role"))
        what = f"{place} has the role {role!r}, expected one of {listing(_ROLES)}{suggest_name(role, _ROLES)}"
        faults.append(TemplateFault(what, "write role='user'"))
    if not isinstance(given.get("content"), str):
        what = f"the content of {place} is {describe_value(given.get('content'))}, expected a text"
        faults.append(TemplateFault(what, "write content='...'"))
