"""What a post-processor is: two ways of finding an answer, and in words how they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from assay.scoring.differences import Difference

FindAnswer: TypeAlias = Callable[..., str | None]
"""Takes what a model wrote and returns the answer in it. Keyword-only parameters are its arguments, which a
config may give; they have types."""


class PostProcessor(NamedTuple):
    """One named way of finding the answer in what a model wrote. Transforms use it on right answers too."""

    original: FindAnswer
    """What the original returns of anything that models write; of half a LaTeX command it can be another."""
    corrected: FindAnswer
    """The same without what is plainly wrong, with the same arguments; the same function where nothing is."""
    difference: Difference | None = None
    """None: the two return the same, but for an empty answer."""
    sees_reasoning: bool = False
    """Whether it is given what the model thought before it spoke, too."""

    def __call__(self, text: str, faithful: bool = False) -> str | None:
        """Return the answer, None for none. The original's empty answer is none, unless it is asked for."""
        if faithful:
            return self.original(text)
        answer = self.corrected(text)
        return answer if answer and not answer.isspace() else None


def make_unchanged(find: FindAnswer) -> PostProcessor:
    """Return a post-processor of which the original is right as it is."""
    return PostProcessor(find, find)
