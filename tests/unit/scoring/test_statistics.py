from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.statistics import (
    NO_ESTIMATE,
    Estimate,
    RunningMean,
    clip_estimate,
    macro,
    normal_quantile,
    standard_error,
    student_p,
    student_quantile,
    wilson,
)

UNIT = st.floats(0, 1, allow_nan=False)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17, table I, score method without continuity correction.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_agrees_with_published_values(successes: int, n: int, low: float, high: float) -> None:
    found = wilson(successes, n)
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


def test_wilson_is_symmetric_and_sensible_at_the_edges() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(5, 5).high == 1.0
    assert wilson(0, 5).low == 0.0
    assert wilson(1, 1).low == pytest.approx(1 - wilson(0, 1).high)
    assert 0.2 < wilson(1, 1).low < 0.21
    assert wilson(50, 100, level=0.99).low < wilson(50, 100).low


@pytest.mark.parametrize(("p", "n"), [(0.1, 60), (0.5, 40), (0.8, 100), (0.25, 300)])
def test_wilson_covers_about_ninety_five_percent(p: float, n: int) -> None:
    drawn = np.random.default_rng(7).binomial(n, p, size=20_000)
    counts = np.bincount(drawn, minlength=n + 1)
    covered = sum(
        count
        for successes, count in enumerate(counts)
        if wilson(successes, n).low <= p <= wilson(successes, n).high
    )
    assert 0.935 < covered / 20_000 < 0.97


def test_mean_interval_covers_about_ninety_five_percent() -> None:
    rows = np.random.default_rng(11).gamma(4.0, size=(4_000, 25))
    covered = 0
    for row in rows:
        estimate = RunningMean.of([float(value) for value in row]).student()
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= 4.0 <= estimate.high
    assert 0.93 < covered / len(rows) < 0.965


def test_clustered_interval_covers_where_the_simple_one_does_not() -> None:
    rng = np.random.default_rng(5)
    simple = clustered = 0
    for _ in range(400):
        rates = rng.beta(1.0, 1.0, size=80)
        right = rng.random((80, 10)) < rates[:, None]
        running, flat = RunningMean(), RunningMean()
        for cluster, row in enumerate(right):
            for value in row:
                running.add(float(value), cluster)
                flat.add(float(value))
        for kind, counted in ((running, "clustered"), (flat, "simple")):
            estimate = kind.proportion()
            assert estimate.low is not None
            assert estimate.high is not None
            inside = estimate.low <= 0.5 <= estimate.high
            clustered += inside and counted == "clustered"
            simple += inside and counted == "simple"
    assert clustered / 400 > 0.91
    assert simple / 400 < 0.8


@pytest.mark.parametrize(
    ("df", "t"),
    [
        (1, 12.7062),
        (2, 4.30265),
        (3, 3.18245),
        (4, 2.77645),
        (9, 2.26216),
        (30, 2.04227),
        (100, 1.98397),
        (120, 1.97993),
        (1000, 1.96234),
    ],
)
def test_student_quantile_agrees_with_the_tables(df: int, t: float) -> None:
    assert student_quantile(df) == pytest.approx(t, abs=6e-5)


@pytest.mark.parametrize(
    ("df", "level", "t"),
    [
        # By scipy 1.17.1: t.ppf(0.5 + level / 2, df).
        (1, 0.8, 3.0776835372),
        (1, 0.99, 63.6567411629),
        (5, 0.95, 2.5705818356),
        (30, 0.99, 2.7499956536),
        (99, 0.95, 1.9842169516),
        (100, 0.95, 1.9839715185),
        (101, 0.8, 1.2899898086),
        (101, 0.95, 1.9837310030),
        (150, 0.95, 1.9759053309),
        (1000, 0.99, 2.5807546981),
    ],
)
def test_student_quantile_agrees_with_scipy(df: int, level: float, t: float) -> None:
    """Exact up to 100 degrees of freedom; above, at the levels of an interval, to 2e-8."""
    assert student_quantile(df, level) == pytest.approx(t, abs=2e-8 if df > 100 else 1e-10)


@pytest.mark.parametrize(
    ("t", "df", "p"),
    [
        # By scipy 1.17.1: 2 * t.sf(t, df).
        (2.0, 1, 2.9516723530e-01),
        (0.5, 3, 6.5144796485e-01),
        (3.2, 10, 9.4916957953e-03),
        (1.7, 57, 9.4582128463e-02),
        (2.5, 1000, 1.2578567801e-02),
        (2.5, 1001, 1.2578408338e-02),
        (4.0, 5000, 6.4257183068e-05),
    ],
)
def test_student_p_agrees_with_scipy(t: float, df: int, p: float) -> None:
    assert student_p(t, df) == pytest.approx(p, abs=2e-7 if df > 1000 else 1e-11)


def test_student_quantile_is_smooth_where_the_method_changes() -> None:
    assert 0 < student_quantile(100) - student_quantile(101) < 0.001
    assert student_quantile(10**6) == pytest.approx(normal_quantile(), abs=1e-5)
    with pytest.raises(ValueError, match="at least 1"):
        student_quantile(0)


