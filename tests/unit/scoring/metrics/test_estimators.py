from __future__ import annotations

from itertools import combinations
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.metrics.estimators import g_pass_at_k, majority, mg_pass_at_k, pass_at_k

COUNTS = st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


def share_of_draws(n: int, c: int, k: int, wanted: int) -> float:
    """Look at every draw of k attempts."""
    attempts = [True] * c + [False] * (n - c)
    return mean(float(sum(draw) >= wanted) for draw in combinations(attempts, k))


@given(COUNTS)
def test_pass_at_k_is_the_share_of_draws_with_a_right_one(counts: tuple[int, int, int]) -> None:
    assert pass_at_k(*counts) == pytest.approx(share_of_draws(*counts, 1))


@given(COUNTS, st.integers(0, 20))
def test_g_pass_at_k_is_the_share_of_draws_with_enough_right_ones(
    counts: tuple[int, int, int], twentieths: int
) -> None:
    k = counts[2]
    wanted = max(1, -(-twentieths * k // 20))  # ceil in whole numbers
    assert g_pass_at_k(*counts, twentieths / 20) == pytest.approx(share_of_draws(*counts, wanted))


@given(COUNTS)
def test_mg_pass_at_k_is_the_area_above_one_half(counts: tuple[int, int, int]) -> None:
    k = counts[2]
    tail = sum(share_of_draws(*counts, wanted) for wanted in range(-(-k // 2) + 1, k + 1))
    assert mg_pass_at_k(*counts) == pytest.approx(2 * tail / k)


@pytest.mark.parametrize("estimate", [pass_at_k, mg_pass_at_k, lambda n, c, k: g_pass_at_k(n, c, k, 0.5)])
def test_fewer_attempts_than_k_are_an_error_and_not_a_pass(estimate: object) -> None:
    assert callable(estimate)
    with pytest.raises(ValueError, match="pass@10 cannot be estimated from 1 samples"):
        estimate(1, 0, 10)
    with pytest.raises(ValueError, match="pass@0"):
        estimate(3, 1, 0)
    for c in (-1, 4):
        with pytest.raises(ValueError, match="cannot be right"):
            estimate(3, c, 1)


def test_a_share_above_1_is_rejected() -> None:
    with pytest.raises(ValueError, match="threshold"):
        g_pass_at_k(3, 1, 2, 1.5)


def test_large_counts_stay_exact() -> None:
    assert pass_at_k(2000, 1, 1000) == pytest.approx(0.5)


def test_the_majority_and_of_equals_the_first() -> None:
    assert majority(["b", "a", "a", "b", "c"]) == "b"
    assert majority(["b", "a", "a"]) == "a"
    with pytest.raises(ValueError, match="at least one value"):
        majority([])


def test_a_threshold_that_is_a_little_more_as_a_float_asks_for_no_more() -> None:
    """0.28 * 25 is 7.000000000000001: seven right ones of twenty-five are enough."""
    assert g_pass_at_k(25, 7, 25, 0.28) == 1.0
    assert g_pass_at_k(25, 6, 25, 0.28) == 0.0
