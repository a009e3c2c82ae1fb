"""The values of inspect_ai's scores as numbers, and the names of its metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.run import LoggedMetric
from assay.results.exchange.inspect_ai.schema import EvalScore, Header, Metric, Reduction, Sample, Score

CORRECT, INCORRECT, PARTIAL, NO_ANSWER = "C", "I", "P", "N"
ACCURACY, MEAN = "accuracy", "mean"
_MEANS = (ACCURACY, MEAN)
"""The metrics whose value is the mean of the values of samples."""
_ERRORS = ("stderr", "bootstrap_stderr")
_BOUNDS = "ci"
SPREADS = ("std", "var")
"""Metrics of how values vary, which are not shares even if they are between 0 and 1."""
_GROUPED = "grouped"
_ALL = "all"
_LETTERS = {CORRECT: 1.0, PARTIAL: 0.5, INCORRECT: 0.0, NO_ANSWER: 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def read_number(value: Any) -> float | None:
    """Return a value as a number, as inspect_ai's metrics do; NaN: not scored; None: it is not a number."""
    if isinstance(value, bool | int | float):
        try:
            return float(value)
        except OverflowError:
            return None
    if not isinstance(value, str):
        return None
    if value in _LETTERS:
        return _LETTERS[value]
    text = value.strip().lower()
    if text in _WORDS:
        return _WORDS[text]
    try:
        return float(text)
    except ValueError:
        return None


class ScoreKey(NamedTuple):
    """One column of numbers in a log: a score, or one key of its values, under one reducer."""

    name: str
    """The name of the score, which for values with keys is the key."""
    scorer: str
    reducer: str | None
    metric: str
    """The name of the metric that is the mean of the column."""

    def pick_value(self, name: str, value: Any) -> Any:
        """Return the column's part of the value of a score with this name."""
        return value.get(self.name) if isinstance(value, dict) and name != self.name else value


class LogMetrics(NamedTuple):
    """What a log says about its metrics."""

    columns: Sequence[ScoreKey]
    """The headline first."""
    logged: Sequence[LoggedMetric]
    group_key: str | None = None
    """The field of the metadata by which the log groups samples."""


def read_metrics(header: Header, task: str) -> LogMetrics:
    """Return the metrics of a log, and which of them are means of the values of samples."""
    entries = _list_entries(header)
    columns: list[ScoreKey] = []
    logged: list[LoggedMetric] = []
    group_key: str | None = None
    for entry in entries:
        name_metric = _name_metrics(entry, entries)
        means = [name for name, one in entry.metrics.items() if name in _MEANS and one.group is None]
        grouped = [
            one for one in entry.metrics.values() if one.group == _GROUPED and "group_key" in one.params
        ]
        inner = [str(_read_inner_name(one)) for one in grouped]
        names = means or [name for name in dict.fromkeys(inner) if name in _MEANS]
        columns += [
            ScoreKey(entry.name, entry.scorer, entry.reducer, name_metric(name))
            for name in names or [_describe_plain(entry)]
        ]
        if grouped and group_key is None:
            group_key = str(grouped[0].params["group_key"])
        logged += _log_entry(entry, task, name_metric, means)
    return LogMetrics(_put_first(columns, header), logged, group_key)


def _list_entries(header: Header) -> list[EvalScore]:
    """Return the scores of a log; of a log without results, those that its scorers would have."""
    results = header.results
    if results is not None and results.scorer is not None:
        return [
            EvalScore(
                name=results.scorer.name,
                scorer=results.scorer.name,
                params=results.scorer.params,
                metrics=results.metrics,
            )
        ]
    if results is not None and results.scores:
        return results.scores
    found = []
    for scorer in header.eval.scorers or ():
        metrics = scorer.metrics if isinstance(scorer.metrics, list) else []
        names = [str(one.get("name", "")).rpartition("/")[2] for one in metrics if isinstance(one, dict)]
        means = {name: Metric(name=name, value=None) for name in names if name in _MEANS}
        if means or not scorer.metrics:
            found.append(EvalScore(name=scorer.name, scorer=scorer.name, metrics=means))
        if isinstance(scorer.metrics, dict):
            found += [EvalScore(name=key, scorer=scorer.name) for key in scorer.metrics if key != "*"]
    return found