def test_standard_error_has_bessels_correction() -> None:
    values = [1.0, 2.0, 4.0, 7.0]
    expected = float(np.std(values, ddof=1)) / math.sqrt(4)
    assert standard_error(4, sum(values), sum(value**2 for value in values)) == pytest.approx(expected)
    assert standard_error(1, 5.0, 25.0) is None


def test_mean_interval_closed_form() -> None:
    estimate = RunningMean.of([1.0, 2.0, 3.0]).student()
    half = 4.30265 / math.sqrt(3)
    assert estimate == pytest.approx((2.0, 2.0 - half, 2.0 + half, 1 / math.sqrt(3), 3), abs=1e-4)
    assert RunningMean.of([4.0]).student() == (4.0, None, None, None, 1)
    assert RunningMean.of([]).student() == NO_ESTIMATE


def clustered_stderr(values: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    running = RunningMean()
    for value, cluster in zip(values, clusters, strict=True):
        running.add(value, cluster)
    return running.clustered_stderr()


def test_clustered_stderr_by_hand() -> None:
    # mean 0.5; cluster sums of residuals: +1.0, -1.0 -> sqrt(2 / 1 * 2) / 4
    assert clustered_stderr([1, 1, 0, 0], ["a", "a", "b", "b"]) == pytest.approx(0.5)
    # residuals cancel inside each cluster
    assert clustered_stderr([1, 0, 1, 0], ["a", "a", "b", "b"]) == 0.0
    assert clustered_stderr([1, 0], ["a", "a"]) is None


@given(st.lists(UNIT, min_size=2, max_size=30))
def test_one_value_per_cluster_is_the_simple_error(values: list[float]) -> None:
    n = len(values)
    found = clustered_stderr(values, range(n))
    simple = standard_error(n, math.fsum(values), math.fsum(value**2 for value in values))
    assert found is not None
    assert simple is not None
    assert found == pytest.approx(simple, abs=1e-7)


def test_clustered_stderr_is_that_of_statsmodels() -> None:
    # OLS(values, 1).fit(cov_type="cluster", cov_kwds={"groups": clusters}).bse[0], statsmodels 0.15.0
    values = [0.2, 0.9, 0.4, 0.7, 0.1, 0.8, 0.35, 0.5, 0.95]
    clusters = [0, 0, 0, 1, 1, 2, 2, 2, 2]
    assert clustered_stderr(values, clusters) == pytest.approx(0.07194470263868379, rel=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 3, 5, 10, 30])
def test_intervals_of_few_clusters_cover_as_often_as_they_say(n_clusters: int) -> None:
    rng = np.random.default_rng(17)
    n_draws = 1_000
    covered = 0
    for _ in range(n_draws):
        running = RunningMean()
        for cluster, shift in enumerate(rng.normal(0.0, 1.0, n_clusters)):
            for value in rng.normal(shift, 1.0, 6):
                running.add(float(value), cluster)
        estimate = running.student()
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= 0.0 <= estimate.high
    # Three standard deviations of a share of 0.95 in 1,000 draws.
    assert abs(covered / n_draws - 0.95) < 0.021


@given(st.lists(st.tuples(UNIT, st.sampled_from("abc") | st.none()), min_size=1, max_size=25), st.randoms())
def test_order_does_not_matter(rows: list[tuple[float, str | None]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = RunningMean(), RunningMean()
    for value, cluster in rows:
        one.add(value, cluster)
    for value, cluster in shuffled:
        other.add(value, cluster)
    assert one.estimate().value == pytest.approx(other.estimate().value)
    assert (one.stderr() or 0.0) == pytest.approx(other.stderr() or 0.0, abs=1e-6)


@given(st.lists(st.tuples(UNIT, st.sampled_from("ab") | st.none()), max_size=20), st.integers(0, 20))
def test_merging_parts_is_the_same_as_one_run(rows: list[tuple[float, str | None]], cut: int) -> None:
    whole, left, right = RunningMean(), RunningMean(), RunningMean()
    for index, (value, cluster) in enumerate(rows):
        whole.add(value, cluster)
        (left if index < cut else right).add(value, cluster)
    left.merge(right)
    assert (left.n, left.n_clusters, left.is_binary) == (whole.n, whole.n_clusters, whole.is_binary)
    assert left.mean == (None if whole.mean is None else pytest.approx(whole.mean))
    assert (left.stderr() or 0.0) == pytest.approx(whole.stderr() or 0.0, abs=1e-6)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=40), st.integers(1, 4))
