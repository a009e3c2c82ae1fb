"""Scores as numbers with their uncertainty: `result.accuracy.low > 0.6`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.score import Metric
from assay.results.rows import format_metric_interval, format_metric_value, is_perplexity

CODE = "USAGE-007"


@dataclass(frozen=True)
class Estimate:
    """The value of a metric with its 95 % interval. Shares are fractions: 0.63 is 63 %."""

    value: float
    low: float
    """Lower end of the 95 % interval; NaN if there is no interval."""
    high: float
    """Upper end of the 95 % interval; NaN if there is no interval."""
    n: int
    """Samples that count."""
    n_rows: int
    """All samples, including failed ones and those without a right answer."""
    n_unanswered: int
    """Samples whose reply contains no answer; they count as not right."""
    n_failed: int
    """Samples for which the model gave no reply; they do not count."""
    n_truncated: int
    task: str
    method: str
    metric: str
    group: str | None
    """The part of the task; None: the whole task."""

    def __float__(self) -> float:
        """Return the value."""
        return self.value

    def __repr__(self) -> str:
        interval = "no interval" if math.isnan(self.low) else f"[{self.low:.3g}, {self.high:.3g}]"
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        part = "" if self.group is None else f" {self.group!r}"
        score = f"{self.metric} {self.value:.3g} {interval}, n={self.n}{failed}"
        return f"<{self.task} {self.method}{part}: {score}>"


def to_estimate(metric: Metric) -> Estimate:
    """Return a metric as an estimate; raise USAGE-007 with the reason if it has no value."""
    if metric.value is None:
        what = f"{metric.task} {metric.method} has no {metric.metric}: {_explain_missing_value(metric)}"
        fix = "correct the cause and run again; result.samples shows each sample"
        raise UsageError(Problem(CODE, what, fix))
    return Estimate(
        value=metric.value,
        low=math.nan if metric.low is None else metric.low,
        high=math.nan if metric.high is None else metric.high,
        n=metric.n_counted,
        n_rows=metric.n,
        n_unanswered=metric.n_unanswered,
        n_failed=metric.n_failed,
        n_truncated=metric.n_truncated,
        task=metric.task,
        method=metric.method,
        metric=metric.metric,
        group=metric.group,
    )


def _explain_missing_value(metric: Metric) -> str:
    """Return why a metric has no value."""
    if metric.n_failed:
        # If all rows failed, the metric already says so.
        why = (metric.why or "").removeprefix("every row failed; the first: ")
        first = f"; the first: {why}" if why else ""
        return f"{metric.n_failed} of {metric.n} samples failed{first}"
    return metric.why or "no sample was scored"


def select_metric(
    metrics: Sequence[Metric],
    name: str | None = None,
    *,
    task: str | None = None,
    method: str | None = None,
    group: str | None = None,
) -> Metric:
    """Return the only metric that fits; raise USAGE-007 with the alternatives if there are several or none.

    `name`: None: the headline metric.
    """
    wanted = [
        one
        for one in metrics
        if one.group == group and task in (None, one.task) and method in (None, one.method)
    ]
    first: dict[tuple[str, str], Metric] = {}
    for one in wanted:
        if one.is_headline if name is None else one.metric == name:
            first.setdefault((one.task, one.method), one)
    if len(first) == 1:
        return next(iter(first.values()))
    called = "score" if name is None else name
    if first:
        example = ", ".join(map(repr, next(iter(first))))
        what = f"{len(first)} scores match: {', '.join('/'.join(pair) for pair in first)}"
        raise UsageError(Problem(CODE, what, f"name one of them: result[{example}].{called}"))
    names = dict.fromkeys(one.metric for one in wanted)
    what = f"0 scores match: there is no {called!r}{suggest_name(called, names)}"
    fix = f"name one of the metrics {listing(names)}" if names else "score the run first"
    raise UsageError(Problem(CODE, what, fix))


def format_metric_line(metric: Metric) -> str:
    """Return a metric as one line: its value in percent, its interval and its counts."""
    if metric.value is None:
        return f"{metric.task} {metric.method}: not scored, {_explain_missing_value(metric)}"
    unit = "perplexity" if is_perplexity(metric) else "%" if metric.is_share else metric.metric
    value, interval = format_metric_value(metric), format_metric_interval(metric)
    counted = f"{metric.n_counted} of {metric.n} counted"
    failed = f", {metric.n_failed} failed" if metric.n_failed else ""
    return f"{metric.task} {metric.method}: {value} {unit} [{interval}], {counted}{failed}"
