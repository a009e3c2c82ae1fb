"""Metrics of an author's own over whole lists of predictions and references.

A metric is called once with all rows that have a prediction. What it says about single rows becomes their
scores; a row on which it raises fails alone. A value that is the mean of the rows' values is left to the
aggregator, which gives it an interval; any other, such as a corpus's BLEU, is handed on as the metric
returned it, with an interval from resampled rows.
"""

from __future__ import annotations

import math
import random
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from assay.core.errors import AssayError, PlanError, Problem
from assay.core.origin import Origin
from assay.core.ports import Judge
from assay.core.response import Completion, Failure, Finish
from assay.core.sample import Sample
from assay.core.score import Metric, Ratio, Score, Verdict
from assay.core.task import Answered, Evaluation, Scorer
from assay.scoring.scorers.outcomes import score_of

AUTHOR_RULE = "post_processing"
"""The rule of an answer that the author's own code made of what the model wrote."""
_N_RESAMPLES = 200
_MAX_RESAMPLED = 50_000
"""Rows that resampling may score in all; beyond, a value has no interval."""


class AuthorLists(Protocol):
    """What a dialect knows about an author's evaluation."""

    chooses_itself: bool
    """Whether the author's code, and not the inner scorer, decides between options."""

    @property
    def metrics(self) -> Sequence[Any]:
        """Return the author's metrics."""

    @property
    def n_rows(self) -> int:
        """Return how many rows there are."""

    def row(self, sample_id: str) -> int:
        """Return the number of a sample's row."""

    def raw(self, answers: Sequence[Answered]) -> tuple[Any, ...] | Failure:
        """Return one row's answers in the shape that the author's code expects."""

    def predictions(self, raws: Sequence[tuple[Any, ...] | None]) -> Sequence[Any]:
        """Return what the author's code makes of all rows; rows that failed are None."""

    def references(self) -> Sequence[Any]:
        """Return the right answers."""


class _Kept(NamedTuple):
    """What is kept of one sample until all are there."""

    sample: Sample
    answers: tuple[Answered, ...]
    raw: tuple[Any, ...] | Failure
    inner: Score | None
    is_truncated: bool


class Values(NamedTuple):
    """What metrics said."""

    per_row: dict[str, list[float | None]]
    """For each name, the value of each row, None where there is trouble. A metric may have none for rows."""
    whole: dict[str, float]
    ratios: dict[str, list[Ratio | None]]
    """For each name that divides a sum over the rows by another: the rows' parts of both."""
    intervals: dict[str, tuple[float, float]]
    """Those that a metric knows itself."""
    owners: dict[str, Any]
    """The metric that each name comes from."""
    lower_is_better: frozenset[str]
    off_scale: frozenset[str]
    """Names of metrics that are no shares."""
    troubles: dict[int, str]
    """Rows that a metric could not judge, and why."""

    def is_mean(self, name: str) -> bool:
        """Whether a metric is the mean of what it says of the rows."""
        known = [one for one in self.per_row.get(name, ()) if one is not None]
        if not known:
            return False
        return math.isclose(math.fsum(known) / len(known), self.whole[name], rel_tol=1e-9, abs_tol=1e-12)


