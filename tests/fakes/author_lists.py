"""Scoring by metrics over whole lists, without a dialect: predictions are the answers as they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Output, Response
from assay.core.sample import Sample
from assay.core.score import Metric
from assay.core.task import AnsweredRequest, Evaluation
from assay.scoring.aggregate import MeanAggregator
from assay.scoring.originals.llmbox.author_metrics import AuthorMetrics


class Lists:
    """What a dialect knows: predictions are the answers as they stand."""

    chooses_itself = False
    rule = "post_processing"

    def __init__(self, metrics: Sequence[Any], references: Sequence[Any]) -> None:
        self.metrics = metrics
        self._references = references

    @property
    def n_rows(self) -> int:
        return len(self._references)

    def row(self, sample_id: str) -> int:
        return int(sample_id)

    def raw(self, answers: Sequence[AnsweredRequest]) -> tuple[Any, ...] | Failure:
        outcome = answers[0].response.outcome
        if isinstance(outcome, Failure):
            return outcome
        assert isinstance(outcome, Completion)
        return (outcome.outputs[0].text,)

    def predictions(self, raws: Sequence[tuple[Any, ...] | None]) -> Sequence[Any]:
        return ["" if raw is None else raw[0] for raw in raws]

    def read_choice(self, number: int, option: int) -> Any:
        return option

    def target(self, reference: Any) -> Any:
        return getattr(reference, "gold", reference)

    def is_unanswered(self, number: int) -> bool:
        return False

    def references(self) -> Sequence[Any]:
        return self._references


def scored(
    metrics: Sequence[Any],
    predictions: Sequence[str | None],
    references: Sequence[Any],
    groups: Sequence[str] | None = None,
    *,
    author: type[Lists] = Lists,
) -> tuple[Evaluation, dict[tuple[str, str | None], Metric]]:
    """Score answers, None for one that failed; return the evaluation and the aggregated metrics."""
    scorer = AuthorMetrics(Method.GEN, author(metrics, references))
    for n, text in enumerate(predictions):
        sample = Sample(str(n), {}, Origin("here", row=n + 1), group=groups[n] if groups else None)
        requests = make_request("t", sample.id, "gen", "answer", 0, Generate("p", Sampling()))
        outcome = Failure("x", "y") if text is None else Completion((Output(text, Finish.END, 1),), 1)
        scorer.add(sample, [AnsweredRequest(requests, Response(requests.id, requests.key, outcome))])
    evaluation = scorer.finish()
    aggregator = MeanAggregator()
    aggregator.take(evaluation)
    return evaluation, {(m.metric, m.group): m for m in aggregator.metrics()}
