"""Counts over time, for a load whose duration is not known in advance."""

from __future__ import annotations

import math

import numpy as np

from assay.bench.pool import Numbers

_FINEST_S = 2.0**-10  # A power of two, so that two buckets merge exactly into one of twice the width.
_MOST = 8_192


class CountsOverTime:
    """Several counts in the same time buckets, which double their width when there are too many."""

    def __init__(self, n_rows: int) -> None:
        self._width = _FINEST_S
        self._first = 0
        self._counts = np.zeros((n_rows, 0))

    def add(self, row: int, times: Numbers, weights: Numbers | None = None) -> None:
        """Count events at these times, each as 1 or with its weight."""
        if not len(times):
            return
        self._cover(float(times.min()), float(times.max()))
        at = np.floor(times / self._width).astype(np.int64) - self._first
        self._counts[row] += np.bincount(at, weights=weights, minlength=self._counts.shape[1])

    def count_before(self, row: int, moments: Numbers) -> Numbers:
        """Return the count before each moment, interpolated within a bucket."""
        n = self._counts.shape[1]
        edges = (self._first + np.arange(n + 1)) * self._width
        counted: Numbers = np.interp(moments, edges, np.concatenate([[0.0], np.cumsum(self._counts[row])]))
        return counted

    def buckets(self, at_most: int) -> tuple[float, float, list[list[float]]]:
        """Return the start of the first bucket, the width of each, and the counts of each row."""
        n_rows, n = self._counts.shape
        if not n:
            return 0.0, self._width, [[] for _ in range(n_rows)]
        merged = math.ceil(n / at_most)
        padded = np.pad(self._counts, ((0, 0), (0, -n % merged)))
        counts = padded.reshape(n_rows, -1, merged).sum(axis=2)
        return self._first * self._width, self._width * merged, counts.tolist()

    def _cover(self, low: float, high: float) -> None:
        """Extend the buckets to cover the time from low to high."""
        n_rows, n = self._counts.shape
        while True:
            first, last = math.floor(low / self._width), math.floor(high / self._width)
            if n:
                first, last = min(first, self._first), max(last, self._first + n - 1)
            if last - first < _MOST:
                break
            self._double()
            n = self._counts.shape[1]
        if last - first + 1 == n:
            return
        counts = np.zeros((n_rows, last - first + 1))
        if n:
            counts[:, self._first - first : self._first - first + n] = self._counts
        self._first, self._counts = first, counts

    def _double(self) -> None:
        n_rows, n = self._counts.shape
        before = self._first % 2
        padded = np.pad(self._counts, ((0, 0), (before, (before + n) % 2)))
        self._counts = padded.reshape(n_rows, -1, 2).sum(axis=2)
        self._first //= 2
        self._width *= 2
