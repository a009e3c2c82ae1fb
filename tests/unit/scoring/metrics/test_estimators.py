from __future__ import annotations

from itertools import combinations
from statistics import mode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.metrics.estimators import majority, pass_at_k


@pytest.mark.parametrize("n", range(1, 8))
def test_pass_at_k_is_the_share_of_all_choices_that_hold_a_right_one(n: int) -> None:
    for c in range(n + 1):
        samples = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            choices = list(combinations(samples, k))
            assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, choices)) / len(choices), abs=1e-12)


@given(st.integers(1, 2000), st.data())
def test_pass_at_k_is_the_published_product(n: int, data: st.DataObject) -> None:
    """1 - prod (1 - k/i) for i from n-c+1 to n, the form in which HumanEval's authors compute it."""
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    product = 1.0
    for i in range(n - c + 1, n + 1):
        product *= 1 - k / i
    assert pass_at_k(n, c, k) == pytest.approx(1.0 if n - c < k else 1 - product, abs=1e-9)


def test_fewer_samples_than_k_say_nothing() -> None:
    with pytest.raises(ValueError, match="pass@10 cannot be estimated from 1 samples"):
        pass_at_k(1, 0, 10)
    with pytest.raises(ValueError, match="cannot be right"):
        pass_at_k(2, 3, 1)
    with pytest.raises(ValueError, match="pass@0"):
        pass_at_k(2, 1, 0)


@given(st.lists(st.sampled_from("abcd"), min_size=1))
def test_the_majority_is_pythons_mode(values: list[str]) -> None:
    assert majority(values) == mode(values)


def test_of_equals_the_first_seen_wins() -> None:
    assert majority(["b", "a", "a", "b", "c"]) == "b"
    with pytest.raises(ValueError, match="at least one"):
        majority([])
