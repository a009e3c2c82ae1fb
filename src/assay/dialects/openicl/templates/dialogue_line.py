"""The lines of a dialogue, before they are rendered for a model."""

from __future__ import annotations

from typing import Literal, NamedTuple

Section = Literal["begin", "examples", "round", "end"]

NO_PROMPT_ITEM = -1
"""The item number of lines that belong to an example."""


class DialogueLine(NamedTuple):
    """One line of a dialogue."""

    role: str | None
    """The role; None for a text outside the turns."""
    text: str
    fallback: str | None
    """The role to use if the model does not know `role`."""
    section: Section
    example: int = 0
    """The number of its example, if any; a round never spans two examples."""
    item: int = NO_PROMPT_ITEM
    """The number of its item in the prompt's template."""
