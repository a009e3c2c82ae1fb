"""Scorers that rank options by the likelihood of their text, and perplexity of texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, get_args

from assay.core.method import Method
from assay.core.response import Likelihood
from assay.core.sample import Sample
from assay.core.score import OptionNumbers, Ratio, Score, Verdict
from assay.core.task import AnsweredRequest
from assay.scoring.scorers.response_outcomes import (
    ACCURACY,
    SEVERAL_METRICS,
    Unscorable,
    build_failed_score,
    build_score,
    collect_outcomes,
    compute_margin,
    find_best,
    format_gold_labels,
    get_task,
)

ScoreBy: TypeAlias = Literal["sum", "per_token", "per_char", "per_byte", "pmi"]
SCORE_BY: tuple[str, ...] = get_args(ScoreBy)

_VALUE: dict[str, Callable[[OptionNumbers], float | None]] = {
    "sum": lambda option: option.sum_logprob,
    "per_token": lambda option: _ratio(option.sum_logprob, option.n_tokens),
    "per_char": lambda option: _ratio(option.sum_logprob, option.n_chars),
    "per_byte": lambda option: _ratio(option.sum_logprob, option.n_bytes),
    "pmi": lambda option: _difference(option.sum_logprob, option.unconditional),
}


def _ratio(total: float | None, length: int | None) -> float | None:
    return total / length if total is not None and length else None


def _difference(total: float | None, unconditional: float | None) -> float | None:
    return None if total is None or unconditional is None else total - unconditional


def option_values(options: Sequence[OptionNumbers], score_by: str) -> list[float] | None:
    """Return every option's value under a normalization; None if one of them has none.

    An empty text has no length to divide by, and pmi needs the unconditional likelihoods.
    """
    values = [_VALUE[score_by](option) for option in options]
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


class OptionLikelihood:
    """The most likely option wins, under one of five normalizations; the others are reported in addition.

    sum: log P(option | question). per_token, per_char, per_byte: the sum divided by that length. pmi: the sum
    minus log P(option) without the question. If several options are right, any of them counts; with
    `several_right` the metric's name says so.
    """

    def __init__(
        self,
        track: Method = Method.PPL,
        score_by: ScoreBy = "sum",
        several_right: Literal["any"] | None = None,
    ) -> None:
        if several_right not in (None, "any"):
            raise ValueError(f"several_right must be any, as one option is chosen, not {several_right!r}")
        metric = SEVERAL_METRICS[several_right]
        # Only pmi needs requests that are not sent otherwise.
        given = [one for one in SCORE_BY if one != "pmi" or score_by == "pmi"]
        self.gives = (metric, *(f"{metric}_{one}" for one in given))
        if score_by not in SCORE_BY:
            raise ValueError(f"score_by must be one of {', '.join(SCORE_BY)}, not {score_by!r}")
        self.track = track
        self.score_by = score_by

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score."""
        try:
            options = self._options(sample, answers)
            chosen = option_values(options, self.score_by)
            if chosen is None:
                raise Unscorable(
                    f"{self.score_by} cannot be computed: an option has an empty text or no likelihood"
                )
        except Unscorable as error:
            metric = self.gives[0]
            return build_failed_score(
                self.track, sample, answers, str(error), format_gold_labels(sample), metric=metric
            )
        also = _compute_accuracies(options, sample.gold, self.gives[0]) if sample.gold else {}
        return _build_ranked_score(
            self.track,
            sample,
            answers,
            options,
            chosen,
            rule=self.score_by,
            also=also,
            metric=self.gives[0],
        )

    def _options(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> tuple[OptionNumbers, ...]:
        try:
            unconditional = collect_outcomes(answers, "unconditional", Likelihood)
        except Unscorable:
            if self.score_by == "pmi":
                raise
            unconditional = {}  # the deciding values exist; only pmi is omitted
        return _numbers(sample, collect_outcomes(answers, "option", Likelihood), unconditional)


def _numbers(
    sample: Sample, likelihoods: dict[int, Likelihood], unconditional: dict[int, Likelihood]
) -> tuple[OptionNumbers, ...]:
    options = []
    for index, label in enumerate(sample.labels):
        likelihood = likelihoods.get(index)
        if likelihood is None:
            raise Unscorable(f"no response for option {label!r}")
        if likelihood.sum_logprob != likelihood.sum_logprob:
            raise Unscorable(f"the log-likelihood of option {label!r} is not a number")
        without = unconditional.get(index)
        options.append(
            OptionNumbers(
                label=label,
                sum_logprob=likelihood.sum_logprob,
                n_tokens=likelihood.n_tokens,
                n_chars=likelihood.n_chars,
                n_bytes=likelihood.n_bytes,
                unconditional=without.sum_logprob if without else None,
                is_greedy=likelihood.is_greedy,
            )
        )
    if not options:
        raise Unscorable("the sample has no options")
    return tuple(options)


def _compute_accuracies(
    options: Sequence[OptionNumbers], gold: Sequence[int], metric: str
) -> dict[str, float]:
    found = {}
    for score_by in SCORE_BY:
        values = option_values(options, score_by)
        if values is not None:
            found[f"{metric}_{score_by}"] = float(find_best(values) in gold)
    return found


class WholeTextLikelihood:
    """The option whose whole text has the lowest mean negative log-likelihood wins.

    The mean is over the scored tokens. `faithful` divides by all tokens of the text, including the unscored
    first one, as OpenCompass's own models do. `normalised` compares how much the mean of the option's own
    part differs from the mean of the same part after a neutral text.
    """

    gives = (ACCURACY,)

    def __init__(self, track: Method = Method.PPL, faithful: bool = True, normalised: bool = False) -> None:
        self.track = track
        self._unscored = int(faithful and not normalised)
        self._normalised = normalised
        self._rule = "mean_difference" if normalised else "whole_text_mean"

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score."""
        try:
            without = collect_outcomes(answers, "unconditional", Likelihood) if self._normalised else {}
            options = _numbers(sample, collect_outcomes(answers, "option", Likelihood), without)
            values = [self._value(option) for option in options]
        except Unscorable as error:
            return build_failed_score(self.track, sample, answers, str(error), format_gold_labels(sample))
        return _build_ranked_score(self.track, sample, answers, options, values, rule=self._rule, also={})

    def _value(self, option: OptionNumbers) -> float:
        n = (option.n_tokens or 0) + self._unscored
        if not n or option.sum_logprob is None:
            raise Unscorable(f"no token of option {option.label!r} was scored")
        if not self._normalised:
            return option.sum_logprob / n
        if option.unconditional is None:
            raise Unscorable(f"no response for option {option.label!r} without the question")
        return (option.sum_logprob - option.unconditional) / n


def _build_ranked_score(
    track: Method,
    sample: Sample,
    answers: Sequence[AnsweredRequest],
    options: tuple[OptionNumbers, ...],
    values: Sequence[float],
    *,
    rule: str,
    also: dict[str, float],
    metric: str = ACCURACY,
) -> Score:
    """Return the score with the highest-valued option as the answer."""
    best = find_best(values)
    return build_score(
        track,
        sample,
        get_task(answers),
        Verdict.SCORED if sample.gold else Verdict.UNGRADED,
        metric=metric,
        value=float(best in sample.gold) if sample.gold else None,
        answer=sample.labels[best],
        target=format_gold_labels(sample),
        rule=rule,
        also=also,
        options=options,
        margin=compute_margin(values, best),
    )


PERPLEXITY = "perplexity_token"


class TextLikelihood:
    """Perplexity per token, word and byte, and bits per byte.

    A score contains the text's part of each ratio: over a corpus they are exp(sum / sum), not means of the
    texts' perplexities.
    """

    gives = (PERPLEXITY, "perplexity_word", "perplexity_byte", "bits_per_byte")

    def __init__(self, track: Method = Method.PPL) -> None:
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