def test_a_proportion_always_is_inside_its_interval(values: list[float], size: int) -> None:
    running = RunningMean()
    for index, value in enumerate(values):
        running.add(value, index // size if size > 1 else None)
    estimate = running.proportion()
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0.0 <= estimate.low <= estimate.value + 1e-12
    assert estimate.value - 1e-12 <= estimate.high <= 1.0
    assert estimate.high > estimate.low


def test_all_right_in_clusters_counts_clusters_not_samples() -> None:
    running = RunningMean()
    for index in range(12):
        running.add(1.0, index // 4)
    assert running.proportion()[:3] == (1.0, wilson(3, 3).low, 1.0)
    lonely = RunningMean()
    for value in (1.0, 0.0, 1.0):
        lonely.add(value, "only")
    assert lonely.proportion().stderr is None
    assert lonely.proportion().low == wilson(2 / 3, 1).low


def test_a_share_in_few_clusters_has_students_interval() -> None:
    """A normal quantile, 1.96 in place of 3.18, would be far too narrow for four clusters."""
    running = RunningMean()
    for cluster, values in {"a": (1, 1, 0), "b": (1, 0, 0), "c": (0, 1, 1), "d": (0, 0, 1)}.items():
        for value in values:
            running.add(float(value), cluster)
    estimate = running.proportion()
    assert estimate.stderr is not None
    assert estimate.high == pytest.approx(0.5 + student_quantile(3) * estimate.stderr)
    assert estimate.low == pytest.approx(0.5 - student_quantile(3) * estimate.stderr)


def test_clusters_of_one_are_independent() -> None:
    running = RunningMean()
    for index in range(10):
        running.add(float(index < 4), index)
    assert not running.is_clustered
    assert running.proportion()[:3] == (0.4, *wilson(4, 10))


def test_macro() -> None:
    small, large = Estimate(1.0, None, None, 0.3, 10), Estimate(0.5, None, None, 0.1, 90)
    even = macro([small, large])
    assert even.value == pytest.approx(0.75)
    assert even.stderr == pytest.approx(math.hypot(0.3, 0.1) / 2)
    assert even.low == pytest.approx(0.75 - 1.959964 * math.hypot(0.3, 0.1) / 2)
    assert even.n == 100


def test_macro_of_nothing_and_of_unknown_errors() -> None:
    assert macro([]) == NO_ESTIMATE
    assert macro([NO_ESTIMATE]) == NO_ESTIMATE
    unknown = macro([Estimate(1.0, None, None, None, 1), Estimate(0.0, None, None, 0.1, 5)])
    assert unknown == (0.5, None, None, None, 6)


def test_clipped() -> None:
    assert clip_estimate(Estimate(0.9, 0.7, 1.1, 0.1, 5))[1:3] == (0.7, 1.0)
    assert clip_estimate(Estimate(0.1, -0.1, 0.3, 0.1, 5))[1:3] == (0.0, 0.3)
    assert clip_estimate(NO_ESTIMATE) == NO_ESTIMATE


@pytest.mark.parametrize("n_clusters", [2, 3, 5, 8, 12])
def test_clusters_of_one_share_have_an_honest_interval(n_clusters: int) -> None:
    # Three of eleven right in each: the residuals are rounding, and their error says nothing.
    running = RunningMean()
    for cluster in range(n_clusters):
        for at in range(11 * (1 + cluster % 3)):
            running.add(float(at % 11 < 3), cluster)
    estimate = running.proportion()
    assert estimate.stderr == 0
    low, high = wilson(3 / 11 * n_clusters, n_clusters)
    assert (estimate.low, estimate.high) == pytest.approx((low, high))


def test_equal_values_have_no_spread() -> None:
    assert RunningMean.of([0.1] * 10).stderr() == 0
    assert RunningMean.of([0.1, 0.1 + 1e-6] * 5).stderr() == pytest.approx(1e-6 / 6, rel=1e-3)


def test_a_part_without_spread_is_not_certain_in_a_mean() -> None:
    three, many = RunningMean.of([1.0] * 3), RunningMean.of([1.0, 0.0] * 500)
    mean = macro([three.estimate(), many.estimate()])
    low, high = wilson(3, 3)
    assert mean.stderr == pytest.approx(
        math.hypot((high - low) / (2 * normal_quantile()), many.stderr() or 0) / 2
    )
    assert macro([three.estimate(), three.estimate()]).stderr == 0, "where none has any, counts must do"


@pytest.mark.parametrize("parts", [((3, 0.8), (1_000, 0.5)), ((30, 0.03), (600, 0.2)), ((5, 0.9),) * 10])
def test_a_mean_over_small_parts_covers_what_it_should(parts: tuple[tuple[int, float], ...]) -> None:
    rng = np.random.default_rng(5)
    true, n_covered = sum(share for _, share in parts) / len(parts), 0
    for _ in range(500):
        drawn = [RunningMean.of((rng.random(n) < share).astype(float)) for n, share in parts]
        mean = clip_estimate(macro(running.estimate() for running in drawn))
        assert mean.low is not None
        assert mean.high is not None
        n_covered += mean.low <= true <= mean.high
    # Without the width of parts that have no spread: 46, 83 and 89 %.
    assert n_covered >= 0.92 * 500
