"""How large a request is before anything is made into tokens."""

from __future__ import annotations

from assay.core import prompt
from assay.core.request import Ask


def count_ask_chars(ask: Ask) -> int:
    """Return the characters of an ask's prompt, media in base64 included."""
    return prompt.count_chars(ask.prompt)
