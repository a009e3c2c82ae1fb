"""Statistics of paired differences: intervals, tests and power. Knows numbers and clusters, not runs.

Differences are second minus first: a positive one means that the second column has larger values.
docs/guides/compare-runs.md lists the formulas. Intervals are two-sided 95 %, tests are two-sided; an unknown
value (one pair, no spread) is None, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.results.comparison import Fourfold, PairedDifference
from assay.scoring.statistics import (
    POWER,
    Interval,
    count_pairs_for_share_difference,
    few_clusters_factor,
    find_smallest_share_difference,
    normal_quantile,
    student_p,
    student_quantile,
)

Numbers: TypeAlias = NDArray[np.float64]
Clusters: TypeAlias = NDArray[np.int64]
"""One number per pair; pairs with the same number are not independent. A single pair has its own number."""

_DEVIATES = normal_quantile() + normal_quantile(2 * POWER - 1)
"""The size in standard errors of a true difference that is detected with that power, at 5 % two-sided."""
_ROUNDING = 1e-13
"""A standard error smaller than this, relative to the values, is rounding noise: the values are constant."""


def compare_shares(a: Numbers, b: Numbers, clusters: Clusters | None = None) -> PairedDifference:
    """Compare right (1) and wrong (0) answers.

    Independent pairs: Tango's score interval and McNemar's exact test. With clusters: mean difference ± t ·
    clustered error, and its test. If that error is 0 or unknown, each cluster counts as one pair instead.
    """
    n = len(a)
    table = Fourfold(*(int(np.sum(cell)) for cell in (a * b, a * (1 - b), (1 - a) * b, (1 - a) * (1 - b))))
    n_units = _count_units(n, clusters)
    if n_units < n and (stderr := _stderr(b - a, clusters, 1.0)):
        return msgspec.structs.replace(
            _compare_by_student(a, b, n_units, stderr, -1.0, 1.0), fourfold=table, p_mid=None
        )
    weight = n_units / n if n else 0.0
    only_a, only_b = table.only_a * weight, table.only_b * weight
    interval = tango(only_a, only_b, n_units) if n else None
    counted = (round(only_a), round(only_b))
    discordance = (only_a + only_b) / n_units if n else 0.0
    return PairedDifference(
        n,
        n_units,
        _mean(a),
        _mean(b),
        _mean(b - a),
        interval.low if interval else None,
        interval.high if interval else None,
        _stderr(b - a, clusters, 1.0),
        mcnemar(*counted) if n else None,
        "mcnemar",
        mcnemar_mid_p(*counted) if n else None,
        table,
        find_smallest_share_difference(discordance, n_units) if n else None,
        _convert_to_pairs(count_pairs_for_share_difference(discordance, 0.01), weight) if n else None,
    )


def compare_means(a: Numbers, b: Numbers, clusters: Clusters | None = None) -> PairedDifference:
    """Compare means: mean difference ± t · error, with one degree of freedom fewer than units."""
    size = max(_find_largest_magnitude(a), _find_largest_magnitude(b))
    return _compare_by_student(a, b, _count_units(len(a), clusters), _stderr(b - a, clusters, size))


def compare_ratios(
    a: tuple[Numbers, Numbers],
    b: tuple[Numbers, Numbers],
    clusters: Clusters | None = None,
    *,
    is_exponential: bool,
) -> PairedDifference:
    """Compare ratios of sums, given as numerators and denominators, by the delta method.

    With R = sum y / sum x, a pair contributes (y_b - R_b x_b) / sum x_b - (y_a - R_a x_a) / sum x_a to the
    error of R_b - R_a. If the value is e to the power of R, the difference is the ratio of both values.
    """
    n = len(a[0])
    n_units = _count_units(n, clusters)
    totals = [(float(y.sum()), float(x.sum())) for y, x in (a, b)]
    if any(x <= 0 for _, x in totals):
        return PairedDifference(n, n_units, None, None, None, None, None, None, None, "student")
    ratios = [y / x for y, x in totals]
    parts = [
        (y - ratio * x) / total for (y, x), ratio, (_, total) in zip((a, b), ratios, totals, strict=True)
    ]
    gap = ratios[1] - ratios[0]
    # The sum of n parts is n times their mean, so its error is n times the error of the mean.
    size = max(_find_largest_magnitude(y) / total for (y, _), (_, total) in zip((a, b), totals, strict=True))
    error = _stderr(parts[1] - parts[0], clusters, size)
    stderr = None if error is None else n * error
    half = student_quantile(n_units - 1) * stderr if stderr else None
    scaled = _exponential if is_exponential else _return_unchanged
    smallest = _DEVIATES * stderr if stderr else None
    point = math.log(1.01) if is_exponential else 0.01
    return PairedDifference(
        n,
        n_units,
        scaled(ratios[0]),
        scaled(ratios[1]),
        scaled(gap),
        None if half is None else scaled(gap - half),
        None if half is None else scaled(gap + half),
        stderr,
        _student_test(gap, stderr, n_units),
        "student",
        smallest=None if smallest is None else scaled(smallest),
        n_for_a_point=None if smallest is None else math.ceil(n * (smallest / point) ** 2),
    )


def average_differences(parts: Sequence[PairedDifference]) -> PairedDifference | None:
    """Return the unweighted mean of differences of independent parts; None if a part has no difference.

    Its error is sqrt(sum of squared errors) / parts, its interval and test those of a normal mean. A part's
    error is at least the one that McNemar's test assumes, sqrt(D / n) with D the share of discordant pairs:
    three pairs with the same difference have no spread, but prove nothing.
    """
    known = [(one.a, one.b, one.difference) for one in parts]
    values = [(a, b, gap) for a, b, gap in known if a is not None and b is not None and gap is not None]
    if not parts or len(values) < len(parts):
        return None
    k = len(parts)
    a, b, gap = (math.fsum(column) / k for column in zip(*values, strict=True))
    n, n_units = sum(one.n for one in parts), sum(one.n_units for one in parts)
    errors = [error for error in map(_compute_part_error, parts) if error is not None]
    if len(errors) < k or not any(errors):
        return PairedDifference(n, n_units, a, b, gap, None, None, None, None, "student")
    stderr = math.sqrt(math.fsum(error * error for error in errors)) / k
    half = normal_quantile() * stderr
    furthest = 1.0 if all(one.fourfold is not None for one in parts) else math.inf
    smallest = _DEVIATES * stderr
    return PairedDifference(
        n,
        n_units,
        a,
        b,
        gap,
        max(-furthest, gap - half),
        min(furthest, gap + half),
        stderr,
        math.erfc(abs(gap) / stderr / math.sqrt(2)),
        "student",
        smallest=smallest,
        n_for_a_point=math.ceil(n * (smallest / 0.01) ** 2),
    )


def _compute_part_error(part: PairedDifference) -> float | None:
    if part.stderr is None or part.fourfold is None or part.test != "mcnemar":
        return part.stderr
    discordance = (part.fourfold.only_a + part.fourfold.only_b) / part.n
    return max(part.stderr, math.sqrt(discordance / part.n_units))


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p-value of McNemar's test: a binomial test on the discordant pairs."""
    tail, _ = _binomial_tail(min(only_a, only_b), only_a + only_b)
    return min(1.0, 2 * tail)


