"""How many calls were under way at each moment of a load. Knows when they began and ended, nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.bench.pool import Numbers

STEPS_AT_MOST = 2_000


class ConcurrencyCurve:
    """A staircase: at `times[i]` the number becomes `levels[i]`, and stays so until `times[i + 1]`.

    A call is under way from the moment it began up to the moment it ended: where one ends as another begins,
    they do not count as two. Calls that failed count: the server had them, too.
    """

    def __init__(self, began: Numbers, ended: Numbers) -> None:
        self.n_calls = len(began)
        self.last_began = float(began.max(initial=-np.inf))
        moments = np.concatenate([began, ended])
        changes = np.concatenate([np.ones(len(began)), -np.ones(len(ended))])
        self.times, which = np.unique(moments, return_inverse=True)
        net = np.bincount(which, weights=changes, minlength=len(self.times))
        self.levels: NDArray[np.int64] = np.rint(np.cumsum(net)).astype(np.int64)

    @property
    def start(self) -> float:
        """Return when the first call began; there must be one."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """Return when the last call ended; there must be one."""
        return float(self.times[-1])

    def mean(self, start: float, end: float) -> float:
        """Return the mean over a time, each moment counting alike."""
        return float((self.levels[:-1] * self._lengths(start, end)).sum()) / (end - start)

    def peak(self, start: float, end: float) -> int:
        """Return the highest number in a time."""
        seen = self.levels[:-1][self._lengths(start, end) > 0]
        return int(seen.max()) if len(seen) else 0

    def share(self, at_least: int, start: float, end: float) -> float:
        """Return for which share of a time at least so many were under way."""
        lengths = self._lengths(start, end)
        return float(lengths[self.levels[:-1] >= at_least].sum()) / (end - start)

    def median(self, start: float, end: float) -> int:
        """Return the number that was reached or passed for half of a time."""
        order = np.argsort(self.levels[:-1], kind="stable")
        up_to = np.cumsum(self._lengths(start, end)[order])
        return int(self.levels[:-1][order][np.searchsorted(up_to, up_to[-1] / 2)])

    def steps(self, at_most: int = STEPS_AT_MOST) -> list[tuple[float, int]]:
        """Return the staircase, in seconds from its start.

        With more than `at_most` steps, of each of many equal times the highest and the lowest step stay, so
        that no peak is lost.
        """
        chosen = np.arange(len(self.times))
        if len(chosen) > at_most:
            n_slots = (at_most - 2) // 2
            slots = np.minimum(
                ((self.times - self.start) / (self.end - self.start) * n_slots).astype(np.int64), n_slots - 1
            )
            ends = [0, len(self.times) - 1]
            # Sorted by slot and then by level, a slot's first and last places are its lowest and highest.
            order = np.lexsort((self.levels, slots))
            firsts = np.flatnonzero(np.diff(slots[order], prepend=-1))
            lasts = np.append(firsts[1:], len(order)) - 1
            chosen = np.unique(np.concatenate([ends, order[firsts], order[lasts]]))
        return [(float(self.times[at] - self.start), int(self.levels[at])) for at in chosen]

    def _lengths(self, start: float, end: float) -> Numbers:
        """Return how much of a time each step fills."""
        clipped: Numbers = np.clip(self.times, start, end)
        return np.diff(clipped)
