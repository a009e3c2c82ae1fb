"""Metrics over whole lists that are no mean of the rows' values: of a task, of its groups, and their mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.core.score import MACRO, Metric, Score, Verdict
from assay.scoring.scorers.list_values import interval, is_costly, whole_value


def corpus_metrics(
    track: str,
    metric: Any,
    name: str,
    scores: Sequence[Score],
    rows: Mapping[str, tuple[Any, Any]],
    known: float | None = None,
) -> list[Metric]:
    """Return one value of a metric over all rows and over each group; `rows` has prediction and reference of
    the samples that count, by id. With `known`, its value over all, a costly metric is not called again, and
    has no values over groups.
    """
    if known is not None and is_costly(metric):
        return [_metric(track, metric, name, None, scores, rows, known)]
    whole = _metric(track, metric, name, None, scores, rows)
    parts = [_metric(track, metric, name, group, some, rows) for group, some in _groups(scores).items()]
    return [whole, *parts, _macro(whole, parts)] if len(parts) > 1 else [whole, *parts]


def counted_metrics(
    track: str, name: str, scores: Sequence[Score], parts: Mapping[str, float]
) -> list[Metric]:
    """Return a sum over all rows and over each group; `parts` has those of the samples that count, by id."""
    made = []
    for group, some in [(None, scores), *_groups(scores).items()]:
        counted = [parts[score.sample_id] for score in some if score.sample_id in parts]
        value = math.fsum(counted) if counted else None
        made.append(_made(track, name, group, value, (None, None), some, len(counted)))
    return made


def _groups(scores: Sequence[Score]) -> dict[str, list[Score]]:
    groups: dict[str, list[Score]] = {}
    for score in scores:
        if score.group is not None:
            groups.setdefault(score.group, []).append(score)
    return groups


def _metric(
    track: str,
    metric: Any,
    name: str,
    group: str | None,
    scores: Sequence[Score],
    rows: Mapping[str, tuple[Any, Any]],
    known: float | None = None,
) -> Metric:
    members = {score.sample_id for score in scores}
    pairs = [pair for sample_id, pair in rows.items() if sample_id in members]
    predictions, references = [prediction for prediction, _ in pairs], [reference for _, reference in pairs]
    value = whole_value(metric, name, predictions, references) if known is None else known
    bounds = interval(metric, name, predictions, references)
    return _made(track, name, group, value, bounds, scores, len(pairs))


def _made(
    track: str,
    name: str,
    group: str | None,
    value: float | None,
    bounds: tuple[float | None, float | None],
    scores: Sequence[Score],
    n_scored: int,
) -> Metric:
    return Metric(
        scores[0].task,
        track,
        name,
        group,
        value,
        *bounds,
        n=len(scores),
        n_scored=n_scored,
        n_unanswered=sum(score.verdict is Verdict.UNANSWERED for score in scores),
        n_truncated=sum(score.is_truncated for score in scores),
        n_failed=sum(score.verdict is Verdict.FAILED for score in scores),
        is_headline=True,
    )


def _macro(whole: Metric, parts: Sequence[Metric]) -> Metric:
    """Return the mean of the groups' values, each counted once."""
    values = [part.value for part in parts if part.value is not None]
    mean = math.fsum(values) / len(values) if len(values) == len(parts) else None
    name = f"{whole.metric}{MACRO}"
    return msgspec.structs.replace(whole, metric=name, value=mean, low=None, high=None, is_headline=False)
