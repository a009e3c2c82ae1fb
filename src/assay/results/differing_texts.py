"""Where two texts, or two prompts, differ first, with what stands around that place."""

from __future__ import annotations

from typing import NamedTuple

from assay.core.prompt import Message, Prompt

_BEFORE = 40
_AFTER = 60


class Divergence(NamedTuple):
    """The first place at which two things differ."""

    where: str
    """In words, such as `character 143`."""
    a: str
    b: str
    """What each has there, quoted, with some of what stands before."""


def find_text_divergence(a: str, b: str) -> Divergence | None:
    """Return the first character, counted from 0, at which texts differ; None if they are equal."""
    if a == b:
        return None
    # Halving finds the place in a book as quickly as in a line.
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return Divergence(f"character {low:,}", _quote_around(a, low), _quote_around(b, low))


def _quote_around(text: str, place: int) -> str:
    start = max(0, place - _BEFORE)
    before = ("…" if start else "") + repr(text[start:place])[1:-1]
    after = repr(text[place : place + _AFTER])[1:-1] + ("…" if place + _AFTER < len(text) else "")
    return f"{before}⟪{after}⟫" if after else f"{before}⟪⟫ (it ends here)"


def find_prompt_divergence(a: Prompt, b: Prompt) -> Divergence | None:
    """Return where prompts differ first: a character of a text, or of which message."""
    if isinstance(a, str) and isinstance(b, str):
        return find_text_divergence(a, b)
    if isinstance(a, str) or isinstance(b, str):
        kinds = ["a text" if isinstance(one, str) else f"{len(one)} messages" for one in (a, b)]
        return Divergence("the form of the prompt", *kinds)
    for nth, (one, other) in enumerate(zip(a, b, strict=False), 1):
        apart = _find_message_divergence(one, other)
        if apart is not None:
            return apart._replace(where=f"message {nth} ({other.role}), {apart.where}")
    if len(a) != len(b):
        return Divergence(
            "the number of messages", *(f"{len(one)}, the last by {one[-1].role}" for one in (a, b))
        )
    return None


def _find_message_divergence(a: Message, b: Message) -> Divergence | None:
    if a.role != b.role:
        return Divergence("who speaks", a.role, b.role)
    apart = find_text_divergence(a.shown, b.shown)
    if apart is None and a.content != b.content:
        return Divergence("how it is parted", *(f"{_count_parts(one)} parts" for one in (a, b)))
    return apart


def _count_parts(message: Message) -> int:
    return 1 if isinstance(message.content, str) else len(message.content)
