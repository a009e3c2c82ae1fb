"""Outcomes of responses: reading them, separating failures, and choosing the leading option."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from assay.core.method import Method
from assay.core.response import Completion, Failure, Outcome, Output
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest

ACCURACY = "accuracy"

SeveralRight: TypeAlias = Literal["exact", "any"]
"""If several options are right: an answer must name exactly those, or any one of them."""
SEVERAL_METRICS: dict[str | None, str] = {None: ACCURACY, "exact": "exact_set", "any": "any_right"}
"""The metric name of each way; None is a table in which each row has one right option."""

OutcomeT = TypeVar("OutcomeT", bound=Outcome)


class Unscorable(Exception):
    """Why a sample has no score. It becomes a FAILED score, never a wrong answer."""


def collect_outcomes(
    answers: Sequence[AnsweredRequest], role: str, kind: type[OutcomeT]
) -> dict[int, OutcomeT]:
    """Return the outcomes of one role by index; raise Unscorable if one failed or is of another kind."""
    found: dict[int, OutcomeT] = {}
    for request, response in answers:
        if request.role != role:
            continue
        outcome = response.outcome
        if isinstance(outcome, Failure):
            raise Unscorable(f"{outcome.kind}: {outcome.message}")
        if not isinstance(outcome, kind):
            raise Unscorable(f"{request.id}: expected {kind.__name__}, got {type(outcome).__name__}")
        found.setdefault(request.index, outcome)
    return found


def collect_outputs(answers: Sequence[AnsweredRequest]) -> list[Output]:
    """Return all texts that the model wrote, repeats in order; raise Unscorable if there is none."""
    completions = collect_outcomes(answers, "answer", Completion)
    outputs = [output for index in sorted(completions) for output in completions[index].outputs]
    if not outputs:
        raise Unscorable("the model returned no text")
    return outputs


def get_task(answers: Sequence[AnsweredRequest]) -> str:
    """Return the task that the requests belong to."""
    return answers[0].request.task if answers else ""


def format_gold_labels(sample: Sample) -> str | None:
    """Return the labels of the right options, joined by `|`."""
    return "|".join([sample.labels[index] for index in sample.gold]) if sample.gold else None


def build_score(
    track: Method,
    sample: Sample,
    task: str,
    verdict: Verdict,
    *,
    metric: str = ACCURACY,
    **known: Any,
) -> Score:
    """Return a sample's score, with the fields that follow from the sample filled in."""
    return Score(
        task,
        sample.id,
        track,
        metric,
        verdict,
        group=sample.group,
        cluster=sample.cluster,
        **known,
    )


def build_failed_score(
    track: Method,
    sample: Sample,
    answers: Sequence[AnsweredRequest],
    why: str,
    target: str | None,
    *,
    metric: str = ACCURACY,
) -> Score:
    """Return the score of a sample without an answer."""
    return build_score(
        track, sample, get_task(answers), Verdict.FAILED, metric=metric, target=target, why=why
    )


def compute_margin(values: Sequence[float], best: int) -> float | None:
    """Return how much the best value exceeds the next; None if there is no other, or no number."""
    others = [value for index, value in enumerate(values) if index != best]
    if not others:
        return None
    margin = values[best] - max(others)
    return margin if math.isfinite(margin) else None


def find_best(values: Sequence[float]) -> int:
    """Return the index of the largest value; the first on a tie."""
    return max(range(len(values)), key=lambda index: values[index])