class AuthorMetrics:
    """Scores one track by the author's metrics."""

    def __init__(self, track: str, author: AuthorLists, inner: Scorer | None = None) -> None:
        self.track = track
        self._author = author
        self._inner = inner
        self._kept: list[_Kept] = []

    @property
    def needs_judge(self) -> bool:
        """Whether a metric asks a model for its opinion."""
        return any(hasattr(metric, "bind") for metric in self._author.metrics)

    def bind(self, judge: Judge) -> None:
        """Give the judge to the metrics that need one."""
        for metric in self._author.metrics:
            if hasattr(metric, "bind"):
                metric.bind(judge)

    def add(self, sample: Sample, answers: Sequence[Answered]) -> None:
        """Take one sample."""
        inner = None if self._inner is None else self._inner.score(sample, answers)
        cut = any(
            output.finish is Finish.LENGTH
            for answered in answers
            if isinstance(answered.response.outcome, Completion)
            for output in answered.response.outcome.outputs
        )
        # The first request stands for all: it is needed for its task's name alone.
        self._kept.append(_Kept(sample, tuple(answers[:1]), self._author.raw(answers), inner, cut))

    def finish(self) -> Evaluation:
        """Call the metrics, and return every sample's score."""
        if not self._kept:
            return Evaluation(())
        rows = {self._author.row(kept.sample.id): kept for kept in self._kept}
        predictions = self._predictions(rows)
        references = list(self._author.references())
        usable = [number for number, kept in sorted(rows.items()) if not isinstance(kept.raw, Failure)]
        values = evaluate(
            self._author.metrics,
            [predictions[number] for number in usable],
            [references[number] for number in usable],
        )
        by_row = {number: at for at, number in enumerate(usable)}
        scores = [
            self._score(kept, predictions, references, values, by_row.get(self._author.row(kept.sample.id)))
            for kept in self._kept
        ]
        return Evaluation(
            scores,
            self._metrics(scores, values, predictions, references, usable),
            values.lower_is_better,
            values.off_scale,
            tuple(dict.fromkeys(note for metric in self._author.metrics for note in _notes(metric))),
        )

    def _predictions(self, rows: Mapping[int, _Kept]) -> list[Any]:
        n = self._author.n_rows
        raws = [rows[number].raw if number in rows else None for number in range(n)]
        chosen = [None if isinstance(raw, Failure) else raw for raw in raws]
        if self._inner is None or self._author.chooses_itself:
            return list(self._author.predictions(chosen))
        return [_chosen_option(rows[number]) if number in rows else None for number in range(n)]

    def _score(
        self,
        kept: _Kept,
        predictions: Sequence[Any],
        references: Sequence[Any],
        values: Values,
        at: int | None,
    ) -> Score:
        number = self._author.row(kept.sample.id)
        names = list(values.per_row) or list(values.whole)[:1] or ["none"]
        deciding = names[0]
        target = _spelled(references[number])
        known: dict[str, Any] = {"metric": deciding, "target": target, "is_truncated": kept.is_truncated}
        if kept.inner is not None:
            known |= {
                "options": kept.inner.options,
                "margin": kept.inner.margin,
                "mass": kept.inner.mass,
                "rule": kept.inner.rule,
                "span": kept.inner.span,
                "answer": kept.inner.answer,
                "target": kept.inner.target if kept.inner.target is not None else target,
            }
        if isinstance(kept.raw, Failure):
            why = f"{kept.raw.kind}: {kept.raw.message}"
            return score_of(self.track, kept.sample, kept.answers, Verdict.FAILED, why=why, **known)
        if kept.inner is None or self._author.chooses_itself:
            known |= {"answer": _answer(predictions[number], kept.sample), "rule": AUTHOR_RULE}
        if at is not None and at in values.troubles:
            why = values.troubles[at]
            return score_of(self.track, kept.sample, kept.answers, Verdict.FAILED, why=why, **known)
        if at is None or not values.per_row:
            return score_of(self.track, kept.sample, kept.answers, Verdict.UNGRADED, **known)
        if (
            kept.inner is not None
            and kept.inner.verdict is Verdict.UNANSWERED
            and not self._author.chooses_itself
        ):
            return score_of(self.track, kept.sample, kept.answers, Verdict.UNANSWERED, **known)
        value, *_ = every = [values.per_row[name][at] for name in names]
        known["ratios"] = {
            name: ratio for name, rows in values.ratios.items() if (ratio := rows[at]) is not None
        }
        known["also"] = {
            name: one
            for name, one in zip(names[1:], every[1:], strict=True)
            if one is not None and name not in known["ratios"]
        }
        return score_of(self.track, kept.sample, kept.answers, Verdict.SCORED, value=value, **known)

    def _metrics(
        self,
        scores: Sequence[Score],
        values: Values,
        predictions: Sequence[Any],
        references: Sequence[Any],
        usable: Sequence[int],
    ) -> list[Metric]:
        """Return the metrics whose value is no mean over the rows."""
        made: list[Metric] = []
        kept = [number for at, number in enumerate(usable) if at not in values.troubles]
        groups: dict[str, list[Score]] = {}
        for score in scores:
            if score.group is not None:
                groups.setdefault(score.group, []).append(score)
        for name in values.whole:
            if name in values.ratios or values.is_mean(name) or math.isnan(values.whole[name]):
                continue
            value_of = partial(_whole_value, values.owners[name], name)

            def metric(
                group: str | None,
                some: Sequence[Score],
                interval: tuple[float, float] | None = None,
                name: str = name,
                value_of: ValueOf = value_of,
            ) -> Metric:
                members = {self._author.row(score.sample_id) for score in some}
                rows = [number for number in kept if number in members]
                lists = [predictions[number] for number in rows], [references[number] for number in rows]
                return _corpus_metric(self.track, name, group, some, len(rows), value_of, interval, *lists)

            made.append(metric(None, scores, values.intervals.get(name)))
            parts = [metric(group, some) for group, some in groups.items()]
            made += parts
            if len(parts) > 1:
                made.append(_macro(made[-len(parts) - 1], parts))
        return made


