"""Options ranked by the negative log-likelihood of whole sentences: the prompt followed by each option.

The prompt is part of every sentence and cancels out. So the numbers of an option cover the tokens after the
prefix that all options share. Sums over those tokens differ by as much as the sums of whole sentences, and
their mean per token is the normalized score.
"""

from __future__ import annotations

import array
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.difference import Difference
from assay.core.method import Method
from assay.core.response import Likelihood
from assay.core.sample import Sample
from assay.core.score import OptionNumbers, Score, Verdict
from assay.core.task import AnsweredRequest
from assay.scoring.originals.ultraeval.named_metrics import read_metrics
from assay.scoring.scorers.likelihood import option_values
from assay.scoring.scorers.response_outcomes import (
    ACCURACY,
    Unscorable,
    build_failed_score,
    build_score,
    collect_outcomes,
    compute_margin,
    find_best,
    format_gold_labels,
    get_task,
)

PLAIN, NORMALISED = "sum", "per_token"
"""The two ways to score an option, by the names of option likelihood's normalizations."""


class _RankedOptions(NamedTuple):
    """The options of one sample with their values; higher is better."""

    values: list[float]
    best: int
    worths: list[float]
    """The dataset's value for choosing each option."""


def log_prob(ranked: _RankedOptions) -> float:
    """Return the dataset's value of the chosen option."""
    return ranked.worths[ranked.best]


def log_prob_mc2(ranked: _RankedOptions) -> float:
    """Return the share of the likelihood on all options with a value above 0."""
    highest = max(ranked.values)
    shares = [math.exp(value - highest) for value in ranked.values]
    right = (share for share, worth in zip(shares, ranked.worths, strict=True) if worth > 0)
    return math.fsum(right) / math.fsum(shares)


def _original_mc2(ranked: _RankedOptions) -> float:
    """Return the same for the options before the first with value 0, without protection against underflow."""
    if 0 not in ranked.worths:
        raise Unscorable("log_prob_mc2: no option is worth 0, and the original needs one")
    if any(map(math.isnan, ranked.values)):
        raise Unscorable("log_prob_mc2: the log-likelihood of an option is not a number")
    n_right = ranked.worths.index(0)
    if not n_right:
        return 0.0
    try:
        shares = [math.exp(value) for value in ranked.values]
        return sum(shares[:n_right]) / sum(shares)
    except (ZeroDivisionError, OverflowError) as error:
        raise Unscorable(
            "log_prob_mc2: the likelihoods of whole sentences are too small for a share (0/0)"
        ) from error


SENTENCE_METRICS: Mapping[str, Callable[[_RankedOptions], float]] = {
    "log_prob": log_prob,
    "log_prob_mc2": log_prob_mc2,
}
"""The metrics for ranked options that a task config may name."""

CORRECTED: Mapping[str, Difference[object]] = {
    "log_prob": Difference(
        "ties are broken by a hash of all scores; a score that is not a number is the worst",
        "the first option wins a tie; a score that is not a number is a failure",
    ),
    "log_prob_mc2": Difference(
        "right options must come first; sentences beyond 745 nats underflow to 0/0, which makes "
        "the mean invalid (with `faithful` such a row fails)",
        "right options may come anywhere, and nothing underflows",
    ),
    "general_torch_ppl_norm": Difference(
        "the shared prefix of options is where their log-probabilities are equal; an option that "
        "is a prefix of another stops the run (with `faithful` such a row fails)",
        "it is where their tokens are equal; at least the last token of every option counts",
    ),
}
"""Differences from the original's values."""


