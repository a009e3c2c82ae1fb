from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.ratios import RunningRatio
from assay.scoring.statistics import RunningMean

PAIRS = st.lists(st.tuples(st.floats(0, 1e4), st.integers(1, 5000)), min_size=2, max_size=30)


def ratio_of(
    pairs: list[tuple[float, float]], clusters: list[str] | None = None, **how: bool
) -> RunningRatio:
    running = RunningRatio(**how)
    for nth, (y, x) in enumerate(pairs):
        running.add(y, x, clusters[nth] if clusters else None)
    return running


def corpus(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the negative log-likelihoods and lengths of texts, the longer ones easier to guess."""
    random = np.random.default_rng(seed)
    lengths = np.round(np.exp(random.normal(6, 0.8, n))) + 1
    per_token = 3.2 - 0.1 * np.log(lengths) + random.normal(0, 0.35, n)
    return lengths * per_token, lengths


def test_the_value_is_a_ratio_of_sums() -> None:
    assert ratio_of([(6.0, 2), (10.0, 10)]).estimate().value == pytest.approx(16 / 12)
    assert ratio_of([(6.0, 2), (10.0, 10)], is_exponential=True).estimate().value == pytest.approx(
        math.exp(16 / 12)
    )


@pytest.mark.parametrize(("n", "seed"), [(60, 1), (60, 2), (400, 3)])
def test_the_interval_agrees_with_a_bootstrap_over_texts(n: int, seed: int) -> None:
    y, x = corpus(n, seed)
    found = ratio_of(list(zip(y.tolist(), x.tolist(), strict=True)), is_exponential=True).estimate()
    drawn = np.random.default_rng(seed + 100).integers(0, n, (20_000, n))
    perplexities = np.exp(y[drawn].sum(axis=1) / x[drawn].sum(axis=1))
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    # Half an interval's width, and where it ends, to within a tenth of that width.
    width = found.high - found.low
    low, high = np.quantile(perplexities, [0.025, 0.975])
    assert found.stderr == pytest.approx(perplexities.std(), rel=0.08)
    assert found.low == pytest.approx(low, abs=0.1 * width)
    assert found.high == pytest.approx(high, abs=0.1 * width)


def test_the_interval_covers_about_ninety_five_percent() -> None:
    y, x = corpus(200_000, 9)
    truth = math.exp(y.sum() / x.sum())
    drawn = np.random.default_rng(10).integers(0, len(y), (2000, 40))
    covered = 0
    for rows in drawn:
        pairs = list(zip(y[rows].tolist(), x[rows].tolist(), strict=True))
        found = ratio_of(pairs, is_exponential=True).estimate()
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    assert 0.92 < covered / len(drawn) < 0.975


def test_clusters_widen_the_interval_as_a_bootstrap_over_clusters_does() -> None:
    random = np.random.default_rng(4)
    n_clusters, per_cluster = 80, 6
    shift = np.repeat(random.normal(0, 0.4, n_clusters), per_cluster)
    x = np.round(np.exp(random.normal(5, 0.5, n_clusters * per_cluster)))
    y = x * (3 + shift + random.normal(0, 0.2, len(x)))
    pairs = list(zip(y.tolist(), x.tolist(), strict=True))
    names = [f"author {at // per_cluster}" for at in range(len(x))]
    clustered, apart = ratio_of(pairs, names).stderr(), ratio_of(pairs).stderr()
    sums_y, sums_x = (part.reshape(n_clusters, per_cluster).sum(axis=1) for part in (y, x))
    drawn = random.integers(0, n_clusters, (20_000, n_clusters))
    expected = (sums_y[drawn].sum(axis=1) / sums_x[drawn].sum(axis=1)).std()
    assert clustered == pytest.approx(expected, rel=0.08)
    assert apart is not None
    assert clustered is not None
    assert clustered > 1.8 * apart


@given(PAIRS)
def test_with_equal_denominators_it_is_the_mean(pairs: list[tuple[float, float]]) -> None:
    ratio = ratio_of([(y, 1.0) for y, _ in pairs])
    mean = RunningMean.of([y for y, _ in pairs])
    assert ratio.estimate().value == pytest.approx(mean.mean)
    # The mean's own sums of squares lose digits where values are large and alike.
    assert ratio.stderr() == pytest.approx(mean.stderr(), rel=1e-6, abs=1e-3)


@given(PAIRS, st.data())
def test_merging_in_any_split_changes_nothing(pairs: list[tuple[float, float]], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(pairs)))
    names = data.draw(st.lists(st.sampled_from([None, "p", "q"]), min_size=len(pairs), max_size=len(pairs)))
    whole, left, right = RunningRatio(), RunningRatio(), RunningRatio()
    for nth, ((y, x), cluster) in enumerate(zip(pairs, names, strict=True)):
        whole.add(y, x, cluster)
        (left if nth < at else right).add(y, x, cluster)
    left.merge(right)
    assert left.n == whole.n
    assert left.n_units == whole.n_units
    assert left.estimate().value == pytest.approx(whole.estimate().value)
    if whole.n_units < 2:
        assert left.stderr() is whole.stderr() is None
    else:
        assert left.stderr() == pytest.approx(whole.stderr(), rel=1e-6, abs=1e-9)


def test_texts_that_are_all_alike_have_no_spread() -> None:
    assert ratio_of([(y * 3.1, y) for y in (1000.0, 1234.0, 777.0)]).stderr() == pytest.approx(0, abs=1e-12)


def test_one_text_or_one_cluster_has_no_interval() -> None:
    for running in (ratio_of([(6.0, 2)]), ratio_of([(6.0, 2), (7.0, 3)], ["p", "p"])):
        found = running.estimate()
        assert found.value is not None
        assert (found.low, found.high, found.stderr) == (None, None, None)


def test_nothing_to_divide_by_and_more_than_a_number_holds() -> None:
    assert RunningRatio().estimate().value is None
    assert ratio_of([(5.0, 0), (3.0, 0)]).estimate().value is None
    assert ratio_of([(5e6, 1), (3.0, 1)], is_exponential=True).estimate().value is None
