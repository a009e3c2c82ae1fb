"""The size of a request, before tokenization."""

from __future__ import annotations

from assay.core.prompt import Prompt, count_chars
from assay.core.request import Ask
from assay.core.shared_prefix import count_shared_prefix

_REPEATED_PER_NEW = 8
"""How many repeated characters cost as much as a new one: they take memory, but no time."""


def count_ask_chars(ask: Ask) -> int:
    """Return the number of characters of a request's prompt, including media as base64."""
    return count_chars(ask.prompt)


class NewCharCounter:
    """Measures requests in order: characters that repeat the beginning of the previous prompt count less.

    Few-shot examples are computed once for all the questions after them, so a window of requests may contain
    many of these prompts.
    """

    def __init__(self) -> None:
        self._previous: Prompt = ""

    def count(self, ask: Ask) -> int:
        """Return the weight of the next request in characters."""
        prompt, n_chars = ask.prompt, count_chars(ask.prompt)
        shared = 0
        if isinstance(prompt, str) == isinstance(self._previous, str):
            shared = count_shared_prefix(self._previous, prompt)
        n_repeated = shared if isinstance(prompt, str) else count_chars(prompt[:shared])
        self._previous = prompt
        return n_chars - n_repeated + n_repeated // _REPEATED_PER_NEW
