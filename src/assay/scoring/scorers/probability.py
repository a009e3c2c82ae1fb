"""Scorer that ranks options by the probability of their label as the next token."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from assay.core.method import Method
from assay.core.response import LabelProbs
from assay.core.sample import Sample
from assay.core.score import MASS, OptionNumbers, Score, Verdict
from assay.core.task import AnsweredRequest
from assay.scoring.scorers.response_outcomes import (
    SEVERAL_METRICS,
    Unscorable,
    build_failed_score,
    build_score,
    collect_outcomes,
    compute_margin,
    format_gold_labels,
    get_task,
)

UNDECIDED = "label_probability: undecided, as the server did not tell every label's probability"


class LabelProbability:
    """The most probable label wins.

    `mass` is the total probability of all labels: a small mass means that the model would have written
    something else. If a server returns only its most likely tokens, a label may have an upper bound instead
    of a probability. The sample is then scored only if the same label wins for any values below the bounds;
    otherwise it is unanswered. If all probabilities are known, two more values are reported: `prob_gold`, the
    normalized probability of the right labels, and `brier`, the sum over labels of (p - y)^2, with y split
    evenly between right labels (0 is best, 2 is worst). If several options are right, any of them counts;
    with `several_right` the metric's name says so.
    """

    def __init__(self, track: Method = Method.PROB, several_right: Literal["any"] | None = None) -> None:
        if several_right not in (None, "any"):
            raise ValueError(f"several_right must be any, as one option is chosen, not {several_right!r}")
        self.track = track
        self.gives = (SEVERAL_METRICS[several_right], "prob_gold", "brier", MASS)

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score. Zero mass or an undecided winner is unanswered."""
        try:
            outcome = self._outcome(sample, answers)
        except Unscorable as error:
            metric = self.gives[0]
            return build_failed_score(
                self.track, sample, answers, str(error), format_gold_labels(sample), metric=metric
            )
        total = math.fsum(outcome.probs)
        shares = [prob / total if total > 0 else 0.0 for prob in outcome.probs]
        best = outcome.decided_label
        is_open = best is None and any(outcome.at_most)
        is_graded = bool(sample.gold)
        verdict = Verdict.UNGRADED
        if is_graded:
            verdict = Verdict.UNANSWERED if best is None else Verdict.SCORED
        return build_score(
            self.track,
            sample,
            get_task(answers),
            verdict,
            metric=self.gives[0],
            value=float(best in sample.gold) if verdict is Verdict.SCORED else None,
            answer=None if best is None else sample.labels[best],
            target=format_gold_labels(sample),
            rule=UNDECIDED if is_open else "label_probability",
            also=_beliefs(shares, sample.gold) if is_graded and not outcome.at_most else {},
            options=tuple(
                [
                    OptionNumbers(label, prob=share, prob_at_most=most)
                    for label, share, most in zip(
                        sample.labels, shares, _compute_upper_bounds(outcome), strict=True
                    )
                ]
            ),
            mass=outcome.mass,
            margin=None if best is None or outcome.at_most else compute_margin(shares, best),
        )

    @staticmethod
    def _outcome(sample: Sample, answers: Sequence[AnsweredRequest]) -> LabelProbs:
        found = collect_outcomes(answers, "labels", LabelProbs)
        if not found:
            raise Unscorable("no response for the labels")
        outcome = found[min(found)]
        if len(outcome.probs) != len(sample.labels):
            raise Unscorable(f"{len(outcome.probs)} probabilities for {len(sample.labels)} labels")
        if any(map(math.isnan, outcome.probs)) or any(map(math.isnan, outcome.at_most)):
            raise Unscorable("a label's probability is not a number")
        return outcome


def _compute_upper_bounds(outcome: LabelProbs) -> Sequence[float | None]:
    """Return the upper bound of each label's share; None if the share is known."""
    if not outcome.at_most:
        return [None] * len(outcome.probs)
    others = [math.fsum(outcome.probs) - prob for prob in outcome.probs]
    return [
        most / (most + max(other, 0.0)) if most > 0 else 0.0
        for most, other in zip(outcome.at_most, others, strict=True)
    ]


def _beliefs(shares: Sequence[float], gold: Sequence[int]) -> dict[str, float]:
    right = 1 / len(gold)
    brier = math.fsum((share - (right if index in gold else 0.0)) ** 2 for index, share in enumerate(shares))
    return {"prob_gold": math.fsum(shares[index] for index in gold), "brier": brier}
