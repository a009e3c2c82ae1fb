"""Long lists of numbers made short enough to draw: bins, cumulative curves, thinned steps, rates over time.

Pure functions of arrays; knows nothing of calls or of drawing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assay.bench.page_data import Buckets, Curve, Distribution, Histogram, Spread

Floats = NDArray[np.float64]

N_BINS = 48
N_CURVE = 160
WIDE = 10.0
"""Values whose greatest is this many times their smallest (but for 1 %) get a logarithmic axis."""
_DECADES = 5
"""A logarithmic axis reaches down so far from the greatest value at most."""


class Pool(Protocol):
    """Values of one quantity, kept in some way that answers these questions."""

    @property
    def n(self) -> int:
        """Return how many values there are."""

    def moments(self) -> tuple[float, float, float, float]:
        """Return mean, standard deviation, least and greatest of the values; there is at least one."""

    def quantiles(self, shares: Sequence[float]) -> Floats:
        """Return the value below which each share of the values lies; there is at least one value."""

    def count_below(self, xs: Floats) -> Floats:
        """Return how many values are below each x."""


class Values:
    """A pool that keeps each value."""

    def __init__(self, values: Floats) -> None:
        """Take values in any order."""
        self._sorted = np.sort(values)

    @property
    def n(self) -> int:
        """Return how many values there are."""
        return int(self._sorted.size)

    def moments(self) -> tuple[float, float, float, float]:
        """Return mean, standard deviation, least and greatest."""
        values = self._sorted
        return float(values.mean()), float(values.std()), float(values[0]), float(values[-1])

    def quantiles(self, shares: Sequence[float]) -> Floats:
        """Return quantiles, by the line between the two nearest values."""
        return np.quantile(self._sorted, shares)

    def count_below(self, xs: Floats) -> Floats:
        """Return how many values are below each x."""
        return np.searchsorted(self._sorted, xs, side="left").astype(np.float64)


class LogCounts:
    """A pool of any number of values in fixed memory: counted in bins that are 0.1 % wide.

    For gaps between pieces of text, of which a load may have a hundred million. Count, mean, deviation,
    least and greatest value are exact; a quantile is off by 0.1 % at most. Values below a microsecond share
    one bin.
    """

    _LEAST = 1e-6
    _GREATEST = 1e5
    _RATIO = 1.001

    def __init__(self) -> None:
        """Begin without values."""
        n_bins = math.ceil(math.log(self._GREATEST / self._LEAST) / math.log(self._RATIO))
        self._edges = np.concatenate(([0.0], self._LEAST * self._RATIO ** np.arange(n_bins + 1)))
        self._counts = np.zeros(n_bins + 1, dtype=np.int64)
        self._sum = 0.0
        self._squares = 0.0
        self._min = math.inf
        self._max = -math.inf

    def add(self, values: Floats) -> None:
        """Count values that are not negative."""
        if not values.size:
            return
        bins = np.searchsorted(self._edges, values, side="right") - 1
        np.add.at(self._counts, np.minimum(bins, self._counts.size - 1), 1)
        self._sum += float(values.sum())
        self._squares += float(np.square(values).sum())
        self._min = min(self._min, float(values.min()))
        self._max = max(self._max, float(values.max()))

    @property
    def n(self) -> int:
        """Return how many values there are."""
        return int(self._counts.sum())

    def moments(self) -> tuple[float, float, float, float]:
        """Return mean, standard deviation, least and greatest."""
        mean = self._sum / self.n
        return mean, math.sqrt(max(self._squares / self.n - mean * mean, 0.0)), self._min, self._max

    def quantiles(self, shares: Sequence[float]) -> Floats:
        """Return quantiles, as if the values of a bin lay evenly in it."""
        below = np.concatenate(([0], np.cumsum(self._counts)))
        found: Floats = np.interp(np.asarray(shares) * self.n, below, self._edges)
        return np.minimum(np.maximum(found, self._min), self._max)

    def count_below(self, xs: Floats) -> Floats:
        """Return how many values are below each x, as if the values of a bin lay evenly in it."""
        below = np.concatenate(([0], np.cumsum(self._counts)))
        counted = np.interp(xs, self._edges, below)
        return np.where(xs > self._max, float(self.n), np.where(xs <= self._min, 0.0, counted))


def spread(name: str, title: str, pool: Pool, absent: str = "") -> Spread:
    """Return the statistics of a pool; `absent` says why, should it be empty."""
    if pool.n == 0:
        return Spread(name, title, 0, absent=absent)
    p50, p75, p90, p95, p99 = (float(one) for one in pool.quantiles((0.5, 0.75, 0.9, 0.95, 0.99)))
    mean, std, least, greatest = pool.moments()
    return Spread(name, title, pool.n, mean, std, least, greatest, p50, p75, p90, p95, p99)


def distribution(of: Spread, pool: Pool) -> Distribution:
    """Return how the values of a pool with at least one are spread."""
    binned = histogram(pool)
    return Distribution(of, binned, cumulative(pool, binned))


def histogram(pool: Pool, n_bins: int = N_BINS) -> Histogram:
    """Count the values of a pool (at least one) in about so many bins, logarithmic where wide."""
    _, _, least, greatest = pool.moments()
    usual = float(pool.quantiles((0.01,))[0])
    if usual > 0 and greatest / usual > WIDE:
        lowest = max(least, min(usual, greatest) / 10, greatest / 10**_DECADES)
        edges, is_log = _log_edges(lowest, greatest, n_bins), True
    else:
        edges, is_log = _even_edges(least, greatest, n_bins), False
    below = pool.count_below(edges)
    return Histogram(
        edges=tuple(edges.tolist()),
        counts=tuple(np.diff(below).tolist()),
        n_below=float(below[0]),
        is_log=is_log,
    )


def _even_edges(least: float, greatest: float, n_bins: int) -> Floats:
    step = round_step((greatest - least or abs(greatest) or 1.0) / n_bins)
    first = math.floor(least / step)
    if first * step > least:
        first -= 1
    last = math.floor(greatest / step) + 1
    if last * step <= greatest:
        last += 1
    return np.arange(first, last + 1, dtype=np.float64) * step


def _log_edges(least: float, greatest: float, n_bins: int) -> Floats:
    per_decade = max(4, round(n_bins / math.log10(greatest / least)))
    first = math.floor(math.log10(least) * per_decade)
    last = math.floor(math.log10(greatest) * per_decade) + 1
    edges: Floats = 10.0 ** (np.arange(first, last + 1) / per_decade)
    if edges[-1] <= greatest:
        edges = np.append(edges, 10.0 ** ((last + 1) / per_decade))
    return edges


def round_step(least: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5 times a power of ten that is no smaller than this."""
    power = 10.0 ** math.floor(math.log10(least))
    # A hair of tolerance, so that 0.30000000000000004 / 3 is still 0.1.
    return next(
        (one * power for one in (1.0, 2.0, 2.5, 5.0) if one * power >= least * (1 - 1e-9)), 10 * power
    )


