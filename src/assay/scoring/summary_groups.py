"""Summary groups: one number for several tasks, as a mean, weighted mean, sum, spread or harmonic mean.

Values are combined as the tables of OpenCompass and AISBench show them: shares from 0 to 100, everything else
unchanged. A group that lacks a task has no value, and a note names the task. A group without any evaluated
task belongs to another run. Averages and sums have an interval that assumes independent tasks.
"""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from assay.core.arithmetic import compile_arithmetic
from assay.core.errors import listing
from assay.core.metric_order import sort_metrics
from assay.core.score import HEADLINE, MACRO, Metric
from assay.core.summary_group import Subset, SummaryGroup
from assay.core.task import TaskSpec
from assay.scoring.statistics import Estimate, clip_estimate, macro, weighted_sum, wilson

MIXED = "mixed"
"""The method of a group whose tasks use several methods."""
_PERCENT = 100.0
_LEAST_OF_HARMONIC = 1.0
"""The smallest value (of 100) in a harmonic mean that contains a 0, as in the originals."""


class GroupResults(NamedTuple):
    """The results for all groups."""

    metrics: tuple[Metric, ...] = ()
    members: Mapping[str, tuple[str, ...]] = {}
    """The tasks in each group, including those of nested groups."""
    notes: tuple[str, ...] = ()


class _Member(NamedTuple):
    """One value to combine."""

    key: str
    subset: Subset
    metric: Metric
    value: float
    """From 0 to 100 if it is a share; transformed if the group defines a transformation."""
    is_as_measured: bool


def build_group_metrics(metrics: Sequence[Metric], groups: Sequence[SummaryGroup]) -> GroupResults:
    """Return a metric for each group whose tasks are all present."""
    return _GroupBuilder(metrics).join_groups(groups)


class _GroupBuilder:
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._known: dict[str, list[Metric]] = {}
        for metric in metrics:
            of_task = self._known.setdefault(metric.task, [])
            # A task evaluated with several methods is represented by the first one.
            if metric.group is None and (not of_task or of_task[0].method == metric.method):
                of_task.append(metric)
        self._tasks = frozenset(self._known)
        self._members: dict[str, tuple[str, ...]] = {}
        self._notes: list[str] = []

    def join_groups(self, groups: Sequence[SummaryGroup]) -> GroupResults:
        metrics: list[Metric] = []
        for group in groups:
            found = [self._find(subset) for subset in group.subsets]
            if not any(found):
                continue
            if group.name in self._tasks:
                self._notes.append(
                    f"group {group.name!r}: a dataset has the same name, so the group is omitted"
                )
                continue
            lacking = [
                _format_subset(subset)
                for subset, one in zip(group.subsets, found, strict=True)
                if one is None
            ]
            if lacking:
                self._notes.append(
                    f"group {group.name!r} has no {group.label}: {len(lacking)} of {len(group.subsets)} "
                    f"subsets are missing: {listing(lacking, at_most=5)}"
                )
                continue
            parts = (self._members.get(one.name, (one.name,)) for one in group.subsets)
            tasks = tuple(dict.fromkeys(name for part in parts for name in part))
            try:
                joined = [self._join(group, [one for one in found if one is not None], tasks)]
            except ArithmeticError as error:
                self._notes.append(f"group {group.name!r} has no {group.label}: {error}")
                continue
            joined += self._build_by_metric(group, tasks)
            metrics += joined
            self._known.setdefault(group.name, []).extend(joined)
            # A group with several scores contains the tasks of all of them.
            self._members[group.name] = tuple(dict.fromkeys((*self._members.get(group.name, ()), *tasks)))
        return GroupResults(tuple(metrics), self._members, tuple(dict.fromkeys(self._notes)))

    def _build_by_metric(self, group: SummaryGroup, tasks: Sequence[str]) -> Iterator[Metric]:
        """Yield the group again for each metric that all of its members have."""
        if any(subset.metric is not None for subset in group.subsets):
            return
        names = [[one.metric for one in self._known[subset.name]] for subset in group.subsets]
        for name in names[0]:
            if name == group.label or not all(name in others for others in names):
                continue
            found = [self._find(Subset(subset.name, name)) for subset in group.subsets]
            if all(one is not None for one in found):
                with contextlib.suppress(ArithmeticError):
                    metrics = [one for one in found if one is not None]
                    joined = self._join(group, metrics, tasks)
                    yield msgspec.structs.replace(joined, metric=name, is_headline=False)

    def _find(self, subset: Subset) -> Metric | None:
        """Return a subset's metric; None if it was not evaluated or has no value."""
        known = self._known.get(subset.name, ())
        ordered = known if subset.name in self._members else sort_metrics(known)
        fitting = [one for one in ordered if subset.metric in (None, one.metric)]
        return fitting[0] if fitting and fitting[0].value is not None else None

    def _join(self, group: SummaryGroup, metrics: Sequence[Metric], tasks: Sequence[str]) -> Metric:
        members = list(_members(group, metrics))
        is_share = all(one.metric.is_share and one.is_as_measured for one in members)
        estimate = self._estimate(group, members)
        if is_share and group.joining != "sum":
            estimate = _convert_to_share(estimate, has_interval=group.joining in _LINEAR)
        elif is_share:
            is_share = False
            estimate = clip_estimate(
                estimate, 0.0, _PERCENT * math.fsum(_weight(group, one) for one in members)
            )
        methods = {one.method for one in metrics}
        # Count the rows of a task in several nested groups once.
        rows = [sort_metrics(self._known[name])[0] for name in tasks]
        return Metric(
            group.name,
            methods.pop() if len(methods) == 1 else MIXED,
            group.label,
            None,
            estimate.value,
            estimate.low,
            estimate.high,
            n=sum(one.n for one in rows),
            n_scored=sum(one.n_scored for one in rows),
            n_unanswered=sum(one.n_unanswered for one in rows),
            n_truncated=sum(one.n_truncated for one in rows),
            n_failed=sum(one.n_failed for one in rows),
            stderr=estimate.stderr,
            higher_is_better=all(one.higher_is_better for one in metrics)
            and group.joining != "standard_deviation",
            is_headline=True,
            is_share=is_share,
        )

    def _estimate(self, group: SummaryGroup, members: Sequence[_Member]) -> Estimate:
        n = sum(one.metric.n for one in members)
        if group.joining not in _LINEAR:
            values = [one.value for one in members]
            if group.joining == "harmonic_mean" and min(values) <= 0:
                values = [max(one, _LEAST_OF_HARMONIC) for one in values]
                self._notes.append(
                    f"group {group.name!r}: a value is 0, which has no harmonic mean; values below "
                    f"{_LEAST_OF_HARMONIC:g} of 100 count as {_LEAST_OF_HARMONIC:g}, as in the original"
                )
            return Estimate(_SPREAD[group.joining](values), None, None, None, n)
        weights = [_weight(group, one) for one in members]
        total = math.fsum(weights) if group.joining != "sum" else 1.0
        parts = [
            (weight / total, _build_estimate(one))
            for weight, one in zip(weights, members, strict=True)
            if weight
        ]
        return weighted_sum(parts, n)


