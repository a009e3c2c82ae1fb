"""Histograms and calibration bins of long lists of numbers. Pure functions of arrays."""

from __future__ import annotations

import math
from array import array
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.results.pages.data import Bin, Calibration, Distribution, ThinkingBin, ThinkingCurve
from assay.scoring.statistics import wilson

Numbers: TypeAlias = NDArray[np.float64]

_N_BINS = 10
_N_BARS = 40
_N_THINKING_BINS = 8
_LEAST_IN_BIN = 10
"""Fewer samples say little about an accuracy."""
_WIDE = 30.0
"""The axis is logarithmic if the maximum is more than this many times the median."""
_LEAST_RANGE = 1e-9
"""Values with a smaller relative range count as equal."""


def compute_calibration(task: str, track: str, given: array[float], was_right: array[float]) -> Calibration:
    """Compare confidence with accuracy in ten bins."""
    sure, right = np.frombuffer(given), np.frombuffer(was_right)
    bins = []
    places = np.minimum((sure * _N_BINS).astype(int), _N_BINS - 1)
    error = 0.0
    for place in range(_N_BINS):
        chosen = places == place
        n = int(chosen.sum())
        if n:
            confidence, share = float(sure[chosen].mean()), float(right[chosen].mean())
            low, high = wilson(share * n, n)
            bins.append(Bin(n, confidence, share, low, high))
            error += n / len(sure) * abs(confidence - share)
    return Calibration(task, track, len(sure), error, tuple(bins))


def compute_thinking_curve(
    task: str, track: str, thinking: array[float], was_right: array[float]
) -> ThinkingCurve:
    """Compare accuracy between thoughts of different lengths, in up to eight bins of equal size.

    Samples with equal thoughts stay together.
    """
    order = np.argsort(np.frombuffer(thinking), kind="stable")
    tokens, right = np.frombuffer(thinking)[order], np.frombuffer(was_right)[order]
    n_bins = max(1, min(_N_THINKING_BINS, len(tokens) // _LEAST_IN_BIN))
    cuts = {int(np.searchsorted(tokens, tokens[len(tokens) * nth // n_bins])) for nth in range(n_bins)}
    edges = [*sorted(cuts), len(tokens)]
    bins = []
    for begin, end in pairwise(edges):
        n, share = end - begin, float(right[begin:end].mean())
        low, high = wilson(share * n, n)
        least, most = int(tokens[begin]), int(tokens[end - 1])
        bins.append(ThinkingBin(n, least, most, float(tokens[begin:end].mean()), share, low, high))
    return ThinkingCurve(task, track, len(tokens), tuple(bins))


def compute_distribution(name: str, unit: str, track: str, values: array[float]) -> Distribution:
    """Count values in bins: logarithmic for a wide range, of integer width for tokens."""
    numbers = np.frombuffer(values)
    edges: Numbers
    low, greatest = float(numbers.min()), float(numbers.max())
    p50, p90, p99 = (float(one) for one in np.percentile(numbers, (50, 90, 99)))
    is_log = low > 0 and greatest > _WIDE * p50
    if is_log:
        edges = np.geomspace(low, greatest, _N_BARS + 1)
    elif unit == "tokens":
        step = max(1, math.ceil((greatest - low + 1) / _N_BARS))
        edges = np.arange(low, greatest + step + 1, step)
    else:
        # Equal requests of one batch share its time and differ only by rounding: there is no range to split.
        is_range = greatest - low > _LEAST_RANGE * max(abs(low), abs(greatest))
        edges = np.linspace(low, greatest if is_range else low + (abs(low) or 1.0), _N_BARS + 1)
    counts, edges = np.histogram(numbers, edges)
    return Distribution(
        name=name,
        unit=unit,
        task=None,
        method=track,
        n=len(numbers),
        mean=float(numbers.mean()),
        p50=p50,
        p90=p90,
        p99=p99,
        greatest=greatest,
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        is_log=is_log,
    )
