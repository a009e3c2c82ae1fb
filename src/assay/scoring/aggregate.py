"""Aggregation of scores as they arrive. Memory grows with groups and clusters, not with samples.

Unanswered samples count as wrong. Failed and ungraded samples are left out of the value and counted
separately.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import msgspec

from assay.core.method_agreement import has_disagreement, read_opinion
from assay.core.sample import Sample
from assay.core.score import (
    MACRO,
    MASS,
    NO_METRIC,
    NO_RIGHT_ANSWERS,
    NOTHING_TO_SCORE_BY,
    Metric,
    Ratio,
    Score,
    Verdict,
)
from assay.core.task import Evaluation
from assay.scoring.ratios import RunningRatio
from assay.scoring.statistics import NO_ESTIMATE, Estimate, RunningMean, clip_estimate, macro, wilson

LOWER_IS_BETTER = frozenset(
    {"brier", "perplexity_token", "perplexity_word", "perplexity_byte", "bits_per_byte"}
)

_SCORED = Verdict.SCORED
_UNANSWERED = Verdict.UNANSWERED
_FAILED = Verdict.FAILED


class _MetricTotals:
    """The totals of one metric in one cell: a mean, or a ratio of sums if the scores carry one."""

    __slots__ = ("n_scored", "n_unanswered", "ratio", "running")

    def __init__(self) -> None:
        self.running = RunningMean()
        self.ratio: RunningRatio | None = None
        self.n_scored = 0
        self.n_unanswered = 0

    def add_ratio(self, ratio: Ratio, cluster: str | None) -> None:
        if self.ratio is None:
            self.ratio = RunningRatio(is_exponential=ratio.is_exponential)
        self.ratio.add(ratio.numerator, ratio.denominator, cluster)
        self.n_scored += 1

    def merge(self, other: _MetricTotals) -> None:
        self.running.merge(other.running)
        if other.ratio is not None:
            if self.ratio is None:
                self.ratio = RunningRatio(is_exponential=other.ratio.is_exponential)
            self.ratio.merge(other.ratio)
        self.n_scored += other.n_scored
        self.n_unanswered += other.n_unanswered

    def estimate(self, *, is_share: bool) -> Estimate:
        """Return the value with its interval, that of a share only if `is_share`."""
        if self.ratio is None:
            return self.running.estimate() if is_share else self.running.student()
        estimate = self.ratio.estimate()
        if estimate.value is None or estimate.stderr != 0 or self.ratio.is_exponential or not is_share:
            return estimate
        # If all rows are right or all are wrong, the spread is 0; the number of rows still gives an interval.
        n_units = self.ratio.n_counting
        low, high = wilson(estimate.value * n_units, n_units)
        return estimate._replace(low=low, high=high)


class _Cell:
    """All totals of one task, track and group."""

    __slots__ = ("deciding", "metrics", "n", "n_failed", "n_truncated", "why")

    def __init__(self) -> None:
        self.n = 0
        self.n_failed = 0
        self.n_truncated = 0
        self.why: str | None = None
        """Why the first failed row failed."""
        self.metrics: dict[str, _MetricTotals] = {}
        self.deciding: dict[str, None] = {}

    def numbers(self, metric: str) -> _MetricTotals:
        numbers = self.metrics.get(metric)
        if numbers is None:
            self.metrics[metric] = numbers = _MetricTotals()
        return numbers

    def add(self, score: Score) -> None:
        self.n += 1
        if score.is_truncated:
            self.n_truncated += 1
        verdict, cluster = score.verdict, score.cluster
        if score.metric not in self.deciding:
            self.deciding[score.metric] = None
            self.numbers(score.metric)
        if score.mass is not None:
            self._add_value(MASS, score.mass, True, cluster)
        if verdict is _SCORED:
            value = score.value
            # A value that is not a number is a failure of the scorer, not a zero.
            if value is None or value != value:
                self._fail("the scorer returned no number")
                return
            for metric, ratio in score.ratios.items():
                self.numbers(metric).add_ratio(ratio, cluster)
            if score.metric not in score.ratios:
                self._add_value(score.metric, value, True, cluster)
        elif verdict is _UNANSWERED:
            self._add_value(score.metric, 0.0, False, cluster)
        elif verdict is _FAILED:
            self._fail(score.why)
            return
        # A list metric leaves its rows ungraded; other metrics may have values for them.
        for metric, other in score.also.items():
            if other == other and metric != score.metric:
                self._add_value(metric, other, verdict is not _UNANSWERED, cluster)

    def _fail(self, why: str | None) -> None:
        self.n_failed += 1
        if self.why is None:
            self.why = why

    def _add_value(self, metric: str, value: float, is_scored: bool, cluster: str | None) -> None:
        numbers = self.metrics.get(metric)
        if numbers is None:
            self.metrics[metric] = numbers = _MetricTotals()
        numbers.running.add(value, cluster)
        if is_scored:
            numbers.n_scored += 1
        else:
            numbers.n_unanswered += 1

    def merge(self, other: _Cell, *, with_others: bool = True) -> None:
        """Add everything from another cell; with `with_others=False`, only the deciding metrics."""
        self.n += other.n
        self.n_failed += other.n_failed
        self.n_truncated += other.n_truncated
        self.why = self.why if self.why is not None else other.why
        self.deciding.update(other.deciding)
        for metric in other.metrics if with_others else other.deciding:
            self.numbers(metric).merge(other.metrics[metric])


class MeanAggregator:
    """Means with intervals for each task and method, for each of their groups, and over all groups.

    The deciding metric is the headline of a task and method. A metric in `Score.ratios` is a ratio of sums
    instead of a mean. Each value in `Score.also` is a metric of its own, over the samples that have it.
    `mass` is the mean total probability of the labels.
    """

    def __init__(self) -> None:
        self._cells: dict[tuple[str, str], dict[str | None, _Cell]] = {}
        self._given: list[Metric] = []
        self._named: set[tuple[str, str, str]] = set()
        """(task, track, metric) named by authors: the results table lists all of them."""
        self._lost: dict[tuple[str, str], str] = {}
        """(task, track) that could not be scored, and why."""
        self._lower: set[tuple[str, str, str]] = set()
        """(task, track, metric) where lower is better, in addition to `LOWER_IS_BETTER`."""
        self._off_scale: set[tuple[str, str, str]] = set()
        """(task, track, metric) that are not shares; another task's metric of the same name may be one."""
        self._digits: dict[tuple[str, str], int] = {}
        """Decimal places of the tasks and tracks whose values are rounded."""

    def take(self, evaluation: Evaluation) -> None:
        """Add the scores of a whole list, and its metrics that are not means of them.

        The results table lists everything that an author names as a metric.
        """
        for score in evaluation.scores:
            self.add(score)
            names = (score.metric, *score.also, *score.ratios)
            self._named.update((score.task, score.track, name) for name in names)
            if evaluation.digits is not None:
                self._digits[(score.task, score.track)] = evaluation.digits
        self._named |= evaluation.judged_by
        self._given += evaluation.metrics
        evaluated: set[tuple[str, str]] = {(score.task, score.track) for score in evaluation.scores}
        evaluated |= {(metric.task, metric.method) for metric in evaluation.metrics}
        for task, track in evaluated:
            self.describe(
                task,
                track,
                lower_is_better=evaluation.lower_is_better,
                off_scale=evaluation.off_scale,
            )

    def describe(
        self,
        task: str,
        track: str,
        *,
        lower_is_better: Collection[str],
        off_scale: Collection[str],
        named: Collection[str] = (),
    ) -> None:
        """Record which metrics of a task and track are better when lower, are not shares, or are named."""
        self._named.update((task, track, name) for name in named)
        self._lower.update((task, track, name) for name in lower_is_better)
        self._off_scale.update((task, track, name) for name in off_scale)

    def lose(self, task: str, track: str, why: str) -> None:
        """Record that a task and track has no value: the code that scores all of its samples raised."""
        self._lost.setdefault((task, track), why)

    def add(self, score: Score) -> None:
        """Add one score."""
        key = (score.task, score.track)
        groups = self._cells.get(key)
        if groups is None:
            self._cells[key] = groups = {}
        cell = groups.get(score.group)
        if cell is None:
            groups[score.group] = cell = _Cell()
        cell.add(score)

    def metrics(self) -> Sequence[Metric]:
        """Return all metrics so far; tasks, methods and groups in order of first appearance."""
        found: list[Metric] = []
        for (task, track), groups in self._cells.items():
            whole = _Cell()
            for cell in groups.values():
                whole.merge(cell)
            named = {group: cell for group, cell in groups.items() if group is not None}
            for metric in whole.metrics:
                if metric == NO_METRIC != _headline(whole.deciding):
                    continue
                is_share = self._is_share(task, track, metric)
                found.append(_metric(task, track, metric, None, whole, is_share=is_share))
                parts = {group: cell for group, cell in named.items() if metric in cell.metrics}
                found += [
                    _metric(task, track, metric, group, cell, is_share=is_share)
                    for group, cell in parts.items()
                ]
                # Ratios have no macro mean: a mean of the groups' perplexities is not a perplexity.
                is_mean = whole.metrics[metric].ratio is None
                if len(parts) > 1 and metric in whole.deciding and is_mean:
                    found.append(_macro_metric(task, track, metric, whole, list(parts.values())))
        return self._insert_list_metrics(found)

    def headlines(self) -> list[Metric]:
        """Return the headline metric of each task and method over all samples so far.

        Fast enough to call repeatedly while scores arrive: it skips groups and other metrics. List metrics
        are included once their evaluation has been added.
        """
        found = []
        for (task, track), groups in self._cells.items():
            whole = _Cell()
            for cell in groups.values():
                whole.merge(cell, with_others=False)
            metric = _headline(whole.deciding)
            is_share = self._is_share(task, track, metric)
            found.append(_metric(task, track, metric, None, whole, is_share=is_share))
        return [one for one in self._insert_list_metrics(found) if one.is_headline and one.group is None]

    def _is_share(self, task: str, track: str, metric: str) -> bool:
        """Whether a metric gets the interval of a share when all its values are 0 or 1."""
        return (task, track, metric) not in self._off_scale and metric != "bits_per_byte"

    def _insert_list_metrics(self, metrics: list[Metric]) -> list[Metric]:
        """Insert the list metrics: each replaces the mean of the same name, or is appended."""
        given = {(one.task, one.method, one.metric, one.group): one for one in self._given}
        computed = [
            _copy_reason(given.pop((one.task, one.method, one.metric, one.group), one), one)
            for one in metrics
        ]
        # The deciding metrics come first.
        headlines: dict[tuple[str, str], str] = {}
        for one in (*computed, *given.values()):
            headlines.setdefault((one.task, one.method), one.metric)
        for (task, track), groups in self._cells.items():
            headlines[task, track] = _headline(
                {name: None for cell in groups.values() for name in cell.deciding}
            )
        return [
            self._complete_metric(one, is_headline=headlines[one.task, one.method] == one.metric)
            for one in (*computed, *given.values())
        ]

    def _complete_metric(self, one: Metric, *, is_headline: bool) -> Metric:
        """Return a metric with the properties that only its author's evaluation defines."""
        is_authors = (one.task, one.method, one.metric) in self._named
        if (lost := self._lost.get((one.task, one.method))) is not None:
            one = msgspec.structs.replace(one, value=None, low=None, high=None, stderr=None, why=lost)
        # A macro mean has the scale and direction of the metric it averages.
        names = {(one.task, one.method, name) for name in (one.metric, one.metric.removesuffix(MACRO))}
        is_share = names.isdisjoint(self._off_scale)
        is_lower = one.metric in LOWER_IS_BETTER or not names.isdisjoint(self._lower)
        low, high = one.low, one.high
        digits = self._digits.get((one.task, one.method))
        value = one.value if digits is None or one.value is None else round(one.value, digits)
        if is_authors and is_share and low is not None and high is not None:
            low, high = max(0.0, low), min(1.0, high)
        return msgspec.structs.replace(
            one,
            value=value,
            low=low,
            high=high,
            higher_is_better=one.higher_is_better and not is_lower,
            is_headline=is_headline,
            is_named=is_authors or one.is_headline,
            is_share=is_share,
        )


