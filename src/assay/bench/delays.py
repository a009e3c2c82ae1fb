"""How long something waited that should not have waited: many small numbers in little memory."""

from __future__ import annotations

from array import array

import msgspec

LATE_S = 0.005
"""From here on a delay is called late: the client, not the server, shaped the load."""
GRAIN_S = 1e-4
_N_BINS = 10_000
"""Up to one second; what is longer is counted together, and the longest is known."""


class DelayStats(msgspec.Struct, frozen=True):
    """What the delays came to. Percentiles are exact to a tenth of a millisecond, and never too small."""

    n: int
    p50_s: float
    p99_s: float
    max_s: float
    late_share: float
    """Share above 5 ms."""


class Delays:
    """Counts delays."""

    def __init__(self) -> None:
        self.n = 0
        self.n_late = 0
        self.max_s = 0.0
        self._bins = array("Q", bytes(8 * (_N_BINS + 1)))

    def add(self, seconds: float) -> None:
        """Count one; a delay below 0 is none."""
        self.n += 1
        self.n_late += seconds > LATE_S
        self.max_s = max(self.max_s, seconds)
        self._bins[min(max(int(seconds / GRAIN_S), 0), _N_BINS)] += 1

    @property
    def late_share(self) -> float:
        """Return the share above 5 ms."""
        return self.n_late / self.n if self.n else 0.0

    def quantile(self, share: float) -> float:
        """Return a value that this share of the delays does not exceed; the least such, to the grain."""
        wanted = share * self.n
        seen = 0
        for number, n in enumerate(self._bins[:_N_BINS]):
            seen += n
            if seen >= wanted and seen:
                return min((number + 1) * GRAIN_S, self.max_s)
        return self.max_s

    def stats(self) -> DelayStats | None:
        """Return what they came to; None when there were none."""
        if not self.n:
            return None
        return DelayStats(self.n, self.quantile(0.5), self.quantile(0.99), self.max_s, self.late_share)
