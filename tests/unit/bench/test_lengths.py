"""Lengths: bounds, exact counts, and the same draw for the same item in any order."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.lengths import (
    MAX_LENGTH,
    ConstantLength,
    Gaussian,
    LengthDistribution,
    LengthShares,
    QuantileLengths,
    Uniform,
    Zipf,
    describe_lengths,
    parse_lengths,
)
from assay.core.errors import UsageError

BOUNDS = st.tuples(st.integers(1, 400), st.integers(0, 300)).map(lambda pair: (pair[0], pair[0] + pair[1]))
UNIT = st.floats(0, 1, exclude_max=True)


@st.composite
def quantiles(draw: st.DrawFn) -> QuantileLengths:
    low, high = draw(BOUNDS)
    kind = draw(st.sampled_from(["constant", "uniform", "gaussian", "zipf"]))
    if kind == "constant":
        return ConstantLength(low)
    if kind == "uniform":
        return Uniform(low, high)
    if kind == "gaussian":
        return Gaussian(draw(st.floats(-1e9, 1e9)), draw(st.floats(0, 1e12)), low, high)
    return Zipf(draw(st.floats(1.001, 10)), low, high)


@st.composite
def shares(draw: st.DrawFn) -> LengthShares:
    parts = draw(st.lists(st.integers(1, 50), min_size=1, max_size=6))
    total = 10_000
    scaled = [part * total // sum(parts) for part in parts]
    scaled[-1] += total - sum(scaled)
    lengths = draw(st.lists(st.integers(1, 4096), min_size=len(parts), max_size=len(parts)))
    return LengthShares(
        tuple((length, Decimal(part) / total) for length, part in zip(lengths, scaled, strict=True))
    )


@given(quantiles(), UNIT, UNIT)
def test_lengths_keep_their_bounds_and_grow_with_the_share(
    lengths: QuantileLengths, one: float, other: float
) -> None:
    low = lengths.shortest
    high = getattr(lengths, "high", low)
    shorter, longer = (lengths.quantile(share) for share in sorted((one, other)))
    assert low <= shorter <= longer <= high


@given(st.one_of(quantiles(), shares()), st.integers(1, 60), st.integers(0, 5))
def test_the_same_seed_gives_the_same_lengths(lengths: LengthDistribution, n: int, seed: int) -> None:
    first, again = lengths.draw(n, seed, "input"), lengths.draw(n, seed, "input")
    assert [first(at) for at in range(n)] == [again(at) for at in reversed(range(n))][::-1]


@given(quantiles(), st.integers(1, 30), st.integers(1, 30))
def test_a_length_depends_on_its_item_and_not_on_how_many_there_are(
    lengths: QuantileLengths, n: int, more: int
) -> None:
    few, many = lengths.draw(n, 7, "output"), lengths.draw(n + more, 7, "output")
    assert [few(at) for at in range(n)] == [many(at) for at in range(n)]


def test_purposes_and_seeds_have_draws_of_their_own() -> None:
    def drawn(seed: int, purpose: str) -> list[int]:
        return [Uniform(1, 10**6).draw(20, seed, purpose)(at) for at in range(20)]

    assert len({tuple(drawn(seed, purpose)) for seed in (0, 1) for purpose in ("input", "output")}) == 4


def test_both_bounds_of_a_uniform_draw_are_reached() -> None:
    drawn = Uniform(1, 2).draw(100, 0, "input")
    assert Counter(drawn(at) for at in range(100)) == {1: 55, 2: 45}


@given(BOUNDS)
def test_every_length_of_a_uniform_draw_has_an_equal_part_of_the_shares(bounds: tuple[int, int]) -> None:
    low, high = bounds
    n = high - low + 1
    assert [Uniform(low, high).quantile((at + 0.5) / n) for at in range(n)] == list(range(low, high + 1))


@given(st.floats(1.01, 10), st.integers(1, 40), st.integers(0, 60))
def test_zipf_by_brute_force(alpha: float, low: int, span: int) -> None:
    """The middle of each length's own part of the shares, summed by hand, gives that length."""
    lengths = range(low, low + span + 1)
    weights = [math.exp(-alpha * math.log(k)) for k in lengths]
    zipf = Zipf(alpha, low, low + span)
    for at, length in enumerate(lengths):
        middle = (math.fsum(weights[:at]) + weights[at] / 2) / math.fsum(weights)
        # Weights too small to move a sum of doubles have no share that can be named.
        if weights[at] / math.fsum(weights) > 1e-12:
            assert zipf.quantile(min(middle, 1 - 2**-53)) == length


def test_zipf_is_no_heap_on_its_minimum() -> None:
    """The original clips: 76 % of zipf(1.5) over 10..1000 is 10."""
    drawn = Zipf(1.5, 10, 1000).draw(2000, 0, "input")
    counts = Counter(drawn(at) for at in range(2000))
    exact = 10**-1.5 / math.fsum(k**-1.5 for k in range(10, 1001))
    assert 0.05 < exact < 0.06
    assert counts[10] == 105
    assert max(counts) == 1000


def normal_below(value: float, mean: float, deviation: float) -> float:
    return math.erfc((mean - value) / deviation / math.sqrt(2)) / 2


