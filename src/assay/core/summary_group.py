"""Tasks that a person wants to be told together: a spec, which config files call a summary group."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import msgspec

Joining: TypeAlias = Literal[
    "naive_average", "weighted_average", "sum", "standard_deviation", "harmonic_mean"
]
"""How the values of a group become one; also what the result is called, unless it has a name of its own."""


class Subset(NamedTuple):
    """A member of a group: a task, or a group that was described before."""

    name: str
    metric: str | None = None
    """None: the one that the task is judged by."""


class SummaryGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """One number over several tasks. Values count from 0 to 100 where they are shares."""

    name: str
    subsets: tuple[Subset, ...]
    joining: Joining = "naive_average"
    metric: str = ""
    """What the result is called; empty: as the joining."""
    weights: dict[str, float] = {}
    """By the names of the subsets, or by `name@metric`."""
    transforms: dict[str, str] = {}
    """Arithmetic in `x`, by the names of subsets: what stands in the place of a value before it is joined."""

    @property
    def label(self) -> str:
        """Return what the result is called."""
        return self.metric or self.joining
