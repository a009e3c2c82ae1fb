"""Groups of tasks that are reported together: specs, called summary groups in config files."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import msgspec

Joining: TypeAlias = Literal[
    "naive_average", "weighted_average", "sum", "standard_deviation", "harmonic_mean"
]
"""How the values of a group are aggregated; also the name of the result, unless it has its own."""


class Subset(NamedTuple):
    """A member of a group: a task, or a group described before."""

    name: str
    metric: str | None = None
    """None: the task's main metric."""


class SummaryGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """One number over several tasks. Shares count from 0 to 100."""

    name: str
    subsets: tuple[Subset, ...]
    joining: Joining = "naive_average"
    metric: str = ""
    """The name of the result; empty: the name of the aggregation."""
    weights: dict[str, float] = {}
    """By the names of the subsets, or by `name@metric`."""
    transforms: dict[str, str] = {}
    """Arithmetic in `x` by subset, applied to its value before aggregation."""

    @property
    def label(self) -> str:
        """Return the name of the result."""
        return self.metric or self.joining
