"""Tools offered to a model, and the tool calls in its replies.

Assay never executes a tool: the call and its arguments are the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.backends.problems import argument_error
from assay.core.errors import listing, suggest_name
from assay.core.response import Call

Tools = tuple[dict[str, Any], ...]
_EXAMPLE = '[{"type": "function", "function": {"name": "add", "parameters": {"type": "object", ...}}}]'
_CHOICES = ("auto", "none", "required")


# --- offered tools ---


def read_tools(given: str) -> Tools:
    """Return the tools in a JSON list, or in the file with that name; raise MODEL-002 if they are invalid."""
    is_inline = given.lstrip().startswith(("[", "{"))
    place = "openai argument tools" if is_inline else f"openai argument tools: {given}"
    try:
        content = given.encode() if is_inline else Path(given).expanduser().read_bytes()
        tools = msgspec.json.decode(content)
    except OSError as trouble:
        raise argument_error(
            f"{place} cannot be read: {trouble.strerror}", "give the path of a JSON file, or a JSON list"
        ) from None
    except (msgspec.DecodeError, RecursionError) as trouble:
        raise argument_error(f"{place} is not JSON: {trouble}", f"write {_EXAMPLE}") from None
    if not isinstance(tools, list) or not tools:
        raise argument_error(f"{place} contains no list of tools", f"write {_EXAMPLE}")
    for number, tool in enumerate(tools):
        if _name(tool) is None:
            raise argument_error(f"{place}: tool {number + 1} names no function", f"write {_EXAMPLE}")
    names = [_name(tool) for tool in tools]
    if twice := [name for name in names if names.count(name) > 1]:
        raise argument_error(
            f"{place}: the function {twice[0]!r} appears twice", "give each function its own name"
        )
    return tuple(tools)


def read_tool_choice(given: str, tools: Tools) -> str | dict[str, Any]:
    """Return which tool to call, in the protocol's form: auto, none, required, or one by name."""
    if given in _CHOICES:
        return given
    names = [str(_name(tool)) for tool in tools]
    if given not in names:
        known = (*_CHOICES, *names)
        raise argument_error(
            f"openai argument tool_choice: unknown tool {given!r}{suggest_name(given, known)}",
            f"use {listing(known)}",
        )
    return {"type": "function", "function": {"name": given}}


def _name(tool: object) -> str | None:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) and name else None


# --- tool calls ---


class CalledFunction(msgspec.Struct):
    """The function of a call, or a piece of it."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None
    """JSON as a text; some servers send the object itself."""


class ToolCall(msgspec.Struct):
    """A call as a server sends it, or a piece of one."""

    index: int | None = None
    id: str | None = None
    function: CalledFunction | None = None


class StreamedCalls:
    """Tool calls whose pieces arrive one by one."""

    def __init__(self) -> None:
        self._calls: list[_StreamedCall] = []
        self._at: dict[int, _StreamedCall] = {}

    def take(self, pieces: Iterable[ToolCall]) -> bool:
        """Add pieces; return whether one of them contains text."""
        has_text = False
        for piece in pieces:
            index = piece.index or 0
            begun = self._at.get(index)
            # Some servers give every call the same index; each has an id of its own.
            if begun is None or (piece.id and begun.id and piece.id != begun.id):
                begun = self._at[index] = _StreamedCall()
                self._calls.append(begun)
            has_text |= begun.take(piece)
        return has_text

    def join_calls(self) -> list[ToolCall] | None:
        """Return the calls; None if there are none."""
        return [call.join_call() for call in self._calls] or None


class _StreamedCall:
    """One call whose pieces are still arriving."""

    def __init__(self) -> None:
        self.id: str | None = None
        self._name: str | None = None
        self._arguments: list[str] = []

    def take(self, piece: ToolCall) -> bool:
        """Add a piece; return whether it contains text."""
        self.id = self.id or piece.id
        function = piece.function or CalledFunction()
        self._name = self._name or function.name
        arguments = _arguments(function)
        self._arguments.append(arguments)
        return bool(function.name or arguments)

    def join_call(self) -> ToolCall:
        return ToolCall(None, self.id, CalledFunction(self._name, "".join(self._arguments)))


def read_calls(sent: Sequence[ToolCall] | None) -> tuple[Call, ...]:
    """Return those calls of a reply that name a function."""
    functions = [call.function for call in sent or () if call.function is not None]
    return tuple(Call(function.name, _arguments(function)) for function in functions if function.name)


def format_calls(calls: Sequence[Call]) -> str:
    """Return calls as compact JSON with sorted keys, so that equal calls give equal texts.

    Arguments that are not JSON, such as truncated ones, remain text.
    """
    listed = [{"arguments": _parse_arguments(call.arguments), "name": call.name} for call in calls]
    return msgspec.json.encode(listed, order="sorted").decode()


def _arguments(function: CalledFunction) -> str:
    sent = function.arguments
    return msgspec.json.encode(sent).decode() if isinstance(sent, dict) else sent or ""


def _parse_arguments(arguments: str) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments
