"""The stable stage of a load as AISBench 3.1.20260630 finds it: the time in which the batch stays full.

It walks over the moments at which calls that succeeded began and ended. The stage opens when the batch is
full for the second time. It closes when the number of concurrent calls falls below 98 % of the batch and does
not recover within a millisecond, or else with the first call that ends after the last one began.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

_WAVE = 0.02
"""Share of the batch that may be missing while the stage lasts."""
_RECOVERY_S = 0.001


class StableStage(msgspec.Struct, frozen=True):
    """Start and end, in seconds on the clock of the calls, and the calls whose numbers count."""

    start: float
    end: float
    members: frozenset[int]
    """Positions among the calls that succeeded, in the order in which they were taken."""


def count_full_starts(began: Sequence[float], ended: Sequence[float], batch_size: int) -> int:
    """Return how often a call filled the batch."""
    return len(_Moments(began, ended).full_starts(batch_size))


def find_stable_stage(began: Sequence[float], ended: Sequence[float], batch_size: int) -> StableStage | None:
    """Return the stable stage of calls that succeeded; None where the batch was not full twice."""
    moments = _Moments(began, ended)
    full = moments.full_starts(batch_size)
    if len(full) < 2:
        return None
    low = int(batch_size * (1 - _WAVE))
    opened = int(full[1])
    closed = moments.find_close(opened, low)
    places = np.arange(len(moments.at))
    # Until the third full batch only calls that fill the batch count; then all that find it nearly full.
    is_nearly_full = moments.level >= low
    is_nearly_full[: full[2] if len(full) > 2 else None] = False
    is_full = (moments.level == batch_size) & (places >= opened)
    is_member = moments.is_start & (is_full | is_nearly_full) & (places < closed)
    members = frozenset(moments.call[is_member].tolist())
    return StableStage(float(moments.at[opened]), float(moments.at[closed]), members)


class _Moments:
    """When calls began and ended, in order."""

    def __init__(self, began: Sequence[float], ended: Sequence[float]) -> None:
        at = np.column_stack([np.array(began), np.array(ended)]).ravel()
        order = np.argsort(at, kind="stable")
        self.at = at[order]
        self.is_start = order % 2 == 0
        self.call: NDArray[np.int64] = order // 2
        self.level = np.cumsum(np.where(self.is_start, 1, -1))
        """Concurrent calls after each moment."""

    def full_starts(self, batch_size: int) -> NDArray[np.int64]:
        """Return the moments at which a call fills the batch."""
        return np.flatnonzero(self.is_start & (self.level == batch_size))

    def find_close(self, opened: int, low: int) -> int:
        """Return the moment that ends a stage which opened at another."""
        last = int(np.flatnonzero(self.is_start)[-1]) + 1
        falls = np.flatnonzero(~self.is_start[:last] & (self.level[:last] < low))
        for fall in falls[falls > opened]:
            if not self._is_recovered(fall, low):
                return int(fall)
        return last

    def _is_recovered(self, fall: int, low: int) -> bool:
        """Whether a call that begins soon after brings the number back."""
        until = int(np.searchsorted(self.at, self.at[fall] + 2 * _RECOVERY_S, side="right"))
        soon = slice(fall + 1, until)
        is_soon = self.at[soon] - self.at[fall] <= _RECOVERY_S
        return bool((is_soon & self.is_start[soon] & (self.level[soon] >= low)).any())
