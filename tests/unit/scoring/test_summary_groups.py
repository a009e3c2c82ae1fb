"""Groups of tasks as one number, against sums written out here."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.score import Metric
from assay.core.summary_group import Joining, Subset, SummaryGroup
from assay.scoring.summary_groups import GroupResults, build_group_metrics


def metric(
    task: str,
    value: float | None,
    name: str = "accuracy",
    *,
    n: int = 10,
    share: bool = True,
    stderr: float | None = 0.1,
    method: str = "gen",
    headline: bool = True,
) -> Metric:
    counts = (n, n - 1, 1, 0, 0)
    return Metric(
        task,
        method,
        name,
        None,
        value,
        None,
        None,
        *counts,
        stderr=stderr,
        is_headline=headline,
        is_share=share,
    )


def group(
    *names: str | tuple[str, str],
    name: str = "all",
    joining: Joining = "naive_average",
    weights: dict[str, float] | None = None,
    transforms: dict[str, str] | None = None,
) -> SummaryGroup:
    subsets = tuple(Subset(one) if isinstance(one, str) else Subset(*one) for one in names)
    return SummaryGroup(name, subsets, joining, "", weights or {}, transforms or {})


def only(grouped: GroupResults) -> Metric:
    (found,) = (one for one in grouped.metrics if one.is_headline)
    return found


SHARES = st.lists(st.floats(0.02, 1), min_size=1, max_size=6)


@given(SHARES, st.data())
def test_each_joining_is_its_formula(values: list[float], data: st.DataObject) -> None:
    metrics = [metric(f"t{at}", value) for at, value in enumerate(values)]
    names = [one.task for one in metrics]
    weights = {name: float(data.draw(st.integers(1, 9))) for name in names}
    percents = [100 * value for value in values]
    expected = {
        "naive_average": sum(percents) / len(percents),
        "weighted_average": sum(p * w for p, w in zip(percents, weights.values(), strict=True))
        / sum(weights.values()),
        "sum": sum(percents),
        "standard_deviation": math.sqrt(
            sum((p - statistics.mean(percents)) ** 2 for p in percents) / len(values)
        ),
        "harmonic_mean": len(percents) / sum(1 / p for p in percents),
    }
    for joining, value in expected.items():
        own = weights if joining == "weighted_average" else None
        found = only(build_group_metrics(metrics, [group(*names, joining=joining, weights=own)]))  # type: ignore[arg-type]
        assert found.metric == joining
        assert found.value is not None
        assert found.value * (100 if found.is_share else 1) == pytest.approx(value, abs=1e-9)
        assert found.is_share is (joining != "sum")
        assert (found.n, found.n_scored, found.n_unanswered) == (
            10 * len(values),
            9 * len(values),
            len(values),
        )


@given(SHARES)
def test_the_error_of_an_average_is_that_of_independent_tasks(values: list[float]) -> None:
    metrics = [metric(f"t{at}", value, stderr=0.01 * (at + 1)) for at, value in enumerate(values)]
    found = only(build_group_metrics(metrics, [group(*(one.task for one in metrics))]))
    errors = [one.stderr or 0 for one in metrics]
    assert found.stderr == pytest.approx(math.sqrt(sum(error**2 for error in errors)) / len(errors))
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= (found.value or 0) <= found.high <= 1


def test_a_task_that_is_lacking_is_reported_and_the_group_has_no_value() -> None:
    grouped = build_group_metrics([metric("a", 0.5), metric("b", None)], [group("a", "b", "c", ("a", "f1"))])
    assert grouped.metrics == ()
    assert "3 of 4 subsets are missing: 'b', 'c', 'a@f1'" in grouped.notes[0]


def test_a_group_of_other_tasks_is_passed_over() -> None:
    assert build_group_metrics([metric("a", 0.5)], [group("x", "y")]) == GroupResults((), {}, ())


def test_groups_of_groups_have_the_rows_of_a_task_once() -> None:
    metrics = [metric("a", 0.2), metric("b", 0.4), metric("c", 1.0)]
    groups = [group("a", "b", name="ab"), group("b", "c", name="bc"), group("ab", "bc", name="all")]
    *_, whole = (one for one in build_group_metrics(metrics, groups).metrics if one.is_headline)
    assert whole.value == pytest.approx((0.3 + 0.7) / 2)
    assert whole.n == 30
    assert build_group_metrics(metrics, groups).members["all"] == ("a", "b", "c")


def test_a_metric_is_chosen_or_the_one_that_the_originals_tell_a_dataset_by() -> None:
    metrics = [metric("a", 0.9, "rouge1"), metric("a", 0.1, "score"), metric("b", 0.3, "exact_match")]
    assert only(build_group_metrics(metrics, [group("a", "b")])).value == pytest.approx(0.2)
    assert only(build_group_metrics(metrics, [group(("a", "rouge1"), "b")])).value == pytest.approx(0.6)


def test_weights_may_name_the_metric_and_what_they_do_not_name_does_not_count() -> None:
    metrics = [metric("a", 0.5), metric("b", 1.0), metric("c", 0.0)]
    found = only(
        build_group_metrics(
            metrics, [group("a", "b", "c", joining="weighted_average", weights={"a@accuracy": 1, "b": 3})]
        )
    )
    assert found.value == pytest.approx((0.5 + 3) / 4)


def test_scales_of_their_own_and_transforms_make_no_share() -> None:
    metrics = [metric("a", 0.5), metric("loss", 3.0, "loss", share=False, method="ppl")]
    mixed = only(build_group_metrics(metrics, [group("a", "loss")]))
    assert mixed.value == pytest.approx(26.5)
    assert (mixed.is_share, mixed.method) == (False, "mixed")
    transformed = only(build_group_metrics(metrics, [group("a", transforms={"a": "min(40, x) / 2"})]))
    assert (transformed.value, transformed.is_share, transformed.stderr) == (20.0, False, None)


def test_a_transform_that_cannot_be_worked_out_is_reported() -> None:
    grouped = build_group_metrics([metric("a", 0.0)], [group("a", transforms={"a": "1 / x"})])
    assert (grouped.metrics, "division" in grouped.notes[0]) == ((), True)


def test_a_harmonic_mean_with_a_zero_is_reported() -> None:
    grouped = build_group_metrics(
        [metric("a", 0.0), metric("b", 0.5)], [group("a", "b", joining="harmonic_mean")]
    )
    assert only(grouped).value == pytest.approx(2 / (1 / 1 + 1 / 50) / 100)
    assert "a value is 0" in grouped.notes[0]


def test_a_group_that_is_called_like_a_task_is_left_out_and_reported() -> None:
    grouped = build_group_metrics([metric("a", 0.5)], [group("a", name="a")])
    assert (grouped.metrics, "has the same name" in grouped.notes[0]) == ((), True)


def test_a_metric_that_all_members_have_is_reported_of_the_group_too() -> None:
    metrics = [
        metric("a", 0.2, "score"),
        metric("a", 0.4, "f1", headline=False),
        metric("b", 0.6, "f1"),
        metric("b", 0.8, "bleu", headline=False),
    ]
    grouped = build_group_metrics(metrics, [group("a", "b"), group(("all", "f1"), name="again")])
    assert [(one.task, one.metric, one.is_headline) for one in grouped.metrics] == [
        ("all", "naive_average", True),
        ("all", "f1", False),
        ("again", "naive_average", True),
    ]
    assert [one.value for one in grouped.metrics] == pytest.approx([0.4, 0.5, 0.5])


def test_a_sum_of_shares_has_an_interval_of_possible_sums() -> None:
    metrics = [metric("a", 0.99, stderr=0.2), metric("b", 0.99, stderr=0.2)]
    found = only(build_group_metrics(metrics, [group("a", "b", joining="sum", weights={"a": 1.0, "b": 2.0})]))
    assert found.value == pytest.approx(297.0)
    assert (found.high, found.is_share) == (300.0, False)
    low = only(build_group_metrics([metric("a", 0.01, stderr=0.2)], [group("a", joining="sum")])).low
    assert low == 0.0


@pytest.mark.parametrize(("joining", "is_better"), [("naive_average", True), ("standard_deviation", False)])
def test_a_larger_spread_is_no_better_group(joining: Joining, is_better: bool) -> None:
    metrics = [metric("a", 0.2), metric("b", 0.8)]
    assert (
        only(build_group_metrics(metrics, [group("a", "b", joining=joining)])).higher_is_better is is_better
    )