def mcnemar_mid_p(only_a: int, only_b: int) -> float:
    """Return the mid-p-value: the exact one, with the observed outcome counted half."""
    tail, last = _binomial_tail(min(only_a, only_b), only_a + only_b)
    return 1 - last / 2 if only_a == only_b else 2 * tail - last


def tango(only_a: float, only_b: float, n: float) -> Interval:
    """Return Tango's score interval for the difference of two paired shares.

    It contains the differences d that a score test does not reject: those with (only_b - only_a - n d)^2 <=
    z^2 n (2 q + d (1 - d)), where q is the maximum-likelihood probability of only_a given d. It is never
    empty, never outside [-1, 1], and excludes 0 exactly when McNemar's score test rejects 0.
    """
    z = normal_quantile()
    gap = (only_b - only_a) / n

    def crossing(level: float, low: float, high: float) -> float:
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if tango_deviate(only_a, only_b, n, middle) > level else (low, middle)
        return (low + high) / 2

    return Interval(crossing(z, -1.0, gap), crossing(-z, gap, 1.0))


def tango_deviate(only_a: float, only_b: float, n: float, difference: float) -> float:
    """Return how many standard errors the observed difference of shares is above a hypothetical one."""
    linear = (2 * n - only_b + only_a) * difference - only_b - only_a
    constant = -only_a * difference * (1 - difference)
    q = (math.sqrt(max(0.0, linear * linear - 8 * n * constant)) - linear) / (4 * n)
    variance = n * (2 * q + difference * (1 - difference))
    distance = only_b - only_a - n * difference
    return math.copysign(math.inf, distance) if variance <= 0 else distance / math.sqrt(variance)