@given(st.floats(-50, 450), st.floats(1, 200), BOUNDS)
def test_gaussian_by_brute_force(mean: float, deviation: float, bounds: tuple[int, int]) -> None:
    """The middle of each length's own part of the truncated, rounded distribution gives that length."""
    low, high = bounds
    gaussian = Gaussian(mean, deviation**2, low, high)
    edges = [normal_below(k - 0.5, mean, deviation) for k in range(low, high + 2)]
    total = edges[-1] - edges[0]
    for at, length in enumerate(range(low, high + 1)):
        part = edges[at + 1] - edges[at]
        # Parts that are lost in the rounding of the sums above cannot be compared.
        if total > 1e-3 and part / total > 1e-6:
            assert gaussian.quantile((edges[at] + part / 2 - edges[0]) / total) == length


def test_a_gaussian_whose_mean_is_outside_stays_a_distribution() -> None:
    drawn = Gaussian(0, 100**2, 200, 400).draw(500, 0, "input")
    counts = Counter(drawn(at) for at in range(500))
    assert min(counts) == 200
    assert counts[200] < 25
    assert len(counts) > 100
    mirrored = Gaussian(600, 100**2, 200, 400)
    assert mirrored.quantile(0) < mirrored.quantile(0.5) < mirrored.quantile(1 - 2**-53) == 400


def test_a_gaussian_without_variance_or_far_away_is_the_nearest_length() -> None:
    assert Gaussian(99.6, 0, 1, 200).quantile(0.3) == 100
    assert Gaussian(10**6, 1, 1, 200).quantile(0.3) == 200
    assert Gaussian(-(10**6), 1, 5, 200).quantile(0.99) == 5


@given(shares(), st.integers(1, 500), st.integers(0, 3))
def test_counts_of_shares_add_up_and_are_nearest(lengths: LengthShares, n: int, seed: int) -> None:
    counts = lengths.counts(n)
    assert sum(counts) == n
    for count, (_, share) in zip(counts, lengths.shares, strict=True):
        assert abs(count - Fraction(share) * n) < 1
    drawn = lengths.draw(n, seed, "input")
    expected = Counter[int]()
    for count, (length, _) in zip(counts, lengths.shares, strict=True):
        expected[length] += count
    assert Counter(drawn(at) for at in range(n)) == +expected


def test_what_is_left_goes_to_the_largest_remainders() -> None:
    lengths = LengthShares(((1, Decimal("0.29")), (2, Decimal("0.29")), (3, Decimal("0.42"))))
    assert lengths.counts(100) == (29, 29, 42)
    assert lengths.counts(10) == (3, 3, 4)
    assert lengths.counts(1) == (0, 0, 1)


def test_shares_are_mixed_and_not_one_after_the_other() -> None:
    drawn = LengthShares(((1, Decimal("0.5")), (2, Decimal("0.5")))).draw(40, 0, "input")
    assert {1, 2} == {drawn(at) for at in range(10)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("512", ConstantLength(512)),
        ("uniform:128..1024", Uniform(128, 1024)),
        ("gaussian:mean=512,var=10000,min=1,max=2048", Gaussian(512, 10000, 1, 2048)),
        ("gaussian:mean=512,var=1e4", Gaussian(512, 10000, 1, MAX_LENGTH)),
        ("zipf:alpha=1.5,min=10,max=1000", Zipf(1.5, 10, 1000)),
        ("percentage:128=0.3,512=0.7", LengthShares(((128, Decimal("0.3")), (512, Decimal("0.7"))))),
    ],
)
def test_lengths_as_a_person_writes_them(text: str, expected: LengthDistribution) -> None:
    assert parse_lengths(text, "--input") == expected
    assert describe_lengths(expected)["method"] == expected.method


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "value is 0"),
        ("1048577", "1 to 1048576"),
        ("unifrom:1..2", "did you mean 'uniform'?"),
        ("uniform", "unknown distribution 'uniform'"),
        ("uniform:9..3", "min 9 is greater than max 3"),
        ("uniform:1-3", "found '1-3'"),
        ("gaussian:mean=5", "'var' is missing"),
        ("gaussian:mean=5,var=-1", "var is -1.0"),
        ("gaussian:mean=nan,var=1", "mean is nan"),
        ("gaussian:mean=5,var=1,mean=6", "'mean' is given twice"),
        ("zipf:alpha=1,min=1,max=9", "alpha is 1.0, expected a number above 1"),
        ("zipf:alpha=x,min=1,max=9", "alpha is 'x'"),
        ("zipf:alfa=2,min=1,max=9", "did you mean 'alpha'?"),
        ("percentage:128=0.3,512=0.6", "add up to 0.9, expected exactly 1"),
        ("percentage:128=1.5", "the share of 128 is 1.5"),
        ("percentage:128", "found '128'"),
        ("percentage:128=NaN", "'NaN'"),
        ("percentage:0=1", "length is 0"),
    ],
)
def test_lengths_that_mean_nothing_are_reported(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_lengths(text, "--input")
    problem = caught.value.problems[0]
    assert problem.code == "BENCH-020"
    assert problem.what.startswith(f"--input: lengths {text!r}")
    assert message in problem.what
