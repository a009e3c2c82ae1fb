"""Long texts as they are shown to a person: the one place that decides how much of them."""

from __future__ import annotations

import re

SHOWN_VALUE = 200
"""Characters of one value inside a message."""
SHOWN_MESSAGE = 4_000
"""Characters of a message or a prompt on the terminal."""
_QUOTED = re.compile(rf"""'[^']{{{SHOWN_VALUE + 20},}}'|"[^"]{{{SHOWN_VALUE + 20},}}\"""")


def shortened(text: str, at_most: int = SHOWN_MESSAGE) -> str:
    """Return a text, or its beginning and end with how long it is."""
    if len(text) <= at_most:
        return text
    tail = at_most // 4
    return f"{text[: at_most - tail]} ... ({len(text):,} characters in all) ... {text[-tail:]}"


def shortened_message(text: str) -> str:
    """Return a message in which values between quotation marks are shortened, and then all of it."""
    if len(text) <= SHOWN_VALUE:
        return text
    return shortened(_QUOTED.sub(lambda found: shortened(found[0], SHOWN_VALUE), text))