def _headline(deciding: Mapping[str, None]) -> str:
    """Return the metric that decides a task; a row without any metric does not count."""
    return next((name for name in deciding if name != NO_METRIC), NO_METRIC)


def _copy_reason(one: Metric, counted: Metric) -> Metric:
    """Return a list metric with the reason that its rows give, if it has none of its own."""
    if one.why is not None or (one.value is not None and not one.n_failed):
        return one
    return msgspec.structs.replace(one, why=counted.why)


def _metric(task: str, track: str, metric: str, group: str | None, cell: _Cell, *, is_share: bool) -> Metric:
    numbers = cell.metrics[metric]
    estimate = _clip_estimate(metric, numbers.estimate(is_share=is_share))
    is_headline = metric in cell.deciding
    return _assemble_metric(task, track, metric, group, estimate, cell, numbers, is_headline)


def _macro_metric(task: str, track: str, metric: str, whole: _Cell, parts: list[_Cell]) -> Metric:
    every = [part.metrics[metric].running for part in parts]
    estimate = macro(running.estimate() for running in every)
    if estimate.value is not None and estimate.stderr == 0 and all(running.is_binary for running in every):
        # If all groups are right or all are wrong, the spread is 0; the counts still give an interval.
        low, high = wilson(estimate.value * estimate.n, estimate.n)
        estimate = estimate._replace(low=low, high=high)
    estimate = _clip_estimate(metric, estimate)
    numbers = whole.metrics[metric]
    return _assemble_metric(
        task, track, f"{metric}{MACRO}", None, estimate, whole, numbers, False, lower=metric
    )


