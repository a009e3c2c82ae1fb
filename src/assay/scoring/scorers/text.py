"""Whole texts, by how likely the model finds them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.core.response import Likelihood
from assay.core.sample import Sample
from assay.core.score import Ratio, Score, Verdict
from assay.core.task import AnsweredRequest
from assay.scoring.scorers.response_outcomes import (
    Unscorable,
    build_failed_score,
    build_score,
    collect_outcomes,
    get_task,
)

PERPLEXITY = "perplexity_token"


class TextLikelihood:
    """Perplexity over tokens, words and bytes, and bits per byte.

    A score carries the text's part of each ratio: over a corpus they are exp(sum / sum), not means of the
    texts' own perplexities.
    """

    gives = (PERPLEXITY, "perplexity_word", "perplexity_byte", "bits_per_byte")

    def __init__(self, track: str = "ppl") -> None:
        self.track = track

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score; its value is the text's own perplexity per token."""
        try:
            likelihood = collect_outcomes(answers, "text", Likelihood).get(0)
            if likelihood is None:
                raise Unscorable("no response for the text")
            value = _perplexity(likelihood)
        except Unscorable as error:
            return build_failed_score(self.track, sample, answers, str(error), None, metric=PERPLEXITY)
        surprise = -likelihood.sum_logprob
        ratios = {
            PERPLEXITY: Ratio(surprise, likelihood.n_tokens, is_exponential=True),
            "perplexity_word": Ratio(surprise, likelihood.n_words, is_exponential=True),
            "perplexity_byte": Ratio(surprise, likelihood.n_bytes, is_exponential=True),
            "bits_per_byte": Ratio(surprise / math.log(2), likelihood.n_bytes),
        }
        return build_score(
            self.track,
            sample,
            get_task(answers),
            Verdict.SCORED,
            metric=PERPLEXITY,
            value=value,
            ratios=ratios,
        )


def _perplexity(likelihood: Likelihood) -> float:
    if not likelihood.n_tokens:
        raise Unscorable("no token of the text was scored")
    try:
        value = math.exp(-likelihood.sum_logprob / likelihood.n_tokens)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise Unscorable(f"the log-likelihood of the text is {likelihood.sum_logprob}")
    return value
