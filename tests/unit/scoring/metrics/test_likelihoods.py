from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.scoring.metrics import PPL
from assay.scoring.metrics.likelihoods import (
    any_greedy,
    bits_per_byte,
    hit_at_k,
    perplexity,
    ranking,
    reciprocal_rank,
    truthful_mc,
)

LOGPROBS = st.lists(st.floats(-50, 0), min_size=1, max_size=8)


@given(st.lists(st.tuples(st.floats(-50, 0), st.integers(1, 50)), min_size=1, max_size=8))
def test_perplexity_is_one_ratio_over_the_corpus(texts: list[tuple[float, int]]) -> None:
    logprobs, sizes = [text[0] for text in texts], [text[1] for text in texts]
    value = perplexity(logprobs, sizes)
    assert value == pytest.approx(math.exp(-sum(logprobs) / sum(sizes)))
    assert bits_per_byte(logprobs, sizes) == pytest.approx(math.log2(value), abs=1e-12)


@pytest.mark.parametrize(
    ("logprob", "size"), [(0.5, 3), (math.nan, 3), (-math.inf, 3), (-1.0, 0), (-1.0, -2), (-1e6, 1)]
)
def test_what_has_no_perplexity_is_refused(logprob: float, size: int) -> None:
    with pytest.raises(ValueError, match=r"no text has|no size"):
        perplexity([logprob], [size])


@given(LOGPROBS, st.data())
def test_ranks_of_options(logprobs: list[float], data: st.DataObject) -> None:
    gold = data.draw(st.sets(st.integers(0, len(logprobs) - 1), min_size=1))
    # A right option's rank: one more than all options before it, where of equal ones the first is before.
    ranks = [
        1 + sum((-other, place) < (-logprobs[right], right) for place, other in enumerate(logprobs))
        for right in gold
    ]
    assert reciprocal_rank(logprobs, gold) == 1 / min(ranks)
    for k in range(1, len(logprobs) + 1):
        assert hit_at_k(logprobs, gold, k) == float(min(ranks) <= k)
    assert ranking(logprobs)[0] == logprobs.index(max(logprobs))


def test_rankings_that_cannot_be() -> None:
    for logprobs in ([], [-1.0, math.nan]):
        with pytest.raises(ValueError, match="log-probability"):
            ranking(logprobs)
    with pytest.raises(ValueError, match="no option is right"):
        reciprocal_rank([-1.0], {3})
    for k in (0, 3):
        with pytest.raises(ValueError, match="expected k"):
            hit_at_k([-1.0, -2.0], {0}, k)
    with pytest.raises(ValueError, match="right answer"):
        any_greedy([])


def test_truthful_scores() -> None:
    logs = [math.log(share) for share in (0.5, 0.3, 0.1, 0.2, 0.3)]
    # Right ones of the second part need not stand side by side.
    assert tuple(truthful_mc(logs, {0, 2, 4}, 2)) == pytest.approx((1.0, 0.4 / 0.6))
    assert truthful_mc(logs, {0, 3}, 3).mc2 == pytest.approx(0.2 / 0.5)
    assert truthful_mc([-2.0, -1.0, -1.0], {0, 2}, 2) == (0.0, 1.0)


@pytest.mark.parametrize(("logprobs", "n_mc1"), [([-1.0], 1), ([-1.0], 0), ([-1.0, -math.inf], 1)])
def test_truthful_scores_that_cannot_be(logprobs: list[float], n_mc1: int) -> None:
    with pytest.raises(ValueError, match="MC"):
        truthful_mc(logprobs, {0}, n_mc1)


def test_ppl_is_the_mean_and_lower_is_better() -> None:
    metric = PPL()
    assert metric([1.0, 2.5], [None, None]) == {"PPL": 1.75}
    assert metric.last_score_lists == {"PPL": [1.0, 2.5]}
    assert not metric.higher_is_better


@pytest.mark.parametrize("prediction", ["x", None, math.inf, math.nan])
def test_ppl_of_what_is_no_number_is_an_error(prediction: Any) -> None:
    with pytest.raises(AuthorError, match="METRIC-002 PPL, row 2"):
        PPL()([1.0, prediction], [None, None])