def _clip_estimate(metric: str, estimate: Estimate) -> Estimate:
    """Clip an estimate to possible values: shares to [0, 1], perplexities to >= 1, bits to >= 0."""
    if estimate is NO_ESTIMATE or estimate.value is None:
        return estimate
    if metric.startswith("perplexity") or metric == "bits_per_byte":
        return clip_estimate(estimate, 0.0 if metric == "bits_per_byte" else 1.0, math.inf)
    name = metric.casefold()
    is_share = name.startswith(("accuracy", "prob_", "pass@")) or name in (MASS, "em", "f1", "contains")
    return clip_estimate(estimate) if is_share else estimate


def _assemble_metric(
    task: str,
    track: str,
    metric: str,
    group: str | None,
    estimate: Estimate,
    cell: _Cell,
    numbers: _MetricTotals,
    is_headline: bool,
    lower: str | None = None,
) -> Metric:
    return Metric(
        task=task,
        method=track,
        metric=metric,
        group=group,
        why=_explain_missing_value(metric, cell, numbers, estimate),
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        n=cell.n,
        n_scored=numbers.n_scored,
        n_unanswered=numbers.n_unanswered,
        n_truncated=cell.n_truncated,
        n_failed=cell.n_failed,
        stderr=estimate.stderr,
        higher_is_better=(lower or metric) not in LOWER_IS_BETTER,
        is_headline=is_headline,
    )


