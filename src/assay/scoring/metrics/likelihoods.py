"""Numbers made of log-probabilities: perplexities, and how well options are ranked.

Log-probabilities are natural logarithms. Of equal options the first wins. Functions over numbers raise
ValueError for what cannot be one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, ClassVar, NamedTuple

from assay.scoring.metrics.checks import Misfit, score_rows
from assay.scoring.metrics.list_metric import ListMetric
from assay.scoring.ratios import RunningRatio


def perplexity(logprobs: Sequence[float], sizes: Sequence[int]) -> float:
    """Return exp(-sum of the texts' log-probabilities / sum of their sizes): per token, word or byte.

    One value over the corpus, never a mean of the texts' own perplexities.
    """
    return _over_corpus(logprobs, sizes, is_exponential=True)


def bits_per_byte(logprobs: Sequence[float], n_bytes: Sequence[int]) -> float:
    """Return -sum of the texts' log-probabilities / (sum of their UTF-8 bytes · ln 2)."""
    return _over_corpus(logprobs, n_bytes, is_exponential=False) / math.log(2)


def _over_corpus(logprobs: Sequence[float], sizes: Sequence[int], *, is_exponential: bool) -> float:
    ratio = RunningRatio(is_exponential=is_exponential)
    for logprob, size in zip(logprobs, sizes, strict=True):
        if not -math.inf < logprob <= 0 or size < 0:
            raise ValueError(f"no text has the log-probability {logprob} and the size {size}")
        ratio.add(-logprob, size)
    value = ratio.estimate().value
    if value is None:
        raise ValueError("the texts have no size, or a perplexity too large for a number")
    return value


def ranking(logprobs: Sequence[float]) -> list[int]:
    """Return the indexes of options, the likeliest first."""
    if not logprobs or any(map(math.isnan, logprobs)):
        raise ValueError(f"expected at least one option, each with a log-probability, not {logprobs!r}")
    return sorted(range(len(logprobs)), key=lambda index: -logprobs[index])


def reciprocal_rank(logprobs: Sequence[float], gold: Collection[int]) -> float:
    """Return 1 / the rank of the likeliest right option."""
    ranks = [rank for rank, index in enumerate(ranking(logprobs), start=1) if index in gold]
    if not ranks:
        raise ValueError(f"no option is right: gold is {gold!r} of {len(logprobs)} options")
    return 1 / ranks[0]


def hit_at_k(logprobs: Sequence[float], gold: Collection[int], k: int = 1) -> float:
    """Return 1 if a right option is among the k likeliest, else 0. With k = 1 that is accuracy."""
    if not 1 <= k <= len(logprobs):
        raise ValueError(f"expected k from 1 to the number of options, {len(logprobs)}, not {k}")
    return float(any(index in gold for index in ranking(logprobs)[:k]))


def any_greedy(is_greedy: Sequence[bool]) -> float:
    """Return 1 if the model by itself would have written any of the right answers, else 0."""
    if not is_greedy:
        raise ValueError("expected at least one right answer")
    return float(any(is_greedy))


class TruthfulScore(NamedTuple):
    """TruthfulQA's two scores of one question."""

    mc1: float
    mc2: float


def truthful_mc(logprobs: Sequence[float], gold: Collection[int], n_mc1: int) -> TruthfulScore:
    """Return TruthfulQA's MC1 and MC2 for options in one list: those of MC1, the right one first, then MC2's.

    MC1: whether the first is the likeliest of its part. MC2: the share of the probability of MC2's options
    that falls on right ones, wherever they stand.
    """
    first, second = logprobs[:n_mc1], logprobs[n_mc1:]
    if not first or not second:
        raise ValueError(f"expected options of both parts; {n_mc1} of {len(logprobs)} belong to MC1")
    top = max(second)
    if not math.isfinite(top):
        raise ValueError("no option of MC2 has any probability")
    shares = [math.exp(logprob - top) for logprob in second]
    right = math.fsum(share for index, share in enumerate(shares, start=n_mc1) if index in gold)
    return TruthfulScore(hit_at_k(first, {0}), right / math.fsum(shares))


class PPL(ListMetric):
    """The mean of the predictions, which are each text's negative log-likelihood per token, in nats.

    It is LLMBox's: neither raised to e nor weighted by length. `perplexity` is the usual number.
    """

    higher_is_better: ClassVar[bool] = False

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `PPL`. References are only counted."""
        return self._mean("PPL", score_rows(self, predictions, references, _read_finite))


def _read_finite(prediction: Any, _: Any) -> float:
    try:
        value = float(prediction)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise Misfit(
            f"the prediction is {prediction!r}; expected a finite number",
            "give PPL to a dataset whose texts are scored by likelihood, without empty texts",
        )
    return value
