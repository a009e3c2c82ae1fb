"""The size of a request, before tokenization."""

from __future__ import annotations

from assay.core import prompt
from assay.core.request import Ask


def count_ask_chars(ask: Ask) -> int:
    """Return the number of characters of a request's prompt, including media as base64."""
    return prompt.count_chars(ask.prompt)
