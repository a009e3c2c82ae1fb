"""Intervals and standard errors of means. Knows numbers and clusters, not scores or tasks.

Conventions: intervals are two-sided; `level` is their coverage; an unknown standard error (one observation,
one cluster) is None, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95
POWER = 0.8
"""The probability of detecting a true difference that power calculations assume."""
_SERIES_UP_TO = 100
_EXACT_TAILS_UP_TO = 1_000
_ROUNDING = 1e-12
"""A sum of squares around the mean below this fraction of the sum of squares around 0 is rounding error."""


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A mean with its uncertainty."""

    value: float | None
    low: float | None
    high: float | None
    stderr: float | None
    n: int


NO_ESTIMATE = Estimate(None, None, None, None, 0)
"""The estimate from zero observations."""


@lru_cache(maxsize=64)
def normal_quantile(level: float = LEVEL) -> float:
    """Return z with P(|Z| < z) = level; 1.96 at 0.95."""
    return NormalDist().inv_cdf(0.5 + level / 2)


@lru_cache(maxsize=4096)
def student_quantile(df: int, level: float = LEVEL) -> float:
    """Return t with P(|T| < t) = level for T with `df` degrees of freedom.

    Up to 100 degrees by bisection of the exact finite series for P(|T| < t) (with theta = atan(t/sqrt df):
    odd df  2/pi (theta + sin cos (1 + 2/3 cos^2 + ...)),  even df  sin (1 + 1/2 cos^2 + 3/8 cos^4 + ...));
    above by the Cornish-Fisher expansion around the normal quantile, whose error there is below 1e-6.
    """
    if df < 1:
        raise ValueError(f"degrees of freedom must be at least 1, not {df}")
    z = normal_quantile(level)
    if df > _SERIES_UP_TO:
        first = (z**3 + z) / 4
        second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return z + first / df + second / df**2 + third / df**3
    low, high = 0.0, 1.0
    while _student_coverage(high, df) < level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_coverage(middle, df) < level else (low, middle)
    return (low + high) / 2


def student_p(t: float, df: int) -> float:
    """Return P(|T| > |t|) for T with `df` degrees of freedom: the two-sided p of a mean over its error.

    Uses the exact series up to 1,000 degrees. Above, |t| is converted to the normal deviate with about the
    same tail, z = t (1 - 1/4df) / sqrt(1 + t^2/2df), which is accurate to 1e-6 there.
    """
    t = abs(t)
    if df <= _EXACT_TAILS_UP_TO:
        return max(0.0, 1.0 - _student_coverage(t, df))
    z = t * (1 - 1 / (4 * df)) / math.sqrt(1 + t * t / (2 * df))
    return math.erfc(z / math.sqrt(2))


