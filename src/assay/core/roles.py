"""Roles on a server. Each role has all rights of the previous one."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """A set of rights on the server."""

    READER = "reader"
    """Sees runs, results and the leaderboard."""
    RUNNER = "runner"
    """Also starts and stops evaluations."""
    OWNER = "owner"
    """Also registers models and datasets, deletes, and issues tokens."""

    def may(self, needed: Role) -> bool:
        """Return whether this role includes the rights of `needed`."""
        return _ORDER.index(self) >= _ORDER.index(needed)


class Bearer(NamedTuple):
    """A person or program with a valid token, or one that needs none."""

    name: str
    """The token's name, under which evaluations are recorded."""
    role: Role


_ORDER = (Role.READER, Role.RUNNER, Role.OWNER)