def compute_hypothesis_p(
    result: PairedDifference, hypothesis: float, *, is_factor: bool, is_mean: bool
) -> float | None:
    """Return the two-sided p-value of the hypothesis that the true difference has a given value.

    It is the test that the interval inverts: Tango's score test for right and wrong answers (McNemar's exact
    test if the hypothesis is no difference), else Student's. `is_mean`: the difference is a mean of several,
    whose test is normal. None if the pairs have no spread.
    """
    if result.difference is None or hypothesis == (1.0 if is_factor else 0.0):
        return result.p
    if result.test == "mcnemar" and result.fourfold is not None:
        weight = result.n_units / result.n
        counts = result.fourfold.only_a * weight, result.fourfold.only_b * weight
        return math.erfc(abs(tango_deviate(*counts, result.n_units, hypothesis)) / math.sqrt(2))
    if not result.stderr:
        return None
    scale = math.log if is_factor else float
    deviate = (scale(result.difference) - scale(hypothesis)) / result.stderr
    return math.erfc(abs(deviate) / math.sqrt(2)) if is_mean else student_p(deviate, result.n_units - 1)


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction for multiple tests, in the order given."""
    corrected = [0.0] * len(ps)
    largest = 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[at]))
        corrected[at] = largest
    return corrected


def _compare_by_student(
    a: Numbers, b: Numbers, n_units: int, stderr: float | None, low: float = -math.inf, high: float = math.inf
) -> PairedDifference:
    """Compare means by their standard error; clip the interval to the possible range."""
    n, gap = len(a), _mean(b - a)
    half = student_quantile(n_units - 1) * stderr if stderr else None
    smallest = _DEVIATES * stderr if stderr else None
    return PairedDifference(
        n,
        n_units,
        _mean(a),
        _mean(b),
        gap,
        None if half is None or gap is None else max(low, gap - half),
        None if half is None or gap is None else min(high, gap + half),
        stderr,
        None if gap is None else _student_test(gap, stderr, n_units),
        "student",
        smallest=smallest,
        n_for_a_point=None if smallest is None else math.ceil(n * (smallest / 0.01) ** 2),
    )


def _student_test(gap: float, stderr: float | None, n_units: int) -> float | None:
    """Return the p-value of a difference; without any spread, it is known only for a difference of 0."""
    if stderr is None:
        return None
    if stderr == 0:
        return 1.0 if gap == 0 else None
    return student_p(gap / stderr, n_units - 1)


def _stderr(values: Numbers, clusters: Clusters | None, size: float) -> float | None:
    """Return the standard error of a mean, clustered if any cluster contains more than one value.

    `size` is the magnitude of the numbers that the values were computed from; rounding noise becomes 0.
    """
    n, n_units = len(values), _count_units(len(values), clusters)
    if n_units < 2:
        return None
    away = values - values.mean()
    if clusters is None or n_units == n:
        stderr = math.sqrt(float(away @ away) / (n - 1) / n)
    else:
        _, places = np.unique(clusters, return_inverse=True)
        sums = np.bincount(places, weights=away)
        stderr = math.sqrt(float(sums @ sums) * few_clusters_factor(n_units)) / n
    return stderr if stderr > _ROUNDING * size else 0.0


def _find_largest_magnitude(values: Numbers) -> float:
    """Return the largest absolute value."""
    return float(np.abs(values).max()) if len(values) else 0.0


def _count_units(n: int, clusters: Clusters | None) -> int:
    return n if clusters is None else len(np.unique(clusters))


def _convert_to_pairs(units: float, weight: float) -> int:
    """Convert a number of independent units to pairs, with clusters of the same average size."""
    return math.ceil(units / weight)


def _mean(values: Numbers) -> float | None:
    return float(values.mean()) if len(values) else None


def _binomial_tail(k: int, n: int) -> tuple[float, float]:
    """Return P(X <= k) and P(X = k) for n tosses of a fair coin; negligible terms are omitted."""
    logarithm = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2)
    last = term = total = math.exp(logarithm)
    while k > 0 and term > total * 1e-18:
        term *= k / (n - k + 1)
        k -= 1
        total += term
    return total, last


def _exponential(value: float) -> float | None:
    """Return e to the power of a value; None if that overflows."""
    try:
        return math.exp(value)
    except OverflowError:
        return None


def _return_unchanged(value: float) -> float | None:
    return value
