"""Several tasks as one number: means, weighted means, sums, spreads and harmonic means over them.

Values are joined as the tables of OpenCompass and AISBench show them: shares from 0 to 100, all else as it
is. A group that lacks a task has no value, and it is said which task; a group of which no task was evaluated
is another run's. Averages and sums have an interval, the tasks taken as independent.
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
"""The method of a group whose tasks are evaluated by several."""
_PERCENT = 100.0
_LEAST_OF_HARMONIC = 1.0
"""What values below 1 of 100 count as in a harmonic mean that holds a 0, as in the originals."""


class GroupResults(NamedTuple):
    """What came out for the groups."""

    metrics: tuple[Metric, ...] = ()
    members: Mapping[str, tuple[str, ...]] = {}
    """The tasks that are in each group, also those that are in a group of it."""
    notes: tuple[str, ...] = ()


class _Member(NamedTuple):
    """A value that is joined."""

    key: str
    subset: Subset
    metric: Metric
    value: float
    """From 0 to 100 where it is a share; transformed where the group says so."""
    is_as_measured: bool


def build_group_metrics(metrics: Sequence[Metric], groups: Sequence[SummaryGroup]) -> GroupResults:
    """Return a metric for each group of which all tasks are there."""
    return _GroupBuilder(metrics).joined(groups)


class _GroupBuilder:
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._known: dict[str, list[Metric]] = {}
        for metric in metrics:
            of_task = self._known.setdefault(metric.task, [])
            # A task that is evaluated by several methods is told by the first.
            if metric.group is None and (not of_task or of_task[0].method == metric.method):
                of_task.append(metric)
        self._tasks = frozenset(self._known)
        self._members: dict[str, tuple[str, ...]] = {}
        self._notes: list[str] = []

    def joined(self, groups: Sequence[SummaryGroup]) -> GroupResults:
        made: list[Metric] = []
        for group in groups:
            found = [self._find(subset) for subset in group.subsets]
            if not any(found):
                continue
            if group.name in self._tasks:
                self._notes.append(f"group {group.name!r}: a dataset has this name, so the group is left out")
                continue
            lacking = [
                _format_subset(subset)
                for subset, one in zip(group.subsets, found, strict=True)
                if one is None
            ]
            if lacking:
                self._notes.append(
                    f"group {group.name!r} has no {group.label}: {len(lacking)} of {len(group.subsets)} "
                    f"subsets are not there: {listing(lacking, at_most=5)}"
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
            made += joined
            self._known.setdefault(group.name, []).extend(joined)
            self._members[group.name] = tasks
        return GroupResults(tuple(made), self._members, tuple(dict.fromkeys(self._notes)))

    def _build_by_metric(self, group: SummaryGroup, tasks: Sequence[str]) -> Iterator[Metric]:
        """Yield the group once more by each metric that all of its members have."""
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
        """Return a subset's metric; None where it was not evaluated, or has no value."""
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
        # A task that is in several groups of the group has its rows once.
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
        made = value if transform is None else compile_arithmetic(transform)(value)
        yield _Member(f"{subset.name}@{metric.metric}", subset, metric, made, transform is None)


def _weight(group: SummaryGroup, member: _Member) -> float:
    """Return how much a member counts; one that the weights do not name does not count."""
    if not group.weights:
        return 1.0
    return group.weights.get(member.key, group.weights.get(member.subset.name, 0.0))


def _build_estimate(member: _Member) -> Estimate:
    scale = _PERCENT if member.metric.is_share else 1.0
    error = member.metric.stderr
    # How far a transformed value may lie off is not known.
    stderr = None if error is None or not member.is_as_measured else error * scale
    return Estimate(member.value, None, None, stderr, member.metric.n)


def _convert_to_share(estimate: Estimate, *, has_interval: bool) -> Estimate:
    """Return an estimate of percents as one of shares, with an interval of possible values."""
    value, low, high, stderr = (
        None if one is None else one / _PERCENT
        for one in (estimate.value, estimate.low, estimate.high, estimate.stderr)
    )
    made = Estimate(value, low, high, stderr, estimate.n)
    if value is None or stderr != 0 or not has_interval:
        return clip_estimate(made)
    # Tasks all right or all wrong have no spread to build on; the counts still have an interval.
    low, high = wilson(value * made.n, made.n)
    return made._replace(low=low, high=high)


def _format_subset(subset: Subset) -> str:
    return subset.name if subset.metric is None else f"{subset.name}@{subset.metric}"


_LINEAR = ("naive_average", "weighted_average", "sum")
_SPREAD: Mapping[str, Callable[[Sequence[float]], float]] = {
    "standard_deviation": lambda values: float(statistics.pstdev(values)),
    "harmonic_mean": lambda values: len(values) / math.fsum(1 / one for one in values),
}


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