class SentenceLikelihood:
    """The most likely sentence wins: by its sum over tokens, or by the mean after the shared prefix.

    With normalization, an option that is a prefix of another has no token of its own, and a mean over nothing
    is not a number. Then the last shared token counts for every option: this is the smallest change that
    gives each of them a token, and a single token favors none by length. If a model returns no token ids,
    equal log-probabilities define the shared prefix, as in the original; the score's rule says so.
    """

    def __init__(
        self,
        track: Method = Method.PPL,
        metrics: Mapping[str, Mapping[str, Any]] | None = None,
        normalised: bool = False,
        faithful: bool = False,
    ) -> None:
        self.track = track
        self._named = read_metrics(metrics or {ACCURACY: {"type": "log_prob"}}, SENTENCE_METRICS)
        self._way = NORMALISED if normalised else PLAIN
        self._faithful = faithful

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score."""
        target = format_gold_labels(sample)
        try:
            likelihoods = _likelihoods(sample, answers)
            worths = _worths(sample)
            options, shared_by = _options(sample, likelihoods)
            ranked = self._rank_options(likelihoods, options, worths)
            is_graded = self._faithful or any(worth > 0 for worth in worths)
            values = {one.display: self._value(one.type, ranked) for one in self._named} if is_graded else {}
        except Unscorable as error:
            name = self._named[0].display
            return build_failed_score(self.track, sample, answers, str(error), target, metric=name)
        deciding = self._named[0].display
        also = {**_accuracies(options, worths), **values} if is_graded else {}
        also.pop(deciding, None)
        return build_score(
            self.track,
            sample,
            get_task(answers),
            Verdict.SCORED if is_graded else Verdict.UNGRADED,
            metric=deciding,
            value=values.get(deciding),
            answer=options[ranked.best].label,
            target=target,
            rule=f"sentence_{self._way}{shared_by}",
            also=also,
            options=options,
            margin=compute_margin(ranked.values, ranked.best),
        )

    def _rank_options(
        self, likelihoods: Sequence[Likelihood], options: tuple[OptionNumbers, ...], worths: list[float]
    ) -> _RankedOptions:
        if self._faithful:
            losses = _original_losses(likelihoods, self._way)
            return _RankedOptions([-loss for loss in losses], _original_best(losses), worths)
        values = option_values(options, self._way)
        if values is None:
            raise Unscorable("a mean per token needs the log-probability of each token, and there is none")
        if any(map(math.isnan, values)) or max(values) == -math.inf:
            raise Unscorable("the log-likelihood of an option is not a number, or no option is possible")
        return _RankedOptions(values, find_best(values), worths)

    def _value(self, type_: str, ranked: _RankedOptions) -> float:
        if self._faithful and type_ == "log_prob_mc2":
            return _original_mc2(ranked)
        return SENTENCE_METRICS[type_](ranked)


def _likelihoods(sample: Sample, answers: Sequence[AnsweredRequest]) -> list[Likelihood]:
    found = collect_outcomes(answers, "option", Likelihood)
    if not sample.labels:
        raise Unscorable("the sample has no options")
    for index, label in enumerate(sample.labels):
        if index not in found:
            raise Unscorable(f"no response for option {label!r}")
    return [found[index] for index in range(len(sample.labels))]


def _worths(sample: Sample) -> list[float]:
    """Return the value of choosing each option from `target_scores`, whose order is that of the options."""
    scores = sample.fields.get("target_scores")
    if not isinstance(scores, Mapping) or len(scores) != len(sample.labels):
        seen = "no target_scores" if scores is None else f"target_scores {scores!r:.80}"
        raise Unscorable(f"the row has {seen}; expected a number for each of {len(sample.labels)} options")
    worths = list(scores.values())
    if not all(isinstance(worth, int | float) and math.isfinite(worth) for worth in worths):
        raise Unscorable(f"target_scores has {worths!r:.80}; expected numbers")
    return [float(worth) for worth in worths]


def _options(sample: Sample, likelihoods: Sequence[Likelihood]) -> tuple[tuple[OptionNumbers, ...], str]:
    """Return the numbers after the shared prefix, and how it was found if not by token ids."""
    rows = [one.token_logprobs for one in likelihoods]
    if any(len(row) != one.n_tokens or not row for row, one in zip(rows, likelihoods, strict=True)):
        # Only sums are known: they rank sentences, and there is no prefix to remove.
        pairs = zip(sample.labels, likelihoods, strict=True)
        return tuple(OptionNumbers(label, one.sum_logprob) for label, one in pairs), "_whole"
    ids = [one.token_ids for one in likelihoods]
    has_ids = all(len(some) == len(row) for some, row in zip(ids, rows, strict=True))
    n_shared = min(_count_shared(ids if has_ids else rows), min(map(len, rows)) - 1)
    options = tuple(
        OptionNumbers(label, math.fsum(row[n_shared:]), len(row) - n_shared)
        for label, row in zip(sample.labels, rows, strict=True)
    )
    return options, "" if has_ids else "_after_equal_values"


def _count_shared(rows: Sequence[Sequence[float]]) -> int:
    """Return how many leading entries are equal in all rows."""
    n_shared = 0
    # Rows have different lengths; the shortest limits how far they can agree.
    for first, *others in zip(*rows, strict=False):
        if any(other != first for other in others):
            break
        n_shared += 1
    return n_shared


def _accuracies(options: Sequence[OptionNumbers], worths: Sequence[float]) -> dict[str, float]:
    """Return the value that each way of scoring would reach."""
    found = {}
    for way in (PLAIN, NORMALISED):
        values = option_values(options, way)
        if values is not None and not any(map(math.isnan, values)):
            found[f"{ACCURACY}_{way}"] = worths[find_best(values)]
    return found


def _original_losses(likelihoods: Sequence[Likelihood], way: str) -> list[float]:
    """Return the negative sums of whole sentences, or the means after equal log-probabilities."""
    rows = [one.token_logprobs for one in likelihoods]
    if way == PLAIN:
        # An empty sum is 0, not -0: their bytes differ, and a hash of them breaks ties.
        return [
            -sum(row) if row else 0.0 - one.sum_logprob for row, one in zip(rows, likelihoods, strict=True)
        ]
    n_shared = _count_shared(rows)
    if any(len(row) <= n_shared for row in rows):
        raise Unscorable("an option has no token behind the beginning that all share: a mean over nothing")
    return [-(sum(row[n_shared:]) / len(row[n_shared:])) for row in rows]


def _original_best(losses: Sequence[float]) -> int:
    """Return the smallest loss; ties are broken by a hash of all of them."""
    known = [math.inf if math.isnan(loss) else loss for loss in losses]
    if all(map(math.isnan, losses)):
        raise Unscorable("the log-likelihood of no option is a number")
    smallest = [index for index, loss in enumerate(known) if loss == min(known)]
    pointed = int.from_bytes(hashlib.sha256(array.array("d", known).tobytes()).digest())
    return smallest[pointed % len(smallest)]
