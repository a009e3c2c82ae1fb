"""How an original system and Assay differ, in words."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """One difference between the original and Assay. Dialects build their lists of differences from these."""

    original: str
    """What the original does; `--fidelity faithful` does the same."""
    here: str
    """What Assay does by default."""
