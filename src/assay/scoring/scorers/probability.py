"""Options ranked by the probability of their label as the next token."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.core.response import LabelProbs
from assay.core.sample import Sample
from assay.core.score import OptionNumbers, Score, Verdict
from assay.core.task import Answered
from assay.scoring.scorers.outcomes import (
    Unscorable,
    failed,
    first_best,
    lead,
    only,
    option_target,
    score_of,
)


class LabelProbability:
    """The most probable label wins. The mass that fell on any label is kept: a small one means that the
    model wanted to say something else.

    Beside accuracy: `prob_gold`, the normalised probability of the right labels, and `brier`, the sum
    over labels of (p - y)^2 with y shared evenly between right labels (0 is best, 2 is worst).
    """

    def __init__(self, track: str = "prob") -> None:
        self.track = track

    def score(self, sample: Sample, answers: Sequence[Answered]) -> Score:
        """Return the sample's score. No probability on any label is no answer."""
        try:
            outcome = self._outcome(sample, answers)
        except Unscorable as error:
            return failed(self.track, sample, answers, str(error), option_target(sample))
        total = math.fsum(outcome.probs)
        shares = [prob / total if total > 0 else 0.0 for prob in outcome.probs]
        best = first_best(shares) if total > 0 else None
        is_graded = bool(sample.gold)
        verdict = Verdict.UNGRADED
        if is_graded:
            verdict = Verdict.UNANSWERED if best is None else Verdict.SCORED
        return score_of(
            self.track,
            sample,
            answers,
            verdict,
            value=float(best in sample.gold) if verdict is Verdict.SCORED else None,
            answer=None if best is None else sample.labels[best],
            target=option_target(sample),
            rule="label_probability",
            also=_beliefs(shares, sample.gold) if is_graded else {},
            options=tuple(
                OptionNumbers(label, prob=share) for label, share in zip(sample.labels, shares, strict=True)
            ),
            mass=outcome.mass,
            margin=None if best is None else lead(shares, best),
        )

    @staticmethod
    def _outcome(sample: Sample, answers: Sequence[Answered]) -> LabelProbs:
        found = only(answers, "labels", LabelProbs)
        if not found:
            raise Unscorable("no response for the labels")
        outcome = found[min(found)]
        if len(outcome.probs) != len(sample.labels):
            raise Unscorable(f"{len(outcome.probs)} probabilities for {len(sample.labels)} labels")
        if any(prob != prob for prob in outcome.probs):
            raise Unscorable("a label's probability is not a number")
        return outcome


def _beliefs(shares: Sequence[float], gold: Sequence[int]) -> dict[str, float]:
    right = 1 / len(gold)
    brier = math.fsum((share - (right if index in gold else 0.0)) ** 2 for index, share in enumerate(shares))
    return {"prob_gold": math.fsum(shares[index] for index in gold), "brier": brier}
