"""Values over all rows that are not means of row values: for a task, its groups, and their mean.

They come from calling a metric over whole lists, or from counts that are added up row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.errors import describe_exception, find_raise_origin
from assay.core.method import Method
from assay.core.score import MACRO, Metric, Score, Verdict
from assay.scoring.metrics.corpus_counts import CorpusCounts
from assay.scoring.scorers.list_values import (
    ListValues,
    is_costly,
    own_interval,
    resample_interval,
    whole_value,
)


def corpus_metrics(
    track: Method,
    name: str,
    scores: Sequence[Score],
    rows: Mapping[str, tuple[Any, Any]],
    values: ListValues,
) -> list[Metric]:
    """Return one value of a metric over all rows and over each group.

    `rows` maps sample ids to the prediction and reference of the samples that count. The value over all rows
    is the one the metric returned for them, unless a later metric failed on some of them. A costly metric is
    not called again, so it has no values for groups.
    """
    metric = values.owners[name]
    if is_costly(metric):
        return [_metric(track, metric, name, None, scores, rows, values)]
    whole = _metric(track, metric, name, None, scores, rows, None if values.troubles else values)
    parts = [_metric(track, metric, name, group, some, rows) for group, some in _groups(scores).items()]
    return _append_macro(whole, parts)


def build_count_metrics(
    track: Method, name: str, scores: Sequence[Score], parts: Mapping[str, float]
) -> list[Metric]:
    """Return a sum over all rows and over each group; `parts` maps sample ids to their parts."""
    metrics = []
    for group, some in [(None, scores), *_groups(scores).items()]:
        counted = [parts[score.sample_id] for score in some if score.sample_id in parts]
        value = math.fsum(counted) if counted else None
        metrics.append(
            _assemble_metric(
                scores[0].task, track, name, group, value, (None, None), _Outcomes.of(some), len(counted)
            )
        )
    return metrics


def build_empty_metric(track: Method, name: str, scores: Sequence[Score], why: str) -> Metric:
    """Return a metric without a value over all rows, with the reason."""
    metric_without_value = _assemble_metric(
        scores[0].task, track, name, None, None, (None, None), _Outcomes.of(scores), 0
    )
    return msgspec.structs.replace(metric_without_value, why=why)


class RunningCorpus:
    """One value of a track over all rows and over each group, from counts added up row by row.

    Memory grows with the number of groups, not of rows.
    """

    def __init__(self, name: str, make: Callable[[], CorpusCounts], scale: float) -> None:
        """Create the counters; reported values are divided by `scale`."""
        self.name = name
        self._make = make
        self._scale = scale
        self._task = ""
        self._whole = _Part(make())
        self._groups: dict[str, _Part] = {}

    def add(self, score: Score, row: tuple[str, Sequence[str]] | None) -> None:
        """Add a sample: its score, and its prediction and references if it counts."""
        self._task = score.task
        parts = [self._whole] if score.group is None else [self._whole, self._group(score.group)]
        counts = None if row is None else self._whole.counts.of(*row)
        for part in parts:
            part.outcomes.add(score)
            if counts is not None:
                part.counts.take(counts)
                part.n_answered += score.verdict is not Verdict.UNANSWERED
            # Many small groups together have as many rows as the whole, so they drop theirs when the whole
            # does.
            if not self._whole.counts.has_rows and part.counts.has_rows:
                part.counts.drop_rows()

    def _group(self, name: str) -> _Part:
        part = self._groups.get(name)
        if part is None:
            self._groups[name] = part = _Part(self._make())
        return part

    def metrics(self, track: Method) -> list[Metric]:
        """Return the value over all rows, over each group, and the groups' mean; empty if no row counts.

        If the computation raises, the value is missing and has a reason; the rows' own values remain.
        """
        if not self._whole.counts.n:
            return []
        try:
            return self._build_metrics(track)
        except Exception as error:  # noqa: BLE001 (reported as the reason why there is no value)
            why = f"{self.name} raised {describe_exception(error)} ({find_raise_origin(error)})"
            metric_without_value = _assemble_metric(
                self._task, track, self.name, None, None, (None, None), self._whole.outcomes, 0
            )
            return [msgspec.structs.replace(metric_without_value, why=why)]

    def _build_metrics(self, track: Method) -> list[Metric]:
        if not self._whole.counts.has_rows:
            for part in self._groups.values():
                part.counts.drop_rows()
        whole = self._metric(track, None, self._whole)
        parts = [self._metric(track, group, part) for group, part in self._groups.items()]
        return _append_macro(whole, parts)

    def _metric(self, track: Method, group: str | None, part: _Part) -> Metric:
        counts = part.counts
        value = counts.value() / self._scale if counts.n else None
        found = counts.interval()
        bounds = (None, None) if found is None else (found[0] / self._scale, found[1] / self._scale)
        return _assemble_metric(
            self._task, track, self.name, group, value, bounds, part.outcomes, part.n_answered
        )


class _Part:
    """All rows, or the rows of a group."""

    def __init__(self, counts: CorpusCounts) -> None:
        self.counts = counts
        self.outcomes = _Outcomes()
        self.n_answered = 0
        """Rows that count and have an answer; unanswered rows are among the outcomes."""


class _Outcomes:
    """The number of samples with each verdict."""

    def __init__(self) -> None:
        self.n = self.n_unanswered = self.n_truncated = self.n_failed = 0

    @classmethod
    def of(cls, scores: Iterable[Score]) -> _Outcomes:
        outcomes = cls()
        for score in scores:
            outcomes.add(score)
        return outcomes

    def add(self, score: Score) -> None:
        self.n += 1
        self.n_unanswered += score.verdict is Verdict.UNANSWERED
        self.n_truncated += score.is_truncated
        self.n_failed += score.verdict is Verdict.FAILED


def _groups(scores: Sequence[Score]) -> dict[str, list[Score]]:
    groups: dict[str, list[Score]] = {}
    for score in scores:
        if score.group is not None:
            groups.setdefault(score.group, []).append(score)
    return groups


def _metric(
    track: Method,
    metric: Any,
    name: str,
    group: str | None,
    scores: Sequence[Score],
    rows: Mapping[str, tuple[Any, Any]],
    known: ListValues | None = None,
) -> Metric:
    members = {score.sample_id: score.verdict for score in scores}
    pairs = [pair for sample_id, pair in rows.items() if sample_id in members]
    n_answered = sum(
        verdict is not Verdict.UNANSWERED for sample_id, verdict in members.items() if sample_id in rows
    )
    predictions, references = [prediction for prediction, _ in pairs], [reference for _, reference in pairs]
    if known is None:
        value = whole_value(metric, name, predictions, references)
        bounds = own_interval(metric, name)
    else:
        value, bounds = known.whole[name], known.intervals.get(name)
    low, high = (
        resample_interval(metric, name, predictions, references)
        if bounds is None or len(predictions) < 2
        else bounds
    )
    return _assemble_metric(
        scores[0].task, track, name, group, value, (low, high), _Outcomes.of(scores), n_answered
    )


def _assemble_metric(
    task: str,
    track: Method,
    name: str,
    group: str | None,
    value: float | None,
    bounds: tuple[float | None, float | None],
    outcomes: _Outcomes,
    n_scored: int,
) -> Metric:
    return Metric(
        task,
        track,
        name,
        group,
        value,
        *bounds,
        n=outcomes.n,
        n_scored=n_scored,
        n_unanswered=outcomes.n_unanswered,
        n_truncated=outcomes.n_truncated,
        n_failed=outcomes.n_failed,
        is_headline=True,
    )


def _append_macro(whole: Metric, parts: Sequence[Metric]) -> list[Metric]:
    return [whole, *parts, _macro(whole, parts)] if len(parts) > 1 else [whole, *parts]


def _macro(whole: Metric, parts: Sequence[Metric]) -> Metric:
    """Return the mean of the groups' values, with equal weights."""
    values = [part.value for part in parts if part.value is not None]
    mean = math.fsum(values) / len(values) if len(values) == len(parts) else None
    name = f"{whole.metric}{MACRO}"
    return msgspec.structs.replace(whole, metric=name, value=mean, low=None, high=None, is_headline=False)
