"""Which rows of the pool are shown before a row.

A choice only puts the pool into an order. How many are shown, and that none asks what the row itself asks, is
seen to where they are shown (prepared.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol


class ExampleChoice(Protocol):
    """A way of choosing examples."""

    drops_last: bool
    """Whether, when a prompt is too long, the examples nearest to the question go first."""
    is_reversed: bool
    """Whether the example that is preferred most stands last, next to the question."""

    def rank_pool(self, number: int) -> Iterable[int]:
        """Yield rows of the pool for a row of the evaluation, those to take first coming first."""

    def __hash__(self) -> int:
        """Tell choices apart: each is its own."""


class FixedOrder:
    """The same examples in the same order for every row."""

    is_reversed = False

    def __init__(self, order: Sequence[int], *, drops_last: bool = False) -> None:
        self.order = order
        self.drops_last = drops_last

    def rank_pool(self, number: int) -> Iterable[int]:
        """Return the order."""
        return self.order