def _explain_missing_value(
    metric: str, cell: _Cell, numbers: _MetricTotals, estimate: Estimate
) -> str | None:
    """Return why a metric has no value, or why the first failed row failed."""
    first = None if cell.why is None else f"the first: {cell.why}"
    if estimate.value is not None or numbers.n_scored or numbers.n_unanswered:
        return first
    if cell.n_failed:
        which = (
            "every row failed" if cell.n_failed == cell.n else f"{cell.n_failed:,} of {cell.n:,} rows failed"
        )
        return f"{which}; {first}" if first else which
    return NOTHING_TO_SCORE_BY if metric == NO_METRIC else NO_RIGHT_ANSWERS


class Disagreement:
    """Counts the samples on which methods give different answers, for each task with several methods.

    Some samples get their scores in two parts: one immediately, one after the whole list is scored. Such a
    sample is kept in memory until the second part arrives; list scorers keep it anyway.
    """

    def __init__(self, n_methods: Mapping[str, int]) -> None:
        """Create counters; `n_methods` maps each task to the number of its scored methods."""
        self._n_methods = n_methods
        self._waiting: dict[tuple[str, str], tuple[Sample, Sequence[Score]]] = {}
        self._differ: dict[str, int] = {}
        self._undecided: dict[str, int] = {}

    def add(self, task: str, sample: Sample, scores: Sequence[Score]) -> None:
        """Add a sample with the scores known so far."""
        n_methods = self._n_methods.get(task, 0)
        if n_methods > 1 and len(scores) < n_methods:
            self._waiting[task, sample.id] = sample, scores
        elif n_methods > 1:
            self._count(task, sample, scores)

    def add_late(self, scores: Sequence[Score]) -> None:
        """Add the remaining scores of a sample that waited for the whole list."""
        task = scores[0].task
        if self._n_methods.get(task, 0) > 1:
            sample, earlier = self._waiting.pop((task, scores[0].sample_id))
            self._count(task, sample, (*earlier, *scores))

    def _count(self, task: str, sample: Sample, scores: Sequence[Score]) -> None:
        found = (read_opinion(score.verdict, score.answer, sample.labels) for score in scores)
        differ = has_disagreement([one for one in found if one is not None])
        self._differ[task] = self._differ.get(task, 0) + (differ is True)
        if differ is None:
            self._undecided[task] = self._undecided.get(task, 0) + 1

    def counts(self) -> dict[str, int]:
        """Return the number of samples on which methods differ, for each task with several methods."""
        return dict(self._differ)

    def count_undecided(self) -> dict[str, int]:
        """Return the number of samples where that cannot be decided, for each task that has any."""
        return dict(self._undecided)