ValueOf: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], float | None]


def _corpus_metric(
    track: str,
    name: str,
    group: str | None,
    scores: Sequence[Score],
    n_scored: int,
    value_of: ValueOf,
    interval: tuple[float, float] | None,
    predictions: Sequence[Any],
    references: Sequence[Any],
) -> Metric:
    """Return a metric over a whole list, or the part of it that is a group."""
    low, high = interval or _resampled(value_of, predictions, references)
    return Metric(
        scores[0].task,
        track,
        name,
        group,
        value_of(predictions, references),
        low,
        high,
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
    name = f"{whole.metric}_macro"
    return msgspec.structs.replace(whole, metric=name, value=mean, low=None, high=None, is_headline=False)


def evaluate(metrics: Sequence[Any], predictions: Sequence[Any], references: Sequence[Any]) -> Values:
    """Call metrics over lists; a row on which one raises is found and left out."""
    per_row: dict[str, list[float | None]] = {}
    whole: dict[str, float] = {}
    ratios: dict[str, list[Ratio | None]] = {}
    intervals: dict[str, tuple[float, float]] = {}
    owners: dict[str, Any] = {}
    lower: set[str] = set()
    off_scale: set[str] = set()
    troubles: dict[int, str] = {}
    for metric in metrics if predictions else ():
        kept = [at for at in range(len(predictions)) if at not in troubles]
        try:
            found = _called(metric, predictions, references, kept)
        except Exception as error:
            fresh = _raising_rows(metric, predictions, references, kept)
            if not fresh or len(fresh) == len(kept):
                # No row's own fault: it would say the same of any.
                raise error if isinstance(error, AssayError) else _metric_problem(metric, error) from error
            troubles |= fresh
            kept = [at for at in kept if at not in fresh]
            try:
                found = _called(metric, predictions, references, kept)
            except Exception as again:
                raise _metric_problem(metric, again) from again
        troubles |= _unjudged(metric, kept)
        scale = _scale(metric)
        # Taken before the metric is called again, for rows by themselves.
        parts = dict(getattr(metric, "last_ratios", {}))
        known = getattr(metric, "last_intervals", {})
        intervals |= {name: (low / scale, high / scale) for name, (low, high) in known.items()}
        lists = _row_values(metric, predictions, references, kept, found)
        for name, value in found.items():
            whole[name] = value / scale
            owners[name] = metric
            if not getattr(metric, "higher_is_better", True):
                lower.add(name)
            if scale == 1.0:
                off_scale.add(name)
            if name in lists:
                placed: list[float | None] = [None] * len(predictions)
                for at, one in zip(kept, lists[name], strict=True):
                    placed[at] = one
                    if one is None and at not in troubles:
                        troubles[at] = f"the metric {type(metric).__name__} gives no number for {name}"
                per_row[name] = placed
            if len(parts.get(name, ())) == len(kept):
                shares = dict(zip(kept, parts[name], strict=True))
                ratios[name] = [
                    Ratio(*shares[at]) if at in shares else None for at in range(len(predictions))
                ]
    return Values(per_row, whole, ratios, intervals, owners, frozenset(lower), frozenset(off_scale), troubles)


def _notes(metric: Any) -> Sequence[str]:
    notes = getattr(metric, "notes", None)
    return notes() if callable(notes) else ()


def _unjudged(metric: Any, kept: Sequence[int]) -> dict[int, str]:
    """Return the rows on which a judge gave no verdict: that is no answer's fault, so it is not scored."""
    verdicts = getattr(metric, "last_verdicts", ())
    if len(verdicts) != len(kept):
        return {}
    return {
        at: f"no verdict from the judge: {one.why}"
        for at, one in zip(kept, verdicts, strict=True)
        if one.verdict is not Verdict.SCORED
    }


class _NoNumbers(Exception):
    """A metric returned something else than names and numbers."""


def _called(
    metric: Any, predictions: Sequence[Any], references: Sequence[Any], kept: Sequence[int]
) -> dict[str, float]:
    returned = metric([predictions[at] for at in kept], [references[at] for at in kept])
    if not isinstance(returned, Mapping):
        raise _NoNumbers(f"returned {type(returned).__name__}, expected a dict of names and numbers")
    try:
        return {str(name): float(value) for name, value in returned.items()}
    except (TypeError, ValueError):
        raise _NoNumbers(f"returned {returned!r:.80}, expected a number for each name") from None


def _row_values(
    metric: Any,
    predictions: Sequence[Any],
    references: Sequence[Any],
    kept: Sequence[int],
    found: Mapping[str, float],
) -> dict[str, list[float | None]]:
    """Return the rows' own values: those that the metric kept, else what it says of each row alone."""
    lists = dict(getattr(metric, "last_score_lists", None) or {})
    made: dict[str, list[float | None]] = {}
    for name in found:
        given = lists.get(name)
        if given is not None and len(given) == len(kept):
            made[name] = [_number(one) for one in given]
    missing = [name for name in found if name not in made]
    if missing:
        try:
            alone = [_called(metric, predictions, references, [at]) for at in kept]
        except Exception:  # noqa: BLE001 (it took all rows together: it has nothing to say of one alone)
            return made
        for name in missing:
            values = [_number(one.get(name)) for one in alone]
            if None not in values:
                made[name] = [one / _scale(metric) for one in values if one is not None]
    return made


def _scale(metric: Any) -> float:
    return float(getattr(metric, "scale", 1.0))


def _raising_rows(
    metric: Any, predictions: Sequence[Any], references: Sequence[Any], kept: Sequence[int]
) -> dict[int, str]:
    troubles = {}
    for at in kept:
        try:
            _called(metric, predictions, references, [at])
        except Exception as error:  # noqa: BLE001
            troubles[at] = _said(metric, error)
    return troubles


def _said(metric: Any, error: Exception) -> str:
    what = str(error) if isinstance(error, _NoNumbers) else f"raised {type(error).__name__}: {error}"
    return f"the metric {type(metric).__name__} {what}"


def _metric_problem(metric: Any, error: Exception) -> PlanError:
    return PlanError(
        Problem(
            "SCORE-003",
            _said(metric, error),
            "correct the metric or its references, and run again: answers of the model are kept",
            _place_in(metric, error),
        )
    )


def _place_in(metric: Any, error: Exception) -> Origin | None:
    """Return the line of the metric's own file that raised."""
    file = getattr(sys.modules.get(type(metric).__module__), "__file__", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return Origin(file, line=lines[-1] if lines else None) if file else None


def _whole_value(
    metric: Any, name: str, predictions: Sequence[Any], references: Sequence[Any]
) -> float | None:
    """Return a metric over some rows; None where it has no value, as a correlation over equal rows."""
    if not predictions:
        return None
    try:
        value = _number(_called(metric, predictions, references, range(len(predictions))).get(name))
    except Exception:  # noqa: BLE001 (these rows were taken before, among others)
        return None
    return None if value is None else value / _scale(metric)


def _resampled(
    value_of: ValueOf, predictions: Sequence[Any], references: Sequence[Any]
) -> tuple[float | None, float | None]:
    """Return a 95 % interval from rows drawn with replacement; nothing where that would take too long."""
    n = len(predictions)
    if n < 2 or n * _N_RESAMPLES > _MAX_RESAMPLED:
        return None, None
    draw = random.Random("resampled rows")
    found = []
    for _ in range(_N_RESAMPLES):
        rows = [draw.randrange(n) for _ in range(n)]
        value = value_of([predictions[row] for row in rows], [references[row] for row in rows])
        if value is None:
            return None, None
        found.append(value)
    found.sort()
    edge = max(0, round(_N_RESAMPLES * 0.025) - 1)
    return found[edge], found[-edge - 1]


def _chosen_option(kept: _Kept) -> int:
    """Return the index of the option that the inner scorer found; -1 for none."""
    answer = None if kept.inner is None else kept.inner.answer
    return kept.sample.labels.index(answer) if answer in kept.sample.labels else -1


def _answer(prediction: Any, sample: Sample) -> str | None:
    """Return a prediction as a person reads it: an option's label, or a text."""
    is_index = isinstance(prediction, int) and not isinstance(prediction, bool)
    if is_index and sample.labels:
        return sample.labels[prediction] if 0 <= prediction < len(sample.labels) else None
    return _spelled(prediction)


def _spelled(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return " | ".join(value)
    try:
        return msgspec.json.encode(value, enc_hook=str).decode()
    except TypeError:
        return str(value)


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)
