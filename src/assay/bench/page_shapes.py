"""Reduce long lists of numbers for drawing: bins, cumulative curves, rates over time.

Pure functions of arrays, independent of calls and of drawing.
"""

from __future__ import annotations

import math

import numpy as np

from assay.bench.page_data import Buckets, Curve, Histogram
from assay.bench.pool import Numbers, Pool

N_BINS = 48
N_CURVE = 160
WIDE = 10.0
"""Values whose greatest is this many times their smallest (but for 1 %) get a logarithmic axis."""
_DECADES = 5
"""The maximum ratio between the ends of a logarithmic axis."""


def build_histogram(pool: Pool, n_bins: int = N_BINS) -> Histogram:
    """Count the values of a pool (at least one) in about this many bins, logarithmic for a wide range."""
    least, usual, greatest = (_percentile(pool, percent) for percent in (0, 1, 100))
    if usual > 0 and greatest / usual > WIDE:
        lowest = max(least, usual / 3, greatest / 10**_DECADES)
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


def _percentile(pool: Pool, percent: float) -> float:
    value = pool.percentile(percent)
    assert value is not None
    return value


def _even_edges(least: float, greatest: float, n_bins: int) -> Numbers:
    # Values that differ in their last digits only would have bins that floats cannot tell apart.
    step = choose_round_step(max(greatest - least, abs(greatest) * 1e-6, 1e-9) / n_bins)
    first = math.floor(least / step)
    if first * step > least:
        first -= 1
    last = math.floor(greatest / step) + 1
    if last * step <= greatest:
        last += 1
    return np.arange(first, last + 1, dtype=np.float64) * step


def _log_edges(least: float, greatest: float, n_bins: int) -> Numbers:
    per_decade = max(4, round(n_bins / math.log10(greatest / least)))
    first = math.floor(math.log10(least) * per_decade)
    last = math.floor(math.log10(greatest) * per_decade) + 1
    edges: Numbers = 10.0 ** (np.arange(first, last + 1) / per_decade)
    if edges[-1] <= greatest:
        edges = np.append(edges, 10.0 ** ((last + 1) / per_decade))
    return edges


def choose_round_step(least: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5 times a power of ten that is no smaller than this."""
    power = 10.0 ** math.floor(math.log10(least))
    # With a tolerance, so that 0.30000000000000004 / 3 is still 0.1.
    return next(
        (one * power for one in (1.0, 2.0, 2.5, 5.0) if one * power >= least * (1 - 1e-9)), 10 * power
    )


def build_cumulative_curve(pool: Pool, over: Histogram, n_points: int = N_CURVE) -> Curve:
    """Return the fraction of values below each of many points, evenly spaced on a histogram's axis."""
    first, last = over.edges[0], over.edges[-1]
    xs = np.geomspace(first, last, n_points) if over.is_log else np.linspace(first, last, n_points)
    # The spacing functions may end just before the last edge, and the greatest value is just below it.
    xs[-1] = last
    return Curve(tuple(xs.tolist()), tuple((pool.count_below(xs) / len(pool)).tolist()))


def bucket_width(duration: float, n_max: int) -> float:
    """Return the smallest round width that divides a duration into at most this many intervals."""
    return choose_round_step(max(duration, 1e-3) / n_max)


def bucket_edges(duration: float, width: float) -> Numbers:
    """Return the edges of intervals from 0 to the end of a duration.

    A remainder shorter than half a width is joined to the last whole interval: a
    rate over a few milliseconds would be a meaningless spike.
    """
    n = max(math.floor(duration / width + 0.5), 1)
    edges = np.arange(n + 1, dtype=np.float64) * width
    edges[-1] = duration if duration > 0 else width
    return edges


def compute_rates_from_counts(counted: Numbers, edges: Numbers, width: float) -> Buckets:
    """Return the rate in each interval, from the counts up to each edge."""
    return Buckets(width, float(edges[-1]), tuple((np.diff(counted) / np.diff(edges)).tolist()))


def compute_rate(times: Numbers, duration: float, width: float) -> Buckets:
    """Return the number of times per second in each interval; all are within the duration."""
    edges = bucket_edges(duration, width)
    counts, _ = np.histogram(times, edges)
    return compute_rates_from_counts(np.concatenate([[0], np.cumsum(counts)]), edges, width)


def compute_means_and_peaks(
    times: Numbers, values: Numbers, duration: float, width: float
) -> tuple[Buckets, Buckets]:
    """Return mean and maximum of the values (not negative) in each interval; 0 without values."""
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
