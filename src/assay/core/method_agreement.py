"""Whether the methods of a task answer a sample alike, as far as that can be told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import NamedTuple

from assay.core.score import Verdict


class _Kind(Enum):
    OPTION = 0
    TEXT = 1
    NONE_FOUND = 2
    UNNAMED = 3
    """A value without an answer, such as a perplexity."""


class Opinion(NamedTuple):
    """What one method holds a sample's answer to be."""

    kind: _Kind
    text: str = ""


_NONE_FOUND, _UNNAMED = Opinion(_Kind.NONE_FOUND), Opinion(_Kind.UNNAMED)


def read_opinion(verdict: Verdict, answer: str | None, labels: Collection[str]) -> Opinion | None:
    """Return the opinion in a score of a sample whose options have these labels; None: it failed."""
    if verdict is Verdict.FAILED:
        return None
    if verdict is Verdict.UNANSWERED:
        return _NONE_FOUND
    if answer is None:
        return _UNNAMED
    return Opinion(_Kind.OPTION if answer in labels else _Kind.TEXT, answer)


def has_disagreement(opinions: Sequence[Opinion]) -> bool | None:
    """Return whether opinions on one sample differ; None where that cannot be told.

    A method that found no answer differs from one that did: the person who looks at disagreements wants to
    see it. An option and a text may mean the same, and a value names no answer at all. Fewer than two
    opinions cannot differ.
    """
    if len(opinions) < 2:
        return False
    said = set(opinions)
    answers = [one for one in said if one.kind in (_Kind.OPTION, _Kind.TEXT)]
    if answers and _NONE_FOUND in said:
        return True
    if len(answers) > len({one.kind for one in answers}):
        return True
    return None if _UNNAMED in said or len(answers) > 1 else False
