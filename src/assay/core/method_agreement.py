"""Whether the methods of a task agree on the answer to a sample, if that can be determined."""

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
    """The answer to a sample according to one method."""

    kind: _Kind
    text: str = ""


_NONE_FOUND, _UNNAMED = Opinion(_Kind.NONE_FOUND), Opinion(_Kind.UNNAMED)


def read_opinion(verdict: Verdict, answer: str | None, labels: Collection[str]) -> Opinion | None:
    """Return the opinion in a score; `labels` are the labels of the sample's options. None if it failed."""
    if verdict is Verdict.FAILED:
        return None
    if verdict is Verdict.UNANSWERED:
        return _NONE_FOUND
    if answer is None:
        return _UNNAMED
    return Opinion(_Kind.OPTION if answer in labels else _Kind.TEXT, answer)


def has_disagreement(opinions: Sequence[Opinion]) -> bool | None:
    """Return whether opinions on one sample differ; None if that cannot be determined.

    A method that found no answer differs from one that did, because the reader of disagreements wants to see
    it. An option and a text can mean the same, and a value is not an answer. Fewer than two opinions cannot
    differ.
    """
    if len(opinions) < 2:
        return False
    distinct = set(opinions)
    answers = [opinion for opinion in distinct if opinion.kind in (_Kind.OPTION, _Kind.TEXT)]
    if answers and _NONE_FOUND in distinct:
        return True
    if len(answers) > len({answer.kind for answer in answers}):
        return True
    return None if _UNNAMED in distinct or len(answers) > 1 else False
