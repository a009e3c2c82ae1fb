"""What a person or a program may do on a server: each role may all that the one before it may."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """Who may do what."""

    READER = "reader"
    """Sees runs, results and the leaderboard."""
    RUNNER = "runner"
    """Also starts and stops evaluations."""
    OWNER = "owner"
    """Also registers models and datasets, deletes, and gives out tokens."""

    def may(self, needed: Role) -> bool:
        """Whether this role may do what `needed` may."""
        return _ORDER.index(self) >= _ORDER.index(needed)


class Bearer(NamedTuple):
    """Somebody whose token counts, or who needs none."""

    name: str
    """The token's name: evaluations are noted under it."""
    role: Role


_ORDER = (Role.READER, Role.RUNNER, Role.OWNER)
