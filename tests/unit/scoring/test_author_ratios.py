"""Metrics of authors that are no means: sums over sums, and values with an interval of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Completion, Finish, Output, Response
from assay.core.sample import Sample
from assay.core.score import Metric
from assay.core.task import AnsweredRequest, Evaluation
from assay.results.report import Highlights
from assay.scoring.aggregate import MeanAggregator
from assay.scoring.metrics import IFEval
from assay.scoring.metrics.list_metric import MetricUnit
from assay.scoring.originals.llmbox.author_metrics import AuthorMetrics
from assay.scoring.statistics import wilson

ROWS = [
    {"prompt": "p", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]},
    {
        "prompt": "q",
        "instruction_id_list": [
            "punctuation:no_comma",
            "change_case:english_lowercase",
            "startend:quotation",
        ],
        "kwargs": [{}, {}, {}],
    },
]
REPLIES = ["no comma here", '"Here, a comma"']


class Lists:
    """What a dialect would say of these rows."""

    chooses_itself = False
    rule = "post_processing"
    metrics: tuple[Any, ...] = (IFEval(),)
    n_rows = len(ROWS)

    def row(self, sample_id: str) -> int:
        return int(sample_id)

    def raw(self, answers: Any) -> tuple[str, ...]:
        return tuple(output.text for one in answers for output in one.response.outcome.outputs)

    def predictions(self, raws: Any) -> list[Any]:
        return [raw[0] for raw in raws]

    def read_choice(self, number: int, option: int) -> Any:
        return option

    def references(self) -> list[Any]:
        return ROWS

    def target(self, reference: Any) -> Any:
        return reference

    def is_unanswered(self, number: int) -> bool:
        return False


def scored(replies: Sequence[str], metrics: tuple[Any, ...] = (IFEval(),)) -> Evaluation:
    """Return what comes out for replies to the rows."""
    lists = Lists()
    lists.metrics = metrics
    scorer = AuthorMetrics(Method.GEN, lists)
    for number, text in enumerate(replies):
        sample = Sample(str(number), {}, Origin("f", row=number + 1))
        ask = make_request("t", sample.id, "gen", "answer", 0, Generate("p", Sampling()))
        outcome = Completion((Output(text, Finish.END, 3),), 1)
        scorer.add(sample, [AnsweredRequest(ask, Response(ask.id, ask.key, outcome))])
    return scorer.finish()


def aggregated(evaluation: Evaluation) -> dict[str, Metric]:
    aggregator = MeanAggregator()
    aggregator.take(evaluation)
    return {metric.metric: metric for metric in aggregator.metrics()}


def test_a_sum_over_a_sum_is_aggregated_as_one() -> None:
    found = aggregated(scored(REPLIES))
    # One of one instruction, and one of three: two of four, which is not the mean of 1 and 1/3.
    assert found["IFEval(strict)"].value == pytest.approx(0.5)
    assert found["IFEval(strict):Prompt"].value == pytest.approx(0.5)
    assert found["IFEval(strict)"].low is not None
    assert all(metric.is_listed and metric.n_scored == 2 for metric in found.values())


def test_all_wrong_is_no_certainty() -> None:
    found = aggregated(scored(["a, b", "A, b"]))["IFEval(strict)"]
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high is not None
    assert found.high > 0.5


def test_a_share_of_two_sums_is_no_perplexity() -> None:
    assert Highlights(scored(REPLIES).scores).hardest == []


class Grade:
    """A metric with a scale of its own, which happens to give 0 and 1."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        self.last_score_lists = {"Grade": [float(len(text) > 14) for text in predictions]}
        return {"Grade": sum(self.last_score_lists["Grade"]) / len(predictions)}


def test_zeros_and_ones_off_the_scale_are_no_shares() -> None:
    found = aggregated(scored(REPLIES, (Grade(),)))["Grade"]
    assert not found.is_share
    assert found.value == 0.5
    assert found.high is not None
    assert found.high > 1


class Judged:
    """A metric over those rows alone that a judge was asked about."""

    def __init__(self, asked: Sequence[float]) -> None:
        self.asked = asked
        self.units = dict.fromkeys(("all", "judged"), MetricUnit(1.0, is_share=True))

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        self.last_score_lists = {"all": [0.0 for _ in predictions]}
        self.last_ratios = {"judged": [(0.0, one) for one in self.asked]}
        return {"all": 0.0, "judged": 0.0}


def test_rows_that_no_ratio_counts_make_no_interval_narrower() -> None:
    both = aggregated(scored(REPLIES, (Judged([1.0, 1.0]),)))["judged"]
    one = aggregated(scored(REPLIES, (Judged([1.0, 0.0]),)))["judged"]
    assert both.high == pytest.approx(wilson(0, 2)[1])
    assert one.high == pytest.approx(wilson(0, 1)[1])