def _members(group: SummaryGroup, metrics: Sequence[Metric]) -> Iterator[_Member]:
    for subset, metric in zip(group.subsets, metrics, strict=True):
        value = (metric.value or 0.0) * (_PERCENT if metric.is_share else 1.0)
        transform = group.transforms.get(subset.name)
        transformed = value if transform is None else compile_arithmetic(transform)(value)
        yield _Member(f"{subset.name}@{metric.metric}", subset, metric, transformed, transform is None)


def _weight(group: SummaryGroup, member: _Member) -> float:
    """Return a member's weight; 0 if the weights do not name it."""
    if not group.weights:
        return 1.0
    return group.weights.get(member.key, group.weights.get(member.subset.name, 0.0))


def _build_estimate(member: _Member) -> Estimate:
    scale = _PERCENT if member.metric.is_share else 1.0
    error = member.metric.stderr
    # The error of a transformed value is unknown.
    stderr = None if error is None or not member.is_as_measured else error * scale
    return Estimate(member.value, None, None, stderr, member.metric.n)


def _convert_to_share(estimate: Estimate, *, has_interval: bool) -> Estimate:
    """Return an estimate in percent as a share, with its interval clipped to possible values."""
    value, low, high, stderr = (
        None if one is None else one / _PERCENT
        for one in (estimate.value, estimate.low, estimate.high, estimate.stderr)
    )
    result = Estimate(value, low, high, stderr, estimate.n)
    if value is None or stderr != 0 or not has_interval:
        return clip_estimate(result)
    # If all tasks are right or all are wrong, the spread is 0; the counts still give an interval.
    low, high = wilson(value * result.n, result.n)
    return result._replace(low=low, high=high)


def _format_subset(subset: Subset) -> str:
    return subset.name if subset.metric is None else f"{subset.name}@{subset.metric}"


_LINEAR = ("naive_average", "weighted_average", "sum")
_SPREAD: Mapping[str, Callable[[Sequence[float]], float]] = {
    "standard_deviation": lambda values: float(statistics.pstdev(values)),
    "harmonic_mean": lambda values: len(values) / math.fsum(1 / one for one in values),
}


def roll_up_subsets(metrics: Sequence[Metric], tasks: Sequence[TaskSpec]) -> list[Metric]:
    """Return the macro means of each dataset with several evaluated subsets or a whole category.

    A mean over subsets counts each subset once, however many rows it has. The metric's task is the dataset,
    its group is the category.
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
    """Return the mean of the subsets' headlines, and of every other metric that all of them list."""
    means = []
    own = [one for one in metrics if one.task in names and one.group is None and one.is_listed]
    for method in dict.fromkeys(one.method for one in own):
        listed = [one for one in own if one.method == method]
        heads = [one for one in listed if one.is_headline]
        deciding = {one.metric for one in heads}
        name = deciding.pop() if len(deciding) == 1 else HEADLINE
        means += _mean(family, group, name, heads, len(names), is_headline=True)
        heading = {one.metric for one in heads}
        # The headline of some subsets is not averaged again: it would look like the dataset's score.
        for other in dict.fromkeys(one.metric for one in listed if one.metric not in heading):
            some = [one for one in listed if one.metric == other]
            means += _mean(family, group, other, some, len(names), is_headline=False)
    return means


def _mean(
    family: str, group: str | None, name: str, some: Sequence[Metric], n_subsets: int, *, is_headline: bool
) -> list[Metric]:
    """Return the mean of one metric over subsets; empty if one subset lacks it or the scales differ."""
    # A mean over some of the subsets would look like a mean over all of them.
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
    """Return the estimate of a share, with its interval clipped to possible values."""
    if estimate.value is None or estimate.stderr != 0:
        return clip_estimate(estimate)
    # If all subsets are right or all are wrong, the spread is 0; the counts still give an interval.
    low, high = wilson(estimate.value * estimate.n, estimate.n)
    return estimate._replace(low=low, high=high)
