"""Ratios of two sums over a corpus, with their uncertainty. Knows numbers and clusters, not scores or tasks.

A perplexity is e to the power of such a ratio: the negative log-likelihood of all texts divided by the number
of all tokens. It is not a mean over texts, so its error comes from the delta method: with R = sum y / sum x,
the error follows from the residuals y - R x.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from assay.scoring.statistics import LEVEL, NO_ESTIMATE, Estimate, few_clusters_factor, student_quantile


class RunningRatio:
    """An accumulator for a ratio. Memory grows with the number of clusters, not of pairs."""

    __slots__ = ("_alone", "_clusters", "_n_alone_counting", "is_exponential", "n", "x", "y")

    def __init__(self, *, is_exponential: bool = False) -> None:
        self.is_exponential = is_exponential
        """Whether the estimate is e to the power of the ratio."""
        self.n = 0
        self.y = 0.0
        self.x = 0.0
        self._alone = _Products()
        """Sums over the pairs without a cluster."""
        self._n_alone_counting = 0
        self._clusters: dict[Hashable, list[float]] = {}
        """For each cluster: number of pairs, sum of y, sum of x."""

    def add(self, y: float, x: float, cluster: Hashable | None = None) -> None:
        """Add one pair: its part of the numerator and of the denominator."""
        self.n += 1
        self.y += y
        self.x += x
        if cluster is None:
            self._alone.add(y, x)
            self._n_alone_counting += x > 0
            return
        sums = self._clusters.setdefault(cluster, [0, 0.0, 0.0])
        sums[0] += 1
        sums[1] += y
        sums[2] += x

    def merge(self, other: RunningRatio) -> None:
        """Add everything from another accumulator; equal cluster names are one cluster."""
        self.n += other.n
        self.y += other.y
        self.x += other.x
        self._alone.merge(other._alone)
        self._n_alone_counting += other._n_alone_counting
        for cluster, (n, y, x) in other._clusters.items():
            sums = self._clusters.setdefault(cluster, [0, 0.0, 0.0])
            sums[0] += n
            sums[1] += y
            sums[2] += x

    @property
    def n_units(self) -> int:
        """Return the number of independent units: clusters, plus pairs without a cluster."""
        return len(self._clusters) + self._alone.n

    @property
    def n_counting(self) -> int:
        """Return the number of units with a part in the denominator; an unjudged row has none."""
        return self._n_alone_counting + sum(x > 0 for _, _, x in self._clusters.values())

    def stderr(self) -> float | None:
        """Return the standard error of the ratio: sqrt(G / (G - 1) · sum of squared residuals) / sum x.

        G is the number of units: clusters, plus pairs without a cluster. None with fewer than two units.
        """
        if self.n_units < 2 or self.x <= 0:
            return None
        ratio = self.y / self.x
        squares = self._alone.squared_residuals(ratio)
        squares += math.fsum((y - ratio * x) ** 2 for _, y, x in self._clusters.values())
        return math.sqrt(squares * few_clusters_factor(self.n_units)) / self.x

    def estimate(self, level: float = LEVEL) -> Estimate:
        """Return the value with its interval: ratio ± t · error, exponentiated if `is_exponential`.

        An interval of the ratio is an interval of the perplexity in log space, so it never falls below 0.
        """
        if self.x <= 0:
            return NO_ESTIMATE
        ratio, stderr = self.y / self.x, self.stderr()
        value = self._scale_value(ratio)
        if value is None or stderr is None:
            return Estimate(value, None, None, None, self.n)
        half = student_quantile(self.n_units - 1, level) * stderr
        low, high = self._scale_value(ratio - half), self._scale_value(ratio + half)
        if low is None or high is None:
            return Estimate(value, None, None, None, self.n)
        return Estimate(value, low, high, value * stderr if self.is_exponential else stderr, self.n)

    def _scale_value(self, ratio: float) -> float | None:
        """Return the value of a ratio; None if it overflows, as for a text without words."""
        try:
            return math.exp(ratio) if self.is_exponential else ratio
        except OverflowError:
            return None


class _Products:
    """Sums of squares and products of pairs, centered on running means to avoid losing digits."""

    __slots__ = ("mean_x", "mean_y", "n", "xx", "xy", "yy")

    def __init__(self) -> None:
        self.n = 0
        self.mean_y = self.mean_x = 0.0
        self.yy = self.xy = self.xx = 0.0

    def add(self, y: float, x: float) -> None:
        self.n += 1
        from_y, from_x = y - self.mean_y, x - self.mean_x
        self.mean_y += from_y / self.n
        self.mean_x += from_x / self.n
        self.yy += from_y * (y - self.mean_y)
        self.xy += from_x * (y - self.mean_y)
        self.xx += from_x * (x - self.mean_x)

    def merge(self, other: _Products) -> None:
        if not other.n:
            return
        n = self.n + other.n
        from_y, from_x = other.mean_y - self.mean_y, other.mean_x - self.mean_x
        weight = self.n * other.n / n
        self.yy += other.yy + from_y * from_y * weight
        self.xy += other.xy + from_x * from_y * weight
        self.xx += other.xx + from_x * from_x * weight
        self.mean_y += from_y * other.n / n
        self.mean_x += from_x * other.n / n
        self.n = n

    def squared_residuals(self, ratio: float) -> float:
        """Return the sum of (y - ratio x)^2."""
        if not self.n:
            return 0.0
        spread = self.yy - 2 * ratio * self.xy + ratio * ratio * self.xx
        away = self.mean_y - ratio * self.mean_x
        return max(0.0, spread) + self.n * away * away
