"""A place where an original system and Assay give different values, in words."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """How the original and Assay differ. A dialect makes its quirks of these."""

    original: str
    """What the original does, and `faithful` with it."""
    here: str
    """What is done here."""
