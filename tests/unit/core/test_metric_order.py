from __future__ import annotations

from assay.core.metric_order import sort_metrics
from assay.core.score import Metric


def metric(name: str, *, is_headline: bool = False) -> Metric:
    return Metric("t", "gen", name, None, 0.5, None, None, 1, 1, 0, 0, 0, is_headline=is_headline)


def names(*metrics: Metric) -> list[str]:
    return [one.metric for one in sort_metrics(metrics)]


def test_metrics_of_a_rank_come_first_whatever_their_case() -> None:
    found = names(metric("own", is_headline=True), metric("F1"), metric("rouge1"), metric("accuracy"))
    assert found == ["accuracy", "rouge1", "F1", "own"]


def test_among_metrics_without_a_rank_the_headline_comes_first() -> None:
    assert names(metric("a"), metric("b"), metric("c", is_headline=True)) == ["c", "a", "b"]


def test_what_an_evaluator_returns_beside_its_scores_is_no_metric() -> None:
    assert names(metric("bp"), metric("sys_len"), metric("bleu"), metric("ref_len"), metric("type")) == [
        "bleu"
    ]
