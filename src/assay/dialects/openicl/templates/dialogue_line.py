"""What a dialogue says, line by line, before it is known how a model is shown it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Section = Literal["begin", "examples", "round", "end"]

NO_PROMPT_ITEM = -1
"""The item of a line that an example put there."""


class DialogueLine(NamedTuple):
    """One thing said."""

    role: str | None
    """Who says it; None: a text outside the turns."""
    text: str
    fallback: str | None
    """Who says it where the model does not know the role."""
    section: Section
    example: int = 0
    """Which example it is of, where it is of one; rounds never reach from one example into the next."""
    item: int = NO_PROMPT_ITEM
    """Which item of the prompt's template it is."""
