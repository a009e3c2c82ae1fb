"""Subsets of one dataset reported together: each counts once."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.method import Method
from assay.core.score import Metric
from assay.core.task import TaskSpec
from assay.scoring.summary_groups import roll_up_subsets


def task(name: str, *categories: str, family: str | None = "mmlu") -> TaskSpec:
    return TaskSpec(name, "llmbox", "f.py", "h", (Method.PPL,), 3, 3, family=family, categories=categories)


def metric(
    name: str,
    value: float | None,
    *,
    n: int = 3,
    metric: str = "Accuracy",
    group: str | None = None,
    share: bool = True,
    headline: bool = True,
) -> Metric:
    return Metric(
        name,
        "ppl",
        metric,
        group,
        value,
        None,
        None,
        n,
        n,
        0,
        1,
        0,
        stderr=0.1,
        is_headline=headline,
        is_named=True,
        is_share=share,
    )


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 99)), min_size=2, max_size=6))
def test_the_mean_counts_each_subset_once(subsets: list[tuple[float, int]]) -> None:
    tasks = [task(f"mmlu:{n}") for n in range(len(subsets))]
    metrics = [metric(f"mmlu:{n}", value, n=size) for n, (value, size) in enumerate(subsets)]
    (found,) = roll_up_subsets(metrics, tasks)
    assert (found.task, found.metric, found.group) == ("mmlu", "Accuracy_macro", None)
    assert found.value == pytest.approx(statistics.mean(value for value, _ in subsets))
    assert (found.n, found.n_truncated) == (sum(size for _, size in subsets), len(subsets))


def test_categories() -> None:
    tasks = [
        task("mmlu:a", "stem"),
        task("mmlu:b", "stem"),
        task("mmlu:c", "arts"),
        task("other", family=None),
    ]
    metrics = [metric("mmlu:a", 1.0), metric("mmlu:b", 0.0), metric("mmlu:c", 0.2), metric("other", 0.9)]
    found = {(one.task, one.group): one.value for one in roll_up_subsets(metrics, tasks)}
    assert found == {
        ("mmlu", None): pytest.approx(0.4),
        ("mmlu", "stem"): pytest.approx(0.5),
        ("mmlu", "arts"): 0.2,
    }


def test_a_category_of_one_subset_has_that_subsets_numbers() -> None:
    one = metric("mmlu:c", 0.2)
    (found,) = roll_up_subsets([one], [task("mmlu:c", "arts")])
    assert (found.group, found.value, found.low, found.high) == ("arts", 0.2, one.low, one.high)


def test_a_mean_over_a_part_is_none() -> None:
    tasks = [task("mmlu:a"), task("mmlu:b")]
    assert roll_up_subsets([metric("mmlu:a", 1.0)], tasks) == []
    assert roll_up_subsets([metric("mmlu:a", 1.0), metric("mmlu:b", None)], tasks) == []
    assert roll_up_subsets([metric("mmlu:a", 1.0, group="g"), metric("mmlu:b", 1.0, group="g")], tasks) == []
    assert roll_up_subsets([metric("x", 1.0)], [task("x", family=None)]) == []


def test_the_scale_of_a_metric_stays() -> None:
    tasks = [task("mmlu:a"), task("mmlu:b")]
    metrics = [metric(name, 7.5, metric="Grade", share=False) for name in ("mmlu:a", "mmlu:b")]
    (found,) = roll_up_subsets(metrics, tasks)
    assert (found.value, found.is_share) == (7.5, False)


def test_a_mean_over_a_part_of_the_subsets_is_none() -> None:
    """Two of three have the metric: their mean would pass for one over all of them."""
    tasks = [task(f"mmlu:{name}") for name in "abc"]
    every = [metric(one.name, 0.5) for one in tasks]
    some = [metric(one.name, 0.5, metric="F1", headline=False) for one in tasks[:2]]
    assert [one.metric for one in roll_up_subsets([*every, *some], tasks)] == ["Accuracy_macro"]


def test_a_family_takes_the_headline_of_each_subset() -> None:
    tasks = [task("kobest:boolq"), task("kobest:hellaswag")]
    metrics = [
        metric("kobest:boolq", 0.5, metric="acc"),
        metric("kobest:boolq", 0.3, metric="macro_f1", headline=False),
        metric("kobest:hellaswag", 0.2, metric="acc", headline=False),
        metric("kobest:hellaswag", 0.9, metric="acc_norm"),
        metric("kobest:hellaswag", 0.1, metric="macro_f1", headline=False),
    ]
    found = {one.metric: (one.value, one.is_headline) for one in roll_up_subsets(metrics, tasks)}
    assert {name: is_headline for name, (_, is_headline) in found.items()} == {
        "headline_macro": True,
        "macro_f1_macro": False,
    }
    assert [value for value, _ in found.values()] == pytest.approx([0.7, 0.2])


def test_headlines_of_different_scales_have_no_mean() -> None:
    tasks = [task("set:a"), task("set:b")]
    metrics = [metric("set:a", 0.5, metric="acc"), metric("set:b", 31.0, metric="bleu", share=False)]
    assert roll_up_subsets(metrics, tasks) == []
