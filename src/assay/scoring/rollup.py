"""Subsets of one dataset reported together: macro means over all of them, and over each category."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.score import HEADLINE, MACRO, Metric
from assay.core.task import TaskSpec
from assay.scoring.statistics import Estimate, clip_estimate, macro, wilson


def roll_up_subsets(metrics: Sequence[Metric], tasks: Sequence[TaskSpec]) -> list[Metric]:
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
    """Return the mean of the subsets' headlines, and that of every other metric which all of them list."""
    made = []
    own = [one for one in metrics if one.task in names and one.group is None and one.is_listed]
    for method in dict.fromkeys(one.method for one in own):
        listed = [one for one in own if one.method == method]
        heads = [one for one in listed if one.is_headline]
        deciding = {one.metric for one in heads}
        name = deciding.pop() if len(deciding) == 1 else HEADLINE
        made += _mean(family, group, name, heads, len(names), is_headline=True)
        heading = {one.metric for one in heads}
        # The headline of some subsets is no second mean: it would pass for the dataset's score.
        for other in dict.fromkeys(one.metric for one in listed if one.metric not in heading):
            some = [one for one in listed if one.metric == other]
            made += _mean(family, group, other, some, len(names), is_headline=False)
    return made


def _mean(
    family: str, group: str | None, name: str, some: Sequence[Metric], n_subsets: int, *, is_headline: bool
) -> list[Metric]:
    """Return the mean of one metric of each subset; nothing where one lacks it or the scales differ."""
    # A mean over a part of the subsets would pass for one over all of them.
    is_complete = len(some) == n_subsets and (n_subsets > 1 or group is not None)
    if not is_complete or any(one.value is None for one in some):
        return []
    first = some[0]
    if any((one.is_share, one.higher_is_better) != (first.is_share, first.higher_is_better) for one in some):
        return []
    estimates = [Estimate(one.value, one.low, one.high, one.stderr, one.n) for one in some]
    estimate = estimates[0] if len(some) == 1 else macro(estimates)
    if first.is_share and len(some) > 1:
        estimate = _clip_share(estimate)
    return [
        Metric(
            family,
            first.method,
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
            higher_is_better=first.higher_is_better,
            is_headline=is_headline,
            is_named=not is_headline,
            is_share=first.is_share,
            why=next((one.why for one in some if one.why is not None), None),
        )
    ]


def _clip_share(estimate: Estimate) -> Estimate:
    """Return the estimate of a share with an interval of possible values."""
    if estimate.value is None or estimate.stderr != 0:
        return clip_estimate(estimate)
    # Subsets all right or all wrong have no spread to build on; the counts still have an interval.
    low, high = wilson(estimate.value * estimate.n, estimate.n)
    return estimate._replace(low=low, high=high)
