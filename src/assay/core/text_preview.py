"""Shorten and clean texts for display."""

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


STEERING_CODES = frozenset(
    [
        *range(0x7F, 0xA0),  # DEL and C1, among which CSI begins a sequence as ESC [ does.
        *(0x061C, 0x200E, 0x200F),  # Direction marks.
        *(0x2028, 0x2029),  # Line and paragraph separators.
        *range(0x202A, 0x202F),  # Direction embeddings and overrides.
        *range(0x2066, 0x206A),  # Direction isolates.
    ]
)