def _student_coverage(t: float, df: int) -> float:
    theta = math.atan(t / math.sqrt(df))
    sine, cosine = math.sin(theta), math.cos(theta)
    if df == 1:
        return 2 * theta / math.pi
    term = total = cosine if df % 2 else 1.0
    for k in range(2 + df % 2, df, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (theta + sine * total) if df % 2 else sine * total


def wilson(successes: float, n: float, level: float = LEVEL) -> Interval:
    """Return Wilson's score interval for a proportion.

    (p + z^2/2n ± z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n). Never empty, never outside [0, 1]; with
    nothing observed it is [0, 1].
    """
    if n <= 0:
        return Interval(0.0, 1.0)
    z = normal_quantile(level)
    p = successes / n
    shrink = 1 + z * z / n
    middle = (p + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At p = 0 and p = 1 the bound is exact; rounding must not move it.
    return Interval(0.0 if p == 0 else max(0.0, middle - half), 1.0 if p == 1 else min(1.0, middle + half))


def find_smallest_share_difference(discordance: float, n: float) -> float | None:
    """Return the smallest difference d of shares that n pairs detect with 80 % power, at 5 % two-sided.

    d = (z_0.975 sqrt(D) + z_0.8 sqrt(D - d^2)) / sqrt(n), where D is the share of discordant pairs. A
    difference of d needs at least that share, so D is at least d. None if n pairs cannot detect even the
    largest difference, 1.
    """
    if count_pairs_for_share_difference(discordance, 1.0) > n:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if count_pairs_for_share_difference(discordance, middle) > n else (low, middle)
        )
    return high


def count_pairs_for_share_difference(discordance: float, difference: float) -> float:
    """Return the pairs needed to detect a difference of shares with 80 % power."""
    if difference <= 0:
        return math.inf
    apart = max(discordance, difference)
    deviates = normal_quantile() * math.sqrt(apart)
    deviates += normal_quantile(2 * POWER - 1) * math.sqrt(max(0.0, apart - difference * difference))
    return (deviates / difference) ** 2


def standard_error(n: int, total: float, squares: float) -> float | None:
    """Return s / sqrt(n), with Bessel's n - 1, from the count, the sum and the sum of squares."""
    if n < 2:
        return None
    return math.sqrt(_spread(squares - total * total / n, squares) / (n - 1) / n)


def _spread(around_mean: float, around_zero: float) -> float:
    """Return a sum of squares around the mean, or 0 if it is only rounding error."""
    return around_mean if around_mean > _ROUNDING * around_zero else 0.0


def few_clusters_factor(n_clusters: int) -> float:
    """Return G / (G - 1), which corrects for residuals around an estimated mean being too small."""
    return n_clusters / (n_clusters - 1)


def macro(parts: Iterable[Estimate]) -> Estimate:
    """Return the mean of the group means, with equal weights: SE = sqrt(sum se_i^2) / k.

    Groups are assumed independent. The error is None if any group's error is unknown.
    """
    known = [part for part in parts if part.value is not None and part.n]
    return weighted_sum([(1 / len(known), part) for part in known], sum(part.n for part in known))


def weighted_sum(parts: list[tuple[float, Estimate]], n: int) -> Estimate:
    """Return the weighted sum of independent estimates; without an error if one of them has none.

    An estimate with zero spread is not certain: three right of three prove little. Next to estimates with
    spread, the width of its own interval replaces its error. If no estimate has spread, the error is 0 and
    the interval must come from counts.
    """
    if not parts:
        return NO_ESTIMATE
    value = math.fsum(weight * (part.value or 0.0) for weight, part in parts)
    has_spread = any(part.stderr for _, part in parts)
    errors = [
        _estimate_error_by_width(part) if has_spread and part.stderr == 0 else part.stderr
        for _, part in parts
    ]
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return Estimate(value, None, None, None, n)
    stderr = math.sqrt(
        math.fsum((weight * error) ** 2 for (weight, _), error in zip(parts, known, strict=True))
    )
    half = normal_quantile() * stderr
    return Estimate(value, value - half, value + half, stderr, n)


def _estimate_error_by_width(part: Estimate) -> float | None:
    if part.low is None or part.high is None:
        return part.stderr
    return (part.high - part.low) / (2 * normal_quantile())


def clip_estimate(estimate: Estimate, low: float = 0.0, high: float = 1.0) -> Estimate:
    """Return the estimate with its interval clipped to the possible values."""
    if estimate.low is None or estimate.high is None:
        return estimate
    return estimate._replace(low=max(low, estimate.low), high=min(high, estimate.high))


class RunningMean:
    """An accumulator for a mean: count, sum, sum of squares, and the sums of clusters.

    Memory grows with the number of clusters, not of values. A value without a cluster is independent.
    """

    __slots__ = ("_clusters", "_in_clusters", "_in_squares", "_in_sum", "is_binary", "n", "squares", "total")

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self.squares = 0.0
        self.is_binary = True
        self._clusters: dict[Hashable, list[float]] = {}
        # Totals inside clusters; the independent values are the difference.
        self._in_clusters = 0
        self._in_sum = 0.0
        self._in_squares = 0.0

    @classmethod
    def of(cls, values: Iterable[float]) -> RunningMean:
        """Return the accumulator for these values."""
        running = cls()
        for value in values:
            running.add(value)
        return running

    def add(self, value: float, cluster: Hashable | None = None) -> None:
        """Add one value."""
        self.n += 1
        self.total += value
        self.squares += value * value
        if value != 0.0 and value != 1.0:
            self.is_binary = False
        if cluster is not None:
            sums = self._clusters.get(cluster)
            if sums is None:
                self._clusters[cluster] = sums = [0, 0.0]
            sums[0] += 1
            sums[1] += value
            self._in_clusters += 1
            self._in_sum += value
            self._in_squares += value * value

    def merge(self, other: RunningMean) -> None:
        """Add everything from another accumulator; equal cluster names are one cluster."""
        self.n += other.n
        self.total += other.total
        self.squares += other.squares
        self.is_binary = self.is_binary and other.is_binary
        self._in_clusters += other._in_clusters
        self._in_sum += other._in_sum
        self._in_squares += other._in_squares
        for cluster, (n, total) in other._clusters.items():
            sums = self._clusters.setdefault(cluster, [0, 0.0])
            sums[0] += n
            sums[1] += total

    @property
    def mean(self) -> float | None:
        """Return the mean so far."""
        return self.total / self.n if self.n else None

    @property
    def n_clusters(self) -> int:
        """Return the number of independent units: clusters, plus values without a cluster."""
        return len(self._clusters) + self.n - self._in_clusters

    @property
    def is_clustered(self) -> bool:
        """Whether some cluster contains more than one value."""
        return self.n_clusters < self.n

    def stderr(self) -> float | None:
        """Return the standard error of the mean, cluster-robust if there are clusters."""
        return (
            self.clustered_stderr() if self.is_clustered else standard_error(self.n, self.total, self.squares)
        )

    def clustered_stderr(self) -> float | None:
        """Return the cluster-robust standard error of the mean.

        sqrt(G / (G - 1) · sum over clusters of (sum of residuals)^2) / n, with G clusters. With one value per
        cluster it equals the simple standard error. None with fewer than two clusters, where it would be 0
        for any data.
        """
        if self.n_clusters < 2:
            return None
        mean = self.total / self.n
        alone, total = self.n - self._in_clusters, self.total - self._in_sum
        squares = (self.squares - self._in_squares) - 2 * mean * total + alone * mean * mean
        squares = max(0.0, squares) + math.fsum((s - n * mean) ** 2 for n, s in self._clusters.values())
        return math.sqrt(_spread(squares, self.squares) * few_clusters_factor(self.n_clusters)) / self.n

    def student(self, level: float = LEVEL) -> Estimate:
        """Return mean ± t · stderr, with one degree of freedom less than there are independent units."""
        if not self.n:
            return NO_ESTIMATE
        value, stderr = self.total / self.n, self.stderr()
        if stderr is None:
            return Estimate(value, None, None, None, self.n)
        half = student_quantile(self.n_clusters - 1, level) * stderr
        return Estimate(value, value - half, value + half, stderr, self.n)

    def proportion(self, level: float = LEVEL) -> Estimate:
        """Return the proportion of ones.

        Without clusters: Wilson's interval. With clusters: mean ± t · clustered stderr, clipped to [0, 1]. t
        is Student's with one degree of freedom less than clusters, because a normal quantile is too narrow
        for few clusters. If that error is unknown or 0 (one cluster, all right, all wrong), each cluster
        counts as one observation in Wilson's interval, which is wide but honest.
        """
        if not self.n:
            return NO_ESTIMATE
        value, stderr = self.total / self.n, self.stderr()
        if self.is_clustered and stderr:
            half = student_quantile(self.n_clusters - 1, level) * stderr
            return clip_estimate(Estimate(value, value - half, value + half, stderr, self.n))
        units = self.n_clusters
        low, high = wilson(value * units, units, level)
        return Estimate(value, low, high, stderr, self.n)

    def estimate(self, level: float = LEVEL) -> Estimate:
        """Return the mean with a proportion's interval if all values are 0 or 1, else Student's."""
        return self.proportion(level) if self.is_binary else self.student(level)
