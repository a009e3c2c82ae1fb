"""Evaluators within a run: values, intervals, failures and the number of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Output, Response
from assay.core.sample import Sample
from assay.core.score import Metric, Verdict
from assay.core.task import AnsweredRequest, Evaluation
from assay.scoring.aggregate import MeanAggregator
from assay.scoring.originals.llmbox.author_metrics import AuthorMetrics
from assay.scoring.originals.opencompass.evaluators import (
    AuthorEvaluator,
    EvaluatedRow,
    RepeatedEvaluator,
    make_evaluator,
)
from fakes.author_lists import Lists


class Several(Lists):
    """What a dialect knows: a prediction is the text, or the tuple of the texts that came."""

    def raw(self, answers: Sequence[AnsweredRequest]) -> tuple[Any, ...] | Failure:
        outcomes = [one.response.outcome for one in answers]
        came = tuple(one.outputs[0].text for one in outcomes if isinstance(one, Completion))
        failed = [one for one in outcomes if isinstance(one, Failure)]
        return came if came else failed[0]

    def predictions(self, raws: Sequence[tuple[Any, ...] | None]) -> Sequence[Any]:
        takes = getattr(self.metrics[0], "takes_samples", False)
        return [None if raw is None else (raw if takes else raw[0]) for raw in raws]


def scored(
    metric: Any,
    answers: Sequence[Sequence[str | None]],
    rows: Sequence[EvaluatedRow],
    clusters: Sequence[str] | None = None,
) -> tuple[Evaluation, dict[str, Metric]]:
    """Score answers, None for one that failed; return the evaluation and the metrics over all."""
    scorer = AuthorMetrics(Method.GEN, Several([metric], rows))
    for n, own in enumerate(answers):
        sample = Sample(str(n), {}, Origin("here", row=n + 1), cluster=clusters[n] if clusters else None)
        given = []
        for index, text in enumerate(own):
            requests = make_request("t", sample.id, "gen", "answer", index, Generate("p", Sampling()))
            outcome = Failure("x", "y") if text is None else Completion((Output(text, Finish.END, 1),), 1)
            given.append(AnsweredRequest(requests, Response(requests.id, requests.key, outcome)))
        scorer.add(sample, given)
    evaluation = scorer.finish()
    aggregator = MeanAggregator()
    aggregator.take(evaluation)
    return evaluation, {one.metric: one for one in aggregator.metrics() if one.group is None}


def test_an_accuracy_has_rows_and_an_interval() -> None:
    metric = make_evaluator("AccEvaluator", {}, is_faithful=False)
    evaluation, metrics = scored(metric, [["A"], ["B"], [None], ["A"]], [EvaluatedRow("A", {})] * 4)
    found = metrics["accuracy"]
    assert found.value == pytest.approx(2 / 3)
    assert (found.n_scored, found.n_failed) == (3, 1)
    assert found.low is not None
    assert [score.verdict for score in evaluation.scores][2] is Verdict.FAILED


def test_values_over_questions_have_the_interval_of_questions() -> None:
    orders = [("A", "B"), ("B", "A")]
    rows = [
        EvaluatedRow("A", {"qid": question, "circular_pattern": order})
        for question in range(40)
        for order in orders
    ]
    answers = [["A"] if question % 2 else ["B"] for question in range(40) for _ in orders]
    clusters = [str(question) for question in range(40) for _ in orders]
    metric = make_evaluator("datasets.CircularEvaluator", {}, is_faithful=False)
    _, metrics = scored(metric, answers, rows, clusters)
    found = metrics["perf_circular"]
    assert found.value == pytest.approx(0.5)
    assert found.low is not None
    assert found.high is not None
    # 40 questions, not 80 rows: half the width is 2.02 · sqrt(0.25 / 40).
    assert (found.high - found.low) / 2 == pytest.approx(2.02 * (0.25 / 40) ** 0.5, rel=0.05)
    assert metrics["acc_origin"].value == pytest.approx(0.5)


def test_a_row_with_too_few_answers_fails_and_the_others_have_intervals() -> None:
    metric = RepeatedEvaluator(make_evaluator("AccEvaluator", {}, is_faithful=False), 3, [2])
    answers: list[list[str | None]] = [
        ["A", "A", None],
        ["B", None, None],
        ["B", "B", "B"],
        ["A", "B", "B"],
    ]
    evaluation, metrics = scored(metric, answers, [EvaluatedRow("A", {})] * 4)
    assert [score.verdict for score in evaluation.scores] == [
        Verdict.SCORED,
        Verdict.FAILED,
        Verdict.SCORED,
        Verdict.SCORED,
    ]
    assert "no number for" in str(evaluation.scores[1].why)
    assert metrics["pass@2"].value == pytest.approx((1 + 0 + 2 / 3) / 3)
    assert metrics["accuracy (3 runs average)"].value == pytest.approx((1 + 0 + 1 / 3) / 3)
    assert metrics["pass@2"].low is not None


def test_an_authors_evaluator_is_called_once() -> None:
    calls: list[int] = []

    class Mine:
        def score(self, predictions: list[str], references: list[str]) -> dict[str, Any]:
            calls.append(len(predictions))
            right = [one == gold for one, gold in zip(predictions, references, strict=True)]
            details = [{"correct": one} for one in right]
            return {"accuracy": 100 * sum(right) / len(right), "grade": 7.25, "details": details}

    answers: list[list[str | None]] = [["A"], ["B"], [None], ["A"]]
    evaluation, metrics = scored(AuthorEvaluator(Mine()), answers, [EvaluatedRow("A", {})] * 4)
    assert calls == [3]
    assert metrics["accuracy"].value == pytest.approx(2 / 3)
    assert metrics["accuracy"].is_share
    assert (metrics["grade"].value, metrics["grade"].is_share) == (7.25, False)
    assert [score.value for score in evaluation.scores] == [1.0, 0.0, None, 1.0]


def test_a_number_without_details_is_shown_as_it_was_returned() -> None:
    class Mine:
        def score(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            return {"accuracy": 75.0}

    evaluation, metrics = scored(AuthorEvaluator(Mine()), [["A"]] * 4, [EvaluatedRow("A", {})] * 4)
    found = metrics["accuracy"]
    assert (found.value, found.is_share, found.low) == (75.0, False, None)
    assert {score.verdict for score in evaluation.scores} == {Verdict.UNGRADED}


def test_a_correlation_is_no_mean_even_where_it_equals_one() -> None:
    metric = make_evaluator("MccEvaluator", {}, is_faithful=False)
    _, metrics = scored(metric, [["A"], ["B"], ["A"]], [EvaluatedRow(one, {}) for one in "ABA"])
    found = metrics["matthews_correlation"]
    assert (found.value, found.is_share) == (100.0, False)