def cumulative(pool: Pool, over: Histogram, n_points: int = N_CURVE) -> Curve:
    """Return the share of values below each of many places, even along a histogram's axis."""
    first, last = over.edges[0], over.edges[-1]
    xs = np.geomspace(first, last, n_points) if over.is_log else np.linspace(first, last, n_points)
    # The spacing functions may end a hair before the last edge, and the greatest value lies just below it.
    xs[-1] = last
    return Curve(tuple(xs.tolist()), tuple((pool.count_below(xs) / pool.n).tolist()))


def thin_steps(times: Floats, levels: NDArray[np.int64], n_max: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return at most so many of the steps (4 or more), with the peaks of every stretch of time among them.

    Time is cut into even stretches; of each the first, lowest, highest and last step stay, so that a picture
    whose columns are the stretches is the same.
    """
    if times.size <= n_max:
        return times, levels
    n_columns = max(n_max // 4, 1)
    width = (times[-1] - times[0]) / n_columns or 1.0
    columns = np.minimum((times - times[0]) / width, n_columns - 1).astype(np.int64)
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    kept: set[int] = set()
    for start, end in zip(starts, [*starts[1:], times.size], strict=True):
        part = levels[start:end]
        kept |= {int(start), int(end - 1), int(start + part.argmin()), int(start + part.argmax())}
    chosen = np.array(sorted(kept))
    return times[chosen], levels[chosen]


class TimeCounts:
    """What happens over time, counted in fixed memory: in stretches that grow with the time they cover."""

    _N = 8192

    def __init__(self) -> None:
        """Begin with nothing, in stretches of about a millisecond."""
        self._width = 2.0**-10
        self._counts = np.zeros(self._N)
        self._first = 0
        self._used: tuple[int, int] | None = None

    def add(self, times: Floats, weight: float) -> None:
        """Count so much at each of the times (at least one)."""
        cells = np.floor(times / self._width).astype(np.int64)
        low, high = int(cells.min()), int(cells.max())
        if self._used is not None:
            low, high = min(low, self._used[0]), max(high, self._used[1])
        while high - low >= self._N:
            self._widen()
            cells, low, high = cells // 2, low // 2, high // 2
        if self._used is None:
            self._first = low
        elif low < self._first or high >= self._first + self._N:
            self._counts = np.roll(self._counts, self._first - low)
            self._first = low
        self._used = low, high
        np.add.at(self._counts, cells - self._first, weight)

    def _widen(self) -> None:
        first, cells = self._first // 2, (self._first + np.arange(self._N)) // 2
        counts = np.zeros(self._N)
        np.add.at(counts, cells - first, self._counts)
        self._counts, self._first, self._width = counts, first, self._width * 2

    @property
    def total(self) -> float:
        """Return what was counted in all."""
        return float(self._counts.sum())

    def per_second(self, start: float, duration: float, width: float) -> Buckets:
        """Return the rate in stretches from `start`; an edge that cuts a cell divides its count."""
        edges = bucket_edges(duration, width)
        cells = (self._first + np.arange(self._N + 1)) * self._width
        counted = np.interp(start + edges, cells, np.concatenate(([0.0], np.cumsum(self._counts))))
        # What lies in the cells of the very first and last moment belongs to the load.
        counted[0], counted[-1] = 0.0, self.total
        return Buckets(width, float(edges[-1]), tuple((np.diff(counted) / np.diff(edges)).tolist()))


def bucket_width(duration: float, n_max: int) -> float:
    """Return the smallest round width that cuts a duration into at most so many stretches."""
    return round_step(max(duration, 1e-3) / n_max)


def bucket_edges(duration: float, width: float) -> Floats:
    """Return the borders of stretches from 0 to the end of a duration.

    What is left over after the last whole stretch is joined to it when it is shorter than half a width: a
    rate over a few milliseconds would be a spike that means nothing.
    """
    n = max(math.floor(duration / width + 0.5), 1)
    edges = np.arange(n + 1, dtype=np.float64) * width
    edges[-1] = duration if duration > 0 else width
    return edges


def rate(times: Floats, duration: float, width: float) -> Buckets:
    """Return how many of the times, all within the duration, fall into each second, stretch by stretch."""
    edges = bucket_edges(duration, width)
    counts, _ = np.histogram(times, edges)
    return Buckets(width, float(edges[-1]), tuple((counts / np.diff(edges)).tolist()))


def means_and_peaks(times: Floats, values: Floats, duration: float, width: float) -> tuple[Buckets, Buckets]:
    """Return mean and greatest of the values (not negative) in each stretch; 0 where a stretch has none."""
    edges = bucket_edges(duration, width)
    n = edges.size - 1
    places = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, n - 1)
    counts = np.bincount(places, minlength=n)
    sums = np.bincount(places, weights=values, minlength=n)
    peaks = np.zeros(n)
    np.maximum.at(peaks, places, values)
    end = float(edges[-1])
    means = sums / np.maximum(counts, 1)
    return Buckets(width, end, tuple(means.tolist())), Buckets(width, end, tuple(peaks.tolist()))
