"""Metrics of authors that are no means: sums over sums, and values with an interval of their own."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.origin import Origin
from assay.core.request import Generate, Sampling, request
from assay.core.response import Completion, Finish, Output, Response
from assay.core.sample import Sample
from assay.core.task import Answered
from assay.scoring.aggregate import MeanAggregator
from assay.scoring.metrics import Bleu, IFEval
from assay.scoring.scorers.author_metrics import AuthorMetrics, evaluate

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
    metrics = (IFEval(),)
    n_rows = len(ROWS)

    def row(self, sample_id: str) -> int:
        return int(sample_id)

    def raw(self, answers: Any) -> tuple[str, ...]:
        return tuple(output.text for one in answers for output in one.response.outcome.outputs)

    def predictions(self, raws: Any) -> list[Any]:
        return [raw[0] for raw in raws]

    def references(self) -> list[Any]:
        return ROWS


def test_a_sum_over_a_sum_is_aggregated_as_one() -> None:
    scorer = AuthorMetrics("gen", Lists())
    for number, text in enumerate(REPLIES):
        sample = Sample(str(number), {}, Origin("f", row=number + 1))
        ask = request("t", sample.id, "gen", "answer", 0, Generate("p", Sampling()))
        outcome = Completion((Output(text, Finish.END, 3),), 1)
        scorer.add(sample, [Answered(ask, Response(ask.id, ask.key, outcome))])
    aggregator = MeanAggregator()
    aggregator.take(scorer.finish())
    found = {metric.metric: metric for metric in aggregator.metrics()}
    # One of one instruction, and one of three: two of four, which is not the mean of 1 and 1/3.
    assert found["IFEval(strict)"].value == pytest.approx(0.5)
    assert found["IFEval(strict):Prompt"].value == pytest.approx(0.5)
    assert found["IFEval(strict)"].low is not None
    assert all(metric.is_headline and metric.n_scored == 2 for metric in found.values())


def test_a_metric_may_know_its_interval() -> None:
    predictions = ["the cat sat on the mat today", "a dog barked loudly at night"] * 6
    references = ["the cat sat on a mat today", "the dog barked loudly at night"] * 6
    values = evaluate([Bleu()], predictions, references)
    low, high = values.intervals["Corpus_BLEU"]
    assert 0 < low < values.whole["Corpus_BLEU"] < high < 1
    assert evaluate([Bleu()], predictions, references).intervals == values.intervals
