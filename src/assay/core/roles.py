"""What a person or a program may do on a server: each role may all that the one before it may."""

from __future__ import annotations

from enum import StrEnum


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


_ORDER = (Role.READER, Role.RUNNER, Role.OWNER)
