"""Two models on the same samples, against the comparison of runs and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.run_index import SampleValues
from assay.results.leaderboard.pairwise_tests import EntrySamples, combine_differences, compare_paired
from assay.results.paired import compare_means, compare_ratios, compare_shares


def side(
    values: list[float],
    *,
    ids: list[int] | None = None,
    weights: list[float] | None = None,
    clusters: list[int] | None = None,
) -> EntrySamples:
    return EntrySamples.of(
        SampleValues(
            np.array(range(len(values)) if ids is None else ids, dtype=np.uint64),
            np.array(values, dtype=float),
            None if weights is None else np.array(weights, dtype=float),
            None if clusters is None else np.array(clusters, dtype=np.uint64),
            is_exponential=weights is not None,
        )
    )


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=60))
def test_shares_are_compared_as_two_runs_are(pairs: list[tuple[bool, bool]]) -> None:
    a, b = (list(map(float, column)) for column in zip(*pairs, strict=True))
    found = compare_paired(side(a), side(b))
    expected = compare_shares(np.array(a), np.array(b))
    assert found is not None
    assert expected.stderr is not None
    assert found.n == expected.n
    assert found.a == pytest.approx(expected.a)
    assert found.b == pytest.approx(expected.b)
    assert found.difference == pytest.approx(expected.difference)
    assert found.stderr == pytest.approx(expected.stderr)
    assert found.p == expected.p


def test_other_numbers_ratios_and_clusters_go_to_their_own_tests() -> None:
    a, b = [0.1, 0.5, 0.9, 0.3], [0.2, 0.7, 0.8, 0.6]
    assert compare_paired(side(a), side(b)) == compare_means(np.array(a), np.array(b))
    w, v = [2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 6.0]
    expected = compare_ratios((np.array(a), np.array(w)), (np.array(b), np.array(v)), is_exponential=True)
    assert compare_paired(side(a, weights=w), side(b, weights=v)) == expected
    x, y, c = [1.0, 0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0, 1.0], [1, 1, 2, 2, 3]
    clustered = compare_shares(np.array(x), np.array(y), np.array(c))
    assert compare_paired(side(x, clusters=c), side(y, clusters=c)) == clustered


def test_parts_without_any_spread_are_taken_together_by_their_counts() -> None:
    """All wrong against all right on each of two parts: no error to divide by, and yet as plain as can be."""
    part = compare_paired(side([0.0] * 5), side([1.0] * 5))
    assert part is not None
    found = combine_differences([part, part])
    assert found is not None
    assert found.difference == 1.0
    assert found.p == pytest.approx(2 / 2**10)
    same = compare_paired(side([1.0, 0.0]), side([1.0, 0.0]))
    assert same is not None
    alike = combine_differences([same, same])
    assert alike is not None
    assert (alike.difference, alike.p) == (0.0, 1.0)


def test_parts_with_spread_are_a_normal_mean() -> None:
    rng = np.random.default_rng(1)
    parts = []
    gaps, errors = [], []
    for _ in range(3):
        a, b = rng.random(20).tolist(), rng.random(20).tolist()
        part = compare_paired(side(a), side(b))
        assert part is not None
        parts.append(part)
        d = np.array(b) - np.array(a)
        gaps.append(d.mean())
        errors.append(d.std(ddof=1) / math.sqrt(len(d)))
    found = combine_differences(parts)
    assert found is not None
    z = np.mean(gaps) / (math.sqrt(sum(e * e for e in errors)) / 3)
    assert found.p == pytest.approx(math.erfc(abs(z) / math.sqrt(2)))


def test_samples_are_matched_by_their_ids() -> None:
    a = side([1.0, 0.0, 1.0, 1.0], ids=[1, 2, 3, 4])
    b = side([0.0, 1.0, 1.0, 0.0], ids=[2, 3, 4, 9])
    found = compare_paired(a, b)
    assert found is not None
    assert found.n == 3
    assert found.a == pytest.approx(2 / 3)
    assert found.b == pytest.approx(2 / 3)
    assert found.difference == 0.0


def test_too_few_shared_samples_are_no_pairs() -> None:
    a = side([1.0, 0.0, 1.0, 1.0, 0.0], ids=[1, 2, 3, 4, 5])
    assert compare_paired(a, side([1.0, 0.0, 1.0, 1.0, 0.0], ids=[4, 5, 6, 7, 8])) is None
    assert compare_paired(side([1.0], ids=[1]), side([1.0], ids=[1])) is None


def test_a_value_between_0_and_1_is_no_right_answer() -> None:
    assert side([0.0, 1.0]).right is not None
    assert side([0.0, 0.5]).right is None
    assert side([0.0, math.inf]).right is None
