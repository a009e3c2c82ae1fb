"""Values of flags such as --model_args: `key=value,key=value`, several of these, or a JSON object."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from typing import Any

from assay.systems.flag_table import usage_error

_OPENING, _CLOSING, _QUOTES = "[({", "])}", "\"'"


def parse_pairs(values: Sequence[str] | None, flag: str) -> dict[str, Any]:
    """Return the values by key; of a key given twice, the last."""
    pairs: dict[str, Any] = {}
    for value in values or ():
        if value.lstrip().startswith("{"):
            pairs |= _parse_object(value, flag)
            continue
        for item in _split_at_commas(value):
            key, equals, text = item.partition("=")
            if not equals or not key.strip():
                what = f"{flag}: found {item!r}, expected key=value"
                raise usage_error(what, f"write {flag} key=value,key=value, or a JSON object in quotes")
            pairs[key.strip()] = parse_value(text)
    return pairs


def parse_value(text: str) -> Any:
    """Return a boolean, a number or a literal of Python; otherwise the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.isdecimal():
        return int(text)
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def format_value(value: Any) -> str:
    """Return a value as an argument of Assay: a text, or JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parse_object(text: str, flag: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        what = f"{flag}: {text!r:.60} is not valid JSON: {error}"
        raise usage_error(what, f"""use double quotes inside: {flag} '{{"key": "value"}}'""") from None
    assert isinstance(value, dict)  # It begins with a brace.
    return value


def _split_at_commas(text: str) -> Iterator[str]:
    """Yield the parts between commas that are outside of brackets and quotes."""
    begin = depth = 0
    quote = ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth = max(depth - 1, 0)
        elif char == "," and not depth:
            if begin < at:
                yield text[begin:at]
            begin = at + 1
    if begin < len(text):
        yield text[begin:]
