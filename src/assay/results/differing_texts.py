"""Where two texts, or two prompts, differ first, with what stands around that place."""

from __future__ import annotations

from typing import NamedTuple

from assay.core.prompt import Message, Prompt

_BEFORE = 40
_AFTER = 60


class Apart(NamedTuple):
    """The first place at which two things differ."""

    where: str
    """In words, such as `character 143`."""
    a: str
    b: str
    """What each has there, quoted, with some of what stands before."""


def texts_apart(a: str, b: str) -> Apart | None:
    """Return the first character, counted from 0, at which texts differ; None if they are equal."""
    if a == b:
        return None
    # Halving finds the place in a book as quickly as in a line.
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return Apart(f"character {low:,}", _around(a, low), _around(b, low))


def _around(text: str, place: int) -> str:
    start = max(0, place - _BEFORE)
    before = ("…" if start else "") + repr(text[start:place])[1:-1]
    after = repr(text[place : place + _AFTER])[1:-1] + ("…" if place + _AFTER < len(text) else "")
    return f"{before}⟪{after}⟫" if after else f"{before}⟪⟫ (it ends here)"


def prompts_apart(a: Prompt, b: Prompt) -> Apart | None:
    """Return where prompts differ first: a character of a text, or of which message."""
    if isinstance(a, str) and isinstance(b, str):
        return texts_apart(a, b)
    if isinstance(a, str) or isinstance(b, str):
        kinds = ["a text" if isinstance(one, str) else f"{len(one)} messages" for one in (a, b)]
        return Apart("the form of the prompt", *kinds)
    for nth, (one, other) in enumerate(zip(a, b, strict=False), 1):
        apart = _messages_apart(one, other)
        if apart is not None:
            return apart._replace(where=f"message {nth} ({other.role}), {apart.where}")
    if len(a) != len(b):
        return Apart("the number of messages", *(f"{len(one)}, the last by {one[-1].role}" for one in (a, b)))
    return None


def _messages_apart(a: Message, b: Message) -> Apart | None:
    if a.role != b.role:
        return Apart("who speaks", a.role, b.role)
    apart = texts_apart(a.shown, b.shown)
    if apart is None and a.content != b.content:
        return Apart("how it is parted", *(f"{_n_parts(one)} parts" for one in (a, b)))
    return apart


def _n_parts(message: Message) -> int:
    return 1 if isinstance(message.content, str) else len(message.content)
