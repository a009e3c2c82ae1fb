"""The numbers of a comparison, against enumeration, permutation and simulation that share no code."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.results.comparison import PairedDifference
from assay.results.paired import (
    average_differences,
    compare_means,
    compare_ratios,
    compare_shares,
    holm,
    mcnemar,
    mcnemar_mid_p,
    tango,
)
from assay.scoring.statistics import (
    _student_coverage,
    count_pairs_for_share_difference,
    find_smallest_share_difference,
    student_p,
    student_quantile,
)

FEW = st.integers(0, 40)


def columns(both: int, only_a: int, only_b: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    a = np.array([1.0] * (both + only_a) + [0.0] * (only_b + neither))
    b = np.array([1.0] * both + [0.0] * only_a + [1.0] * only_b + [0.0] * neither)
    return a, b


def coin(n: int, k: int) -> Fraction:
    return Fraction(math.comb(n, k), 2**n)


@given(FEW, FEW)
def test_mcnemar_is_what_enumerating_all_throws_of_a_coin_gives(only_a: int, only_b: int) -> None:
    n = only_a + only_b
    seen = coin(n, only_a)
    every = [coin(n, k) for k in range(n + 1)]
    assert mcnemar(only_a, only_b) == pytest.approx(float(sum(p for p in every if p <= seen)), rel=1e-9)
    mid = sum(p for p in every if p < seen) + Fraction(1, 2) * sum(p for p in every if p == seen)
    # In the middle alone, one outcome and no mirror image of it has this probability.
    assert mcnemar_mid_p(only_a, only_b) == pytest.approx(float(mid), rel=1e-9)


def test_mcnemar_of_a_million_discordant_pairs() -> None:
    assert mcnemar(500_000, 500_000) == 1.0
    # Two standard deviations from even; the normal tail with half a throw taken off.
    z = (501_000 - 500_000 - 0.5) / math.sqrt(1_000_000 / 4)
    assert mcnemar(499_000, 501_000) == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-3)
    assert mcnemar(0, 1_000_000) == 0.0


def covered(n: int, only_a: float, only_b: float, interval: str) -> float:
    """Return how often an interval holds the true difference, over every outcome that n pairs can have."""
    total = 0.0
    logs = [math.lgamma(k + 1) for k in range(n + 1)]
    same = 1 - only_a - only_b
    for a in range(n + 1):
        for b in range(n + 1 - a):
            p = math.exp(
                logs[n]
                - logs[a]
                - logs[b]
                - logs[n - a - b]
                + (a * math.log(only_a) if a else 0)
                + (b * math.log(only_b) if b else 0)
                + (n - a - b) * math.log(same)
            )
            if p < 1e-12:
                continue
            if interval == "tango":
                low, high = tango(a, b, n)
            else:
                d = (b - a) / n
                spread = math.sqrt(max(0.0, (a + b - n * d * d) / (n - 1) / n))
                low, high = (
                    d - student_quantile(n - 1) * spread,
                    d + student_quantile(n - 1) * spread,
                )
            total += p * (low - 1e-9 <= only_b - only_a <= high + 1e-9)
    return total


TRUTHS = [(0.1, 0.1), (0.02, 0.06), (0.05, 0.25), (0.01, 0.01), (0.3, 0.3), (0.2, 0.02), (0.001, 0.03)]


@pytest.mark.parametrize("n", [15, 40])
def test_tangos_interval_covers_and_students_does_not(n: int) -> None:
    scores = [covered(n, *truth, "tango") for truth in TRUTHS]
    students = [covered(n, *truth, "student") for truth in TRUTHS]
    assert min(scores) > 0.92
    assert sum(scores) / len(scores) > 0.945
    # Why it is not used: where few pairs differ, the spread is underestimated, or nothing at all.
    assert min(students) < 0.75


@given(FEW, FEW, FEW)
def test_tangos_interval_is_the_inverted_score_test(only_a: int, only_b: int, same: int) -> None:
    n = only_a + only_b + same
    if not n:
        return
    low, high = tango(only_a, only_b, n)
    assert -1 <= low <= (only_b - only_a) / n <= high <= 1
    assert tango(only_b, only_a, n) == pytest.approx((-high, -low), abs=1e-9)
    if only_a + only_b:
        # At no difference the score test is McNemar's without a correction.
        z = (only_b - only_a) / math.sqrt(only_a + only_b)
        if abs(abs(z) - 1.96) > 0.01:
            assert (low > 0 or high < 0) == (abs(z) > 1.96)


@pytest.mark.parametrize(
    ("only_a", "only_b", "n", "low", "high"),
    [
        # Tango, Statistics in Medicine 17 (1998), table VII.
        (3, 9, 32, "-0.027", "0.390"),
        # Agresti and Min, Statistics in Medicine 24 (2005).
        (8, 16, 86, "-0.020", "0.207"),
        # Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014): airways before and after.
        (7, 1, 21, "-0.517", "-0.026"),
        # Tang and others, Statistics in Medicine 29 (2010).
        (1, 3, 14, "-0.1670", "0.4327"),
        # Fagerland, Lydersen and Laake, Statistical Analysis of Contingency Tables (2017), chapter 8, and its
        # R package: complete response before and after therapy; three pairs that all differ alike.
        (16, 6, 161, "-0.1240", "-0.0054"),
        (0, 3, 3, "-0.1230", "1.0000"),
        (3, 0, 3, "-1.0000", "0.1230"),
    ],
)
def test_tangos_interval_is_the_published_one(only_a: int, only_b: int, n: int, low: str, high: str) -> None:
    """To every decimal that was printed."""
    decimals = len(low.partition(".")[2])
    assert [f"{bound:.{decimals}f}" for bound in tango(only_a, only_b, n)] == [low, high]


def test_mcnemars_tests_are_the_published_ones() -> None:
    """Of the same book and its R package: 6 and 16 pairs that differ."""
    assert f"{mcnemar(6, 16):.6f}" == "0.052479"
    assert f"{mcnemar_mid_p(6, 16):.6f}" == "0.034690"


def likelihood_deviates(only_a: int, only_b: int, n: int, d: float) -> float:
    """Return how many standard deviations off a difference is, its nuisance found by searching a grid."""
    same = n - only_a - only_b
    grid = np.linspace(max(0.0, -d), (1 - d) / 2, 200_001)[1:-1]
    logs = only_a * np.log(grid) + only_b * np.log(grid + d) + same * np.log(1 - 2 * grid - d)
    q = float(grid[np.argmax(logs)])
    return (only_b - only_a - n * d) / math.sqrt(n * (2 * q + d * (1 - d)))


@pytest.mark.parametrize("counts", [(3, 9, 30), (1, 12, 50), (5, 5, 20), (8, 2, 14)])
def test_tangos_bounds_are_where_the_searched_likelihood_says(counts: tuple[int, int, int]) -> None:
    low, high = tango(*counts)
    assert likelihood_deviates(*counts, low) == pytest.approx(1.96, abs=2e-3)
    assert likelihood_deviates(*counts, high) == pytest.approx(-1.96, abs=2e-3)


@given(FEW, FEW, FEW, FEW)
def test_shares(both: int, only_a: int, only_b: int, neither: int) -> None:
    a, b = columns(both, only_a, only_b, neither)
    result = compare_shares(a, b)
    n = both + only_a + only_b + neither
    assert result.n == result.n_units == n
    if not n:
        assert (result.difference, result.low, result.p, result.smallest) == (None, None, None, None)
        return
    assert result.fourfold is not None
    assert (result.fourfold.both, result.fourfold.only_a) == (both, only_a)
    assert (result.fourfold.only_b, result.fourfold.neither) == (only_b, neither)
    assert result.difference == pytest.approx((only_b - only_a) / n)
    assert result.a == pytest.approx((both + only_a) / n)
    assert result.p == mcnemar(only_a, only_b)
    assert result.test == "mcnemar"


@pytest.mark.parametrize("shift", [0.0, 0.4, 1.0])
def test_students_p_is_near_that_of_flipping_all_signs(shift: float) -> None:
    draws = np.random.default_rng(7)
    signs = np.array(list(product((1, -1), repeat=12)))
    for _ in range(10):
        gaps = draws.normal(shift, 1, 12)
        means = np.abs((signs * gaps).mean(axis=1))
        permuted = float(np.mean(means >= abs(gaps.mean()) - 1e-12))
        result = compare_means(np.zeros(12), gaps)
        assert result.p == pytest.approx(permuted, abs=0.03)


def test_a_paired_interval_covers_where_an_unpaired_one_would_be_far_too_wide() -> None:
    draws = np.random.default_rng(0)
    hits, widths = 0, []
    for _ in range(2_000):
        hard = draws.normal(0, 3, 30)
        a, b = hard + draws.normal(0, 1, 30), hard + 0.4 + draws.normal(0, 1, 30)
        result = compare_means(a, b)
        assert result.low is not None
        assert result.high is not None
        hits += result.low <= 0.4 <= result.high
        widths.append(result.high - result.low)
    assert 0.935 < hits / 2_000 < 0.965
    # Half a width is t · sqrt(2 / 30); unpaired it would be t · sqrt(20 / 30).
    assert np.mean(widths) == pytest.approx(2 * student_quantile(29) * math.sqrt(2 / 30), rel=0.02)


def test_clusters_widen_shares_and_means_so_that_they_cover() -> None:
    draws = np.random.default_rng(1)
    clusters = np.repeat(np.arange(40, dtype=np.int64), 5)
    hits = {"shares": 0, "means": 0, "as if alone": 0}
    for _ in range(1_000):
        passage = np.repeat(draws.random(40), 5)
        right = (passage < 0.6).astype(float)
        better = np.where(np.repeat(draws.random(40), 5) < 0.15, 1 - right, right)
        truth = 0.15 * (1 - 2 * 0.6)
        noisy = right + np.repeat(draws.normal(0, 1, 40), 5)
        for name, result, true in (
            ("shares", compare_shares(right, better, clusters), truth),
            ("as if alone", compare_shares(right, better), truth),
            ("means", compare_means(right, noisy, clusters), 0.0),
        ):
            assert result.low is not None
            assert result.high is not None
            hits[name] += result.low <= true <= result.high
    assert hits["shares"] > 915
    assert hits["means"] > 925
    assert hits["as if alone"] < 750


def test_clusters_of_one_are_no_clusters() -> None:
    a, b = columns(5, 3, 7, 5)
    alone = np.arange(20, dtype=np.int64)
    assert compare_shares(a, b, alone) == compare_shares(a, b)


def test_clusters_without_any_spread_count_as_one_pair_each() -> None:
    a, b = columns(0, 0, 12, 0)
    clusters = np.repeat(np.arange(3, dtype=np.int64), 4)
    result = compare_shares(a, b, clusters)
    assert (result.n, result.n_units) == (12, 3)
    assert (result.low, result.high) == pytest.approx(tango(0, 3, 3))
    assert result.p == mcnemar(0, 3)


def test_one_pair_has_no_spread_and_equal_columns_no_difference() -> None:
    one = compare_means(np.array([0.2]), np.array([0.4]))
    assert (one.low, one.p, one.stderr, one.smallest) == (None, None, None, None)
    same = compare_means(np.array([0.2, 0.3]), np.array([0.2, 0.3]))
    assert (same.difference, same.p) == (0.0, 1.0)
    shifted = compare_means(np.array([0.0, 0.0]), np.array([0.5, 0.5]))
    assert shifted.p is None


def test_what_is_called_the_smallest_difference_is_seen_four_times_in_five() -> None:
    draws = np.random.default_rng(2)
    n, discordance = 400, 0.2
    smallest = find_smallest_share_difference(discordance, n)
    assert smallest is not None
    only_a, only_b = (discordance - smallest) / 2, (discordance + smallest) / 2
    counts = draws.multinomial(n, [only_a, only_b, 1 - discordance], size=20_000)
    # The formula is that of McNemar's test without a correction; mid-p is the nearest to it.
    seen = np.mean([mcnemar_mid_p(int(a), int(b)) < 0.05 for a, b, _ in counts])
    assert 0.77 < seen < 0.83


def test_the_smallest_difference_of_means_is_seen_four_times_in_five() -> None:
    draws = np.random.default_rng(3)
    zeros = np.zeros(200)
    claimed = compare_means(zeros, draws.normal(0, 1, 200)).smallest
    assert claimed == pytest.approx((1.95996 + 0.84162) / math.sqrt(200), rel=0.15)
    true = (1.95996 + 0.84162) / math.sqrt(200)
    results = [compare_means(zeros, draws.normal(true, 1, 200)) for _ in range(3_000)]
    assert 0.77 < np.mean([one.p is not None and one.p < 0.05 for one in results]) < 0.83


@given(st.floats(0, 1), st.integers(10, 1_000_000))
def test_pairs_and_smallest_difference_say_the_same(discordance: float, n: int) -> None:
    smallest = find_smallest_share_difference(discordance, n)
    assert smallest is not None
    assert count_pairs_for_share_difference(discordance, smallest) == pytest.approx(n, rel=1e-6)


def test_too_few_pairs_show_nothing() -> None:
    assert find_smallest_share_difference(0.5, 2) is None


def test_a_point_needs_as_many_pairs_as_the_textbook_says() -> None:
    a, b = columns(400, 50, 50, 500)
    # Connor: (1.96 sqrt(0.1) + 0.8416 sqrt(0.1 - 0.0001))^2 / 0.01^2
    assert compare_shares(a, b).n_for_a_point == pytest.approx(7_846, abs=3)


def test_a_point_of_other_values_needs_as_many_pairs_as_their_error_says() -> None:
    a, b = np.zeros(50), np.linspace(-0.2, 0.3, 50)
    found = compare_means(a, b)
    error = float(np.std(b, ddof=1)) / math.sqrt(50)
    deviates = 1.959963985 + 0.841621234
    assert found.smallest == pytest.approx(deviates * error)
    # The error falls with the root of the pairs.
    assert found.n_for_a_point == math.ceil(50 * (deviates * error / 0.01) ** 2)


def perplexities(draws: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    tokens = draws.integers(20, 400, n).astype(float)
    hard = draws.normal(2.5, 0.5, n)
    a = tokens * (hard + draws.normal(0, 0.05, n))
    b = tokens * (hard - 0.03 + draws.normal(0, 0.05, n))
    return tokens, a, b


def test_perplexities_are_compared_as_a_bootstrap_over_texts_would() -> None:
    draws = np.random.default_rng(4)
    tokens, a, b = perplexities(draws, 300)
    result = compare_ratios((a, tokens), (b, tokens), is_exponential=True)
    assert result.a == pytest.approx(math.exp(a.sum() / tokens.sum()))
    assert result.difference == pytest.approx(math.exp((b.sum() - a.sum()) / tokens.sum()))
    chosen = draws.integers(0, 300, (4_000, 300))
    factors = np.exp((b[chosen].sum(1) - a[chosen].sum(1)) / tokens[chosen].sum(1))
    assert result.stderr == pytest.approx(float(np.log(factors).std()), rel=0.05)
    assert result.low == pytest.approx(float(np.quantile(factors, 0.025)), abs=1e-3)
    assert result.high == pytest.approx(float(np.quantile(factors, 0.975)), abs=1e-3)
    assert result.p is not None
    assert result.p < 1e-6


def test_perplexities_of_two_tokenizers_have_denominators_of_their_own() -> None:
    draws = np.random.default_rng(5)
    tokens, a, b = perplexities(draws, 300)
    more = np.round(tokens * draws.uniform(1.1, 1.3, 300))
    result = compare_ratios((a, tokens), (b, more), is_exponential=True)
    chosen = draws.integers(0, 300, (4_000, 300))
    gaps = b[chosen].sum(1) / more[chosen].sum(1) - a[chosen].sum(1) / tokens[chosen].sum(1)
    assert result.stderr == pytest.approx(float(gaps.std()), rel=0.05)


def test_ratios_with_clusters_are_those_of_the_clusters_sums() -> None:
    draws = np.random.default_rng(6)
    tokens, a, b = perplexities(draws, 200)
    clusters = np.repeat(np.arange(50, dtype=np.int64), 4)
    result = compare_ratios((a, tokens), (b, tokens), clusters, is_exponential=False)
    sums = [column.reshape(50, 4).sum(1) for column in (a, b, tokens)]
    summed = compare_ratios((sums[0], sums[2]), (sums[1], sums[2]), is_exponential=False)
    assert result.stderr is not None
    assert summed.stderr is not None
    assert result.stderr == pytest.approx(summed.stderr)
    assert result.difference == pytest.approx(summed.difference)


def test_ratios_without_anything_to_divide_by() -> None:
    none = np.zeros(3)
    assert compare_ratios((none, none), (none, none), is_exponential=True).difference is None


def test_a_perplexity_beyond_all_numbers_is_none() -> None:
    y, x = np.array([800.0, 800.0]), np.array([1.0, 1.0])
    assert compare_ratios((y, x), (y, x), is_exponential=True).a is None


def test_holm_is_the_closed_test_of_bonferroni() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_holm_rejects_what_every_bonferroni_test_that_holds_it_rejects(ps: list[float]) -> None:
    every = range(len(ps))
    subsets = [[at for at in every if mask >> at & 1] for mask in range(1, 2 ** len(ps))]
    closed = [
        max(min(1.0, len(one) * min(ps[at] for at in one)) for one in subsets if wanted in one)
        for wanted in every
    ]
    assert holm(ps) == pytest.approx(closed)


@pytest.mark.parametrize("df", [1_001, 5_000, 100_000])
@pytest.mark.parametrize("t", [0.0, 0.3, 1.0, 1.96, 3.0, 4.5])
def test_tails_of_many_degrees_of_freedom(t: float, df: int) -> None:
    assert student_p(t, df) == pytest.approx(1 - _student_coverage(t, df), abs=1e-6)
    assert student_p(-t, df) == student_p(t, df)


@pytest.mark.parametrize("df", [1, 2, 7, 100, 999])
def test_a_tail_is_what_is_beyond_the_quantile(df: int) -> None:
    assert student_p(student_quantile(df), df) == pytest.approx(0.05, abs=1e-6)


def simple(value: float, stderr: float | None, n: int = 10) -> PairedDifference:
    return PairedDifference(n, n, 0.5, 0.5 + value, value, None, None, stderr, None, "student")


def test_a_mean_over_subsets_counts_each_once() -> None:
    result = average_differences([simple(0.1, 0.03, 1_000), simple(0.3, 0.04, 10)])
    assert result is not None
    assert result.difference == pytest.approx(0.2)
    assert result.stderr == pytest.approx(0.025)
    assert (result.low, result.high) == pytest.approx((0.2 - 1.96 * 0.025, 0.2 + 1.96 * 0.025), abs=1e-5)
    assert result.p == pytest.approx(1.2e-15, rel=0.1)
    assert result.n == 1_010
    unknown = average_differences([simple(0.1, 0.03), simple(0.3, None)])
    assert unknown is not None
    assert unknown.difference == pytest.approx(0.2)
    assert unknown.low is None
    assert average_differences([]) is None


def test_a_few_pairs_that_all_differ_alike_prove_nothing_of_a_mean() -> None:
    alike = compare_shares(np.repeat([1.0, 0.0], 500), np.repeat([1.0, 0.0], 500))
    three = compare_shares(np.zeros(3), np.ones(3))
    mean = average_differences([alike, three])
    assert mean is not None
    assert mean.stderr == pytest.approx(math.sqrt(1 / 3) / 2)
    assert mean.p == pytest.approx(math.erfc(0.5 / (math.sqrt(1 / 3) / 2) / math.sqrt(2)))
    assert (mean.low, mean.high) == pytest.approx((0.5 - 1.959964 * math.sqrt(1 / 3) / 2, 1.0))


@pytest.mark.parametrize("sizes", [(5, 5), (1_000, 3, 3), (2,) * 10])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_mean_over_small_subsets_is_seldom_called_real_by_chance(
    sizes: tuple[int, ...], share: float
) -> None:
    rng = np.random.default_rng(7)
    n_real, n_missed, n_trials = 0, 0, 300
    for _ in range(n_trials):
        parts = []
        for size in sizes:
            side = rng.choice(3, size=size, p=[share, share, 1 - 2 * share])
            parts.append(compare_shares((side == 0).astype(float), (side == 1).astype(float)))
        mean = average_differences(parts)
        assert mean is not None
        n_real += mean.p is not None and mean.p < 0.05
        n_missed += mean.low is not None and mean.high is not None and not mean.low <= 0 <= mean.high
    # Without the floor under the errors of parts the worst of these is 0.15.
    assert n_real <= 0.08 * n_trials
    assert n_missed <= 0.08 * n_trials


def test_what_is_rounding_is_no_spread() -> None:
    a = np.array([0.1, 0.2, 0.7, 0.3, 0.15])
    shifted = compare_means(a, a + 0.1)
    assert (shifted.stderr, shifted.p, shifted.low) == (0.0, None, None)
    same = compare_means(np.full(5, 0.1 + 0.2), np.array([0.3, 0.1 + 0.2, 0.3, 0.3, 0.3]))
    assert same.stderr == 0.0
    assert same.p is None
    texts = np.array([3.0, 7.0, 11.0, 13.0])
    ratio = compare_ratios((0.1 * texts, texts), (0.3 * texts, texts), is_exponential=True)
    assert (ratio.stderr, ratio.p, ratio.low) == (0.0, None, None)
    assert ratio.difference == pytest.approx(math.exp(0.2))


def test_clusters_that_all_differ_alike_count_as_one_pair_each() -> None:
    one_of_three = np.tile([1.0, 0.0, 0.0], 4)
    found = compare_shares(np.zeros(12), one_of_three, np.repeat(np.arange(4), 3))
    assert (found.test, found.stderr) == ("mcnemar", 0.0)
    assert found.p == 1.0
    assert found.low is not None
    assert found.low < 0


def test_a_real_spread_is_kept_however_small() -> None:
    a = np.zeros(1_000_000)
    b = a.copy()
    b[0] = 1.0
    assert compare_means(a, b).stderr == pytest.approx(1e-6, rel=1e-3)
    assert compare_means(1_000 + a, 1_000 + b * 1e-3).stderr == pytest.approx(1e-9, rel=1e-3)


def test_the_interval_of_a_ratio_has_one_degree_of_freedom_fewer_than_units() -> None:
    y, x = np.array([1.0, 2.0, 4.0]), np.ones(3)
    found = compare_ratios((np.zeros(3), x), (y, x), is_exponential=False)
    plain = compare_means(np.zeros(3), y)
    assert (found.difference, found.stderr, found.low, found.high) == pytest.approx(
        (plain.difference, plain.stderr, plain.low, plain.high)
    )
    assert found.p == pytest.approx(plain.p)


def test_clusters_without_spread_count_as_one_pair_each_in_every_number() -> None:
    found = compare_shares(np.zeros(12), np.tile([1.0, 0.0, 0.0], 4), np.repeat(np.arange(4), 3))
    assert (found.n, found.n_units) == (12, 4)
    assert found.n_for_a_point == math.ceil(3 * count_pairs_for_share_difference(1 / 3, 0.01))
    mean = average_differences([found, found])
    assert mean is not None
    assert (mean.n, mean.n_units) == (24, 8)
    assert mean.stderr == pytest.approx(math.sqrt(2 * (1 / 3) / 4) / 2)


def test_a_mean_of_shares_goes_no_further_than_all_of_them() -> None:
    three = compare_shares(np.ones(3), np.zeros(3))
    worse = average_differences([three, compare_shares(np.ones(3), np.array([0.0, 0.0, 1.0]))])
    assert worse is not None
    assert worse.low == -1.0
    free = average_differences([simple(-0.9, 0.5), simple(-0.9, 0.5)])
    assert free is not None
    assert free.low is not None
    assert free.low < -1.0


def test_what_one_in_a_hundred_of_a_perplexity_takes() -> None:
    x, loss = np.ones(50), np.linspace(0.0, 1.0, 50)
    found = compare_ratios((np.zeros(50), x), (loss, x), is_exponential=True)
    assert found.stderr is not None
    deviates = 1.959963985 + 0.841621234
    assert found.smallest == pytest.approx(math.exp(deviates * found.stderr))
    assert found.n_for_a_point == math.ceil(50 * (deviates * found.stderr / math.log(1.01)) ** 2)
