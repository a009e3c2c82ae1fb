"""Shorten long texts for display."""

from __future__ import annotations

import re

MAX_VALUE_CHARS = 200
"""Maximum characters of one value in a message."""
MAX_MESSAGE_CHARS = 4_000
"""Maximum characters of a message or a prompt on the terminal."""
_QUOTED = re.compile(rf"""'[^']{{{MAX_VALUE_CHARS + 20},}}'|"[^"]{{{MAX_VALUE_CHARS + 20},}}\"""")


def shorten_text(text: str, at_most: int = MAX_MESSAGE_CHARS) -> str:
    """Return a text, or its beginning and end with its length if it is too long."""
    if len(text) <= at_most:
        return text
    tail = at_most // 4
    return f"{text[: at_most - tail]} ... ({len(text):,} characters in all) ... {text[-tail:]}"


def shorten_message(text: str) -> str:
    """Return a message with long quoted values shortened, and then shortened as a whole."""
    if len(text) <= MAX_VALUE_CHARS:
        return text
    return shorten_text(_QUOTED.sub(lambda match: shorten_text(match[0], MAX_VALUE_CHARS), text))
