"""The number of concurrent calls over the time of a load, from their start and end times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.bench.pool import Numbers

STEPS_AT_MOST = 2_000


class ConcurrencyCurve:
    """A step function: at `times[i]` the number becomes `levels[i]`, until `times[i + 1]`.

    A call counts from its start up to its end: if one ends at the moment another starts,
    they do not count as two. Failed calls count: the server had them as well.
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
        """Return when the first call started; there must be one."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """Return when the last call ended; there must be one."""
        return float(self.times[-1])

    def mean(self, start: float, end: float) -> float:
        """Return the time-weighted mean of an interval."""
        return float((self.levels[:-1] * self._lengths(start, end)).sum()) / (end - start)

    def peak(self, start: float, end: float) -> int:
        """Return the maximum of an interval."""
        seen = self.levels[:-1][self._lengths(start, end) > 0]
        return int(seen.max()) if len(seen) else 0

    def share(self, at_least: int, start: float, end: float) -> float:
        """Return the fraction of an interval with at least this many concurrent calls."""
        lengths = self._lengths(start, end)
        return float(lengths[self.levels[:-1] >= at_least].sum()) / (end - start)

    def median(self, start: float, end: float) -> int:
        """Return the time-weighted median of an interval."""
        order = np.argsort(self.levels[:-1], kind="stable")
        up_to = np.cumsum(self._lengths(start, end)[order])
        return int(self.levels[:-1][order][np.searchsorted(up_to, up_to[-1] / 2)])

    def steps(self, at_most: int = STEPS_AT_MOST) -> list[tuple[float, int]]:
        """Return the steps, in seconds from the start.

        With more than `at_most` steps, keep the highest and the lowest of each of many equal intervals, so
        that no peak is lost.
        """
        chosen = np.arange(len(self.times))
        if len(chosen) > at_most:
            n_slots = (at_most - 2) // 2
            slots = np.minimum(
                ((self.times - self.start) / (self.end - self.start) * n_slots).astype(np.int64), n_slots - 1
            )
            ends = [0, len(self.times) - 1]
            # Sorted by slot, then by level: the first and last entries of a slot are its lowest and highest.
            order = np.lexsort((self.levels, slots))
            firsts = np.flatnonzero(np.diff(slots[order], prepend=-1))
            lasts = np.append(firsts[1:], len(order)) - 1
            chosen = np.unique(np.concatenate([ends, order[firsts], order[lasts]]))
        return [(float(self.times[at] - self.start), int(self.levels[at])) for at in chosen]

    def _lengths(self, start: float, end: float) -> Numbers:
        """Return how much of an interval each step covers."""
        clipped: Numbers = np.clip(self.times, start, end)
        return np.diff(clipped)
