"""Long texts as they are shown to a person: the one place that decides how much of them."""

from __future__ import annotations

import re

MAX_VALUE_CHARS = 200
"""Characters of one value inside a message."""
MAX_MESSAGE_CHARS = 4_000
"""Characters of a message or a prompt on the terminal."""
_QUOTED = re.compile(rf"""'[^']{{{MAX_VALUE_CHARS + 20},}}'|"[^"]{{{MAX_VALUE_CHARS + 20},}}\"""")


def shorten_text(text: str, at_most: int = MAX_MESSAGE_CHARS) -> str:
    """Return a text, or its beginning and end with how long it is."""
    if len(text) <= at_most:
        return text
    tail = at_most // 4
    return f"{text[: at_most - tail]} ... ({len(text):,} characters in all) ... {text[-tail:]}"


def shorten_message(text: str) -> str:
    """Return a message in which values between quotation marks are shortened, and then all of it."""
    if len(text) <= MAX_VALUE_CHARS:
        return text
    return shorten_text(_QUOTED.sub(lambda found: shorten_text(found[0], MAX_VALUE_CHARS), text))
