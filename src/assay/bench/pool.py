"""Streaming statistics of many values: mean, standard deviation, extremes and percentiles.

Up to `EXACT_UP_TO` values are kept as they are. More are counted in bins of equal ratio, as a hundred
million gaps between tokens would not fit in memory: percentiles are then within `RELATIVE_ERROR` of the exact
ones. The number, mean, standard deviation, minimum and maximum are always exact.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]
Unit: TypeAlias = Literal["s", "tokens", "tokens/s"]

EXACT_UP_TO = 1_000_000
"""How many values are kept as they are: 8 MB."""
RELATIVE_ERROR = 0.001
"""How far a percentile may be from the exact one when there are more values."""
_RATIO = 1.002  # A bin's middle is at most sqrt(1.002) - 1 < 0.1 % away from any value in it.
_LEAST = 1e-9  # Smaller values count as 0: a nanosecond is below the resolution of the clocks.
_BINS = 18_000  # 1e-9 * 1.002 ** 18,000 is above four million: 50 days, or that many tokens.
_FOLDED_AT = 4_096  # This many take less than a millisecond: values are added while streams are being timed.


class Stats(msgspec.Struct, frozen=True):
    """The statistics of a pool of values."""

    unit: Unit
    n: int
    mean: float
    std: float
    """Of the values themselves (divided by n), not an estimate for a larger population."""
    min: float
    max: float
    p50: float
    """Percentiles are interpolated linearly between the two nearest values, as numpy does by default."""
    p75: float
    p90: float
    p95: float
    p99: float


class Pool:
    """Values of one kind."""

    def __init__(self) -> None:
        self._fresh = array("d")
        self._exact: array[float] | None = array("d")
        self._bins = np.zeros(2 * _BINS + 1, dtype=np.int64)
        self._n = 0
        self._mean = 0.0
        self._squares = 0.0
        self._min = math.inf
        self._max = -math.inf

    def __len__(self) -> int:
        return self._n + len(self._fresh)

    @property
    def is_exact(self) -> bool:
        """Whether percentiles are exact as well."""
        return len(self) <= EXACT_UP_TO

    def add(self, values: Iterable[float]) -> None:
        """Add values; none may be NaN."""
        if isinstance(values, np.ndarray):
            self._fresh.frombytes(np.ascontiguousarray(values, dtype=np.float64).tobytes())
        else:
            self._fresh.extend(values)
        if len(self._fresh) >= _FOLDED_AT:
            self._fold()

    @property
    def total(self) -> float:
        """Return the sum of the values."""
        self._fold()
        return self._mean * self._n

    def percentile(self, percent: float) -> float | None:
        """Return a percentile; None without values."""
        self._fold()
        return self._percentiles((percent,))[0] if self._n else None

    def count_below(self, borders: Numbers) -> Numbers:
        """Return how many values are below each border, interpolated within bins."""
        self._fold()
        if self._exact is not None:
            return np.searchsorted(np.sort(np.array(self._exact)), borders).astype(np.float64)
        sizes = _LEAST * _RATIO ** np.arange(_BINS + 1)
        edges = np.concatenate([-sizes[::-1], sizes])
        counted = np.interp(borders, edges, np.concatenate([[0], np.cumsum(self._bins)]))
        return np.where(borders > self._max, float(self._n), np.where(borders <= self._min, 0.0, counted))

    def stats(self, unit: Unit) -> Stats | None:
        """Return the statistics; None without values."""
        self._fold()
        if not self._n:
            return None
        return Stats(
            unit,
            self._n,
            self._mean,
            math.sqrt(self._squares / self._n),
            self._min,
            self._max,
            *self._percentiles((50, 75, 90, 95, 99)),
        )

    def _fold(self) -> None:
        """Process fresh values."""
        if not self._fresh:
            return
        values = np.array(self._fresh)
        self._count(values)
        # Bins are filled from the start, so that a million values never have to be binned at once.
        self._bins += _count_in_bins(values)
        if self._exact is not None and self._n <= EXACT_UP_TO:
            self._exact.extend(self._fresh)
        else:
            self._exact = None
        self._fresh = array("d")

    def _count(self, values: Numbers) -> None:
        """Update number, mean and squared deviations, without losing digits to large sums."""
        n, mean = len(values), float(values.mean())
        total = self._n + n
        apart = mean - self._mean
        self._squares += float(((values - mean) ** 2).sum()) + apart * apart * self._n * n / total
        self._mean += apart * n / total
        self._n = total
        self._min = min(self._min, float(values.min()))
        self._max = max(self._max, float(values.max()))

    def _percentiles(self, percents: tuple[float, ...]) -> list[float]:
        if self._exact is not None:
            return [float(value) for value in np.percentile(np.array(self._exact), percents)]
        up_to = np.cumsum(self._bins)
        return [self._percentile_of_bins(up_to, percent) for percent in percents]

    def _percentile_of_bins(self, up_to: NDArray[np.int64], percent: float) -> float:
        rank = (self._n - 1) * percent / 100
        below = math.floor(rank)
        low, high = (self._nth(up_to, min(nth, self._n - 1)) for nth in (below, below + 1))
        return low + (high - low) * (rank - below)

    def _nth(self, up_to: NDArray[np.int64], nth: int) -> float:
        """Return the middle of the bin that contains the nth smallest value."""
        index = int(np.searchsorted(up_to, nth, side="right")) - _BINS
        middle = _LEAST * _RATIO ** (abs(index) - 0.5) if index else 0.0
        return min(max(math.copysign(middle, index), self._min), self._max)


def _count_in_bins(values: Numbers) -> NDArray[np.int64]:
    """Count values by bin; bin `_BINS` is zero, those below it are the negative ones."""
    sizes = np.abs(values)
    index = np.zeros(len(values), dtype=np.int64)
    is_seen = sizes >= _LEAST
    index[is_seen] = 1 + np.floor(np.log(sizes[is_seen] / _LEAST) / math.log(_RATIO)).astype(np.int64)
    signed = np.minimum(index, _BINS) * np.sign(values).astype(np.int64)
    return np.bincount(signed + _BINS, minlength=2 * _BINS + 1)