def _name_metrics(entry: EvalScore, entries: Sequence[EvalScore]) -> Any:
    """Return a function that names a metric of an entry so that it is unique in the log."""
    prefix = f"{entry.name}/" if len({one.name for one in entries}) > 1 else ""
    if sum(one.name == entry.name and one.reducer == entry.reducer for one in entries) > 1:
        prefix = f"{entry.scorer}.{entry.name}/"
    several = len({one.reducer for one in entries if one.name == entry.name}) > 1
    suffix = f"@{entry.reducer}" if several and entry.reducer else ""
    return lambda name: f"{prefix}{name}{suffix}"


def _describe_plain(entry: EvalScore) -> str:
    """Return the name for the mean of values for which the log has only other metrics."""
    return MEAN if MEAN not in entry.metrics else entry.name


def _log_entry(entry: EvalScore, task: str, name_metric: Any, means: Sequence[str]) -> Iterator[LoggedMetric]:
    """Yield the numbers of an entry. Standard errors and intervals belong to the means."""
    errors = [entry.metrics[name].value for name in _ERRORS if name in entry.metrics]
    stderr = None if not errors or errors[0] is None else float(errors[0])
    for name, one in entry.metrics.items():
        value = one.value
        if value is None or not math.isfinite(value) or name in _ERRORS or one.group == _BOUNDS:
            continue
        if one.group == _GROUPED and "group_key" in one.params:
            group = None if one.name == _ALL else one.name
            whole = stderr if group is None else None
            yield LoggedMetric(task, name_metric(_read_inner_name(one)), float(value), whole, group=group)
        elif name in means:
            yield LoggedMetric(task, name_metric(name), float(value), stderr)
        else:
            shown = f"{one.group} {one.name}" if one.group else name
            yield LoggedMetric(task, name_metric(shown), float(value))


def _read_inner_name(metric: Metric) -> str:
    inner = metric.params.get("metric")
    return str(inner.get("name", "")).rpartition("/")[2] if isinstance(inner, dict) else metric.name


def _put_first(columns: Sequence[ScoreKey], header: Header) -> list[ScoreKey]:
    headline = header.results.headline if header.results else None
    if headline is None:
        return list(columns)

    def is_other(column: ScoreKey) -> bool:
        return (
            headline.score not in (None, column.name)
            or headline.scorer not in (None, column.scorer)
            or headline.reducer not in (None, column.reducer)
        )

    return sorted(columns, key=is_other)


class ReducedValues:
    """The values of samples after their epochs were reduced, as the log has them."""

    def __init__(self, reductions: Sequence[Reduction]) -> None:
        self._found: dict[tuple[str, str | None], dict[str, Any]] = {
            (one.scorer, one.reducer): {str(score.sample_id): score.value for score in one.samples}
            for one in reductions
        }

    def find(self, column: ScoreKey, sample_id: str) -> float | None:
        """Return a sample's number in a column; NaN: not scored; None: the log has none."""
        for name in (column.name, column.scorer):
            values = self._found.get((name, column.reducer))
            if values is None and column.reducer is None:
                values = self._found.get((name, MEAN))
            if values is not None and sample_id in values:
                return read_number(column.pick_value(name, values[sample_id]))
        return None


def average(column: ScoreKey, epochs: Sequence[Sample]) -> float | None:
    """Return the mean of a sample's numbers over its epochs; NaN: none was scored; None: no numbers."""
    numbers = []
    for epoch in epochs:
        name, score = find_score(column, epoch)
        number = None if score is None else read_number(column.pick_value(name, score.value))
        if number is not None:
            numbers.append(number)
    known = [number for number in numbers if not math.isnan(number)]
    if not numbers:
        return None
    return sum(known) / len(known) if known else math.nan


def find_score(column: ScoreKey, epoch: Sample) -> tuple[str, Score | None]:
    """Return the name and the score of one epoch that has the column's value."""
    scores = list_scores(epoch)
    for name in (column.name, column.scorer):
        if name in scores:
            return name, scores[name]
    if epoch.score is not None:
        return column.name, epoch.score
    return column.name, None


def list_scores(epoch: Sample) -> Mapping[str, Score]:
    """Return the scores of one epoch by their names."""
    return epoch.scores or {}
