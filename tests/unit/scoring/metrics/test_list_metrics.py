"""Properties of every metric that an author can name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.scoring.metrics import LIST_METRICS, Accuracy, Em, ListMetric


@pytest.mark.parametrize("name", sorted(LIST_METRICS))
def test_names_are_those_of_the_classes_and_need_no_arguments(name: str) -> None:
    metric = LIST_METRICS[name]()
    assert type(metric).__name__ == name
    assert metric.last_score_lists == {}


@pytest.mark.parametrize("name", sorted(set(LIST_METRICS) - {"WordAccuracy"}))
def test_lists_of_different_length_are_an_error(name: str) -> None:
    with pytest.raises(AuthorError, match=r"METRIC-001 .*2 predictions but 1 references"):
        LIST_METRICS[name]()(["a", "b"], ["a"])


@pytest.mark.parametrize("name", sorted(set(LIST_METRICS) - {"WordAccuracy"}))
def test_empty_lists_are_an_error(name: str) -> None:
    with pytest.raises(AuthorError, match="METRIC-001"):
        LIST_METRICS[name]()([], [])


def test_samples_are_kept_by_instance_and_only_of_the_latest_call() -> None:
    one, other = Em(), Em()
    one(["a", "b"], ["a", "c"])
    assert one.last_score_lists == {"EM": [1.0, 0.0]}
    assert other.last_score_lists == {}
    one(["b"], ["b"])
    assert one.last_score_lists == {"EM": [1.0]}


def test_an_authors_own_metric_needs_no_init_and_may_set_any_numbers() -> None:
    class Lengths(ListMetric):
        def __init__(self) -> None:
            self.tag = "mine"

        def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
            self.last_score_lists = {
                "Same": [len(p) == len(r) for p, r in zip(predictions, references, strict=True)]
            }
            return {"Same": 1.0}

    metric = Lengths()
    assert metric.last_score_lists == {}
    metric.setup_metric(None, None, None, dataset=None)
    metric(["ab", "c"], ["xy", "zz"])
    assert metric.last_score_lists == {"Same": [1.0, 0.0]}


def test_a_metric_without_a_call_says_so() -> None:
    class Empty(ListMetric):
        pass

    with pytest.raises(NotImplementedError, match="Empty must define __call__"):
        Empty()(["a"], ["a"])


def test_percent_metrics_return_percent_and_keep_shares() -> None:
    metric = Accuracy()
    assert metric([1, 2, 3, 4], [1, 2, 3, 0]) == {"Accuracy": 75.0}
    assert metric.last_score_lists == {"Accuracy": [1.0, 1.0, 1.0, 0.0]}
    assert metric.scale == 100.0


def test_all_rows_that_cannot_be_compared_are_named_together() -> None:
    with pytest.raises(AuthorError) as caught:
        Accuracy()([1, "B", 0, "C"], [1, 2, 0, 3])
    assert [problem.what.split(":")[0] for problem in caught.value.problems] == [
        "Accuracy, row 2",
        "Accuracy, row 4",
    ]
    with pytest.raises(AuthorError, match=r"and 980 more"):
        Accuracy()(["A"] * 1000, [0] * 1000)
