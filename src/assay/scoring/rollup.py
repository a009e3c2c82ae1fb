"""Subsets of one dataset reported together: macro means over all of them, and over each category."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.score import MACRO, Metric
from assay.core.task import TaskSpec
from assay.scoring.statistics import Estimate, clipped, macro, wilson


def rolled_up(metrics: Sequence[Metric], tasks: Sequence[TaskSpec]) -> list[Metric]:
    """Return the macro means of every dataset of which several subsets, or a whole category, were evaluated.

    A mean over subsets counts each once, however many rows it has. The task of such a metric is the dataset,
    its group the category.
    """
    found: list[Metric] = []
    for family in dict.fromkeys(task.family for task in tasks if task.family is not None):
        members = [task for task in tasks if task.family == family]
        groups: dict[str | None, list[str]] = {None: [task.name for task in members]}
        for task in members:
            for category in task.categories:
                groups.setdefault(category, []).append(task.name)
        for group, names in groups.items():
            found += _means(metrics, family, group, names)
    return found


def _means(metrics: Sequence[Metric], family: str, group: str | None, names: Sequence[str]) -> list[Metric]:
    parts: dict[tuple[str, str], list[Metric]] = {}
    for metric in metrics:
        if metric.task in names and metric.group is None and metric.is_headline:
            parts.setdefault((metric.method, metric.metric), []).append(metric)
    made = []
    for (method, name), some in parts.items():
        # A mean over a part of the subsets would pass for one over all of them.
        is_complete = len(some) == len(names) and (len(some) > 1 or group is not None)
        if not is_complete or any(one.value is None for one in some):
            continue
        estimates = [Estimate(one.value, one.low, one.high, one.stderr, one.n) for one in some]
        estimate = estimates[0] if len(some) == 1 else macro(estimates)
        if some[0].is_share and len(some) > 1:
            estimate = _within(estimate)
        made.append(
            Metric(
                family,
                method,
                f"{name}{MACRO}",
                group,
                estimate.value,
                estimate.low,
                estimate.high,
                n=sum(one.n for one in some),
                n_scored=sum(one.n_scored for one in some),
                n_unanswered=sum(one.n_unanswered for one in some),
                n_truncated=sum(one.n_truncated for one in some),
                n_failed=sum(one.n_failed for one in some),
                stderr=estimate.stderr,
                higher_is_better=some[0].higher_is_better,
                is_headline=True,
                is_share=some[0].is_share,
            )
        )
    return made


def _within(estimate: Estimate) -> Estimate:
    """Return the estimate of a share with an interval of possible values."""
    if estimate.value is None or estimate.stderr != 0:
        return clipped(estimate)
    # Subsets all right or all wrong have no spread to build on; the counts still have an interval.
    low, high = wilson(estimate.value * estimate.n, estimate.n)
    return estimate._replace(low=low, high=high)
