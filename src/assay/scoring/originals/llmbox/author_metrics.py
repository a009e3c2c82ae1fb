"""Authors' metrics over whole lists of predictions and references.

A metric is called once with all rows that have a prediction (see list_values.py). Its row values become the
rows' scores; a row on which it raises fails alone. If a value is the mean of the row values, the aggregator
computes it with its interval. Any other value, such as corpus BLEU, is reported as the metric returned it,
with an interval from resampled rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from assay.core.method import Method
from assay.core.ports import Judge
from assay.core.response import Completion, Failure, Finish
from assay.core.sample import Sample
from assay.core.score import NO_METRIC, Metric, Score, Verdict
from assay.core.task import AnsweredRequest, Evaluation, Scorer
from assay.scoring.judges.binding import bind_judge, needs_judge
from assay.scoring.scorers.corpus_values import build_count_metrics, build_empty_metric, corpus_metrics
from assay.scoring.scorers.list_values import ListValues, evaluate_metrics
from assay.scoring.scorers.response_outcomes import build_score, get_task

AUTHOR_RULE = "post_processing"
"""Prefix of every rule by which an author's code, or their post-processor, finds answers."""


class AuthorLists(Protocol):
    """What a dialect knows about an author's evaluation."""

    chooses_itself: bool
    """Whether the author's code, not the inner scorer, decides between options."""
    rule: str
    """How answers are found in a reply: `post_processing`, and by what."""

    @property
    def metrics(self) -> Sequence[Any]:
        """Return the author's metrics."""

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""

    def row(self, sample_id: str) -> int:
        """Return the number of a sample's row."""

    def raw(self, answers: Sequence[AnsweredRequest]) -> tuple[Any, ...] | Failure:
        """Return one row's answers in the shape that the author's code expects."""

    def predictions(self, raws: Sequence[tuple[Any, ...] | None]) -> Sequence[Any]:
        """Return the author's predictions for all rows; failed rows are None."""

    def read_choice(self, number: int, option: int) -> Any:
        """Return a row's prediction if the inner scorer chose an option; -1 for none."""

    def references(self) -> Sequence[Any]:
        """Return the references, as metrics take them."""

    def target(self, reference: Any) -> Any:
        """Return the target in a reference in readable form."""

    def is_unanswered(self, number: int) -> bool:
        """Whether no answer was found in the reply to a row; called after `predictions`."""


class _PendingSample(NamedTuple):
    """The data of one sample, kept until all samples have arrived."""

    sample: Sample
    task: str
    raw: tuple[Any, ...] | Failure
    inner: Score | None
    is_truncated: bool


class AuthorMetrics:
    """Scores one track by the author's metrics."""

    def __init__(self, track: Method, author: AuthorLists, inner: Scorer | None = None) -> None:
        self.track = track
        self._author = author
        self._inner = inner
        self._pending: list[_PendingSample] = []
        self._wanted: tuple[str, ...] = ()

    def choose(self, names: Sequence[str]) -> None:
        """Report only these metrics; the first decides."""
        self._wanted = tuple(names)

    @property
    def needs_judge(self) -> bool:
        """Whether a metric uses a judge."""
        return any(map(needs_judge, self._author.metrics))

    def bind(self, judge: Judge) -> None:
        """Pass the judge to the metrics that use one."""
        bind_judge(self._author.metrics, judge)

    def add(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> None:
        """Add one sample."""
        inner = None if self._inner is None else self._inner.score(sample, answers)
        cut = any(
            output.finish is Finish.LENGTH
            for answered in answers
            if isinstance(answered.response.outcome, Completion)
            for output in answered.response.outcome.outputs
        )
        self._pending.append(_PendingSample(sample, get_task(answers), self._author.raw(answers), inner, cut))

    def finish(self) -> Evaluation:
        """Call the metrics, and return every sample's score."""
        if not self._pending:
            return Evaluation(())
        rows = {self._author.row(pending.sample.id): pending for pending in self._pending}
        predictions = self._predictions(rows)
        references = list(self._author.references())
        usable = [number for number, pending in sorted(rows.items()) if not isinstance(pending.raw, Failure)]
        values = evaluate_metrics(
            self._author.metrics,
            [predictions[number] for number in usable],
            [references[number] for number in usable],
            self._wanted,
        )
        # Copied before metrics are called again, over groups.
        notes = tuple(
            dict.fromkeys(
                (
                    *self._note_no_answers(predictions, usable),
                    *(note for metric in self._author.metrics for note in _notes(metric)),
                )
            )
        )
        by_row = {number: at for at, number in enumerate(usable)}
        scores = [
            self._score(
                pending, predictions, references, values, by_row.get(self._author.row(pending.sample.id))
            )
            for pending in self._pending
        ]
        return Evaluation(
            scores,
            self._metrics(scores, values, predictions, references, usable),
            values.lower_is_better,
            values.off_scale,
            notes,
        )

    def _note_no_answers(self, predictions: Sequence[Any], usable: Sequence[int]) -> list[str]:
        """Return a note if the author's code returned None for every answer, as without `return`."""
        if self._inner is not None and not self._author.chooses_itself:
            return []
        if not usable or any(
            predictions[at] is not None and not self._author.is_unanswered(at) for at in usable
        ):
            return []
        name = self._author.rule.removeprefix(AUTHOR_RULE).strip(": ") or AUTHOR_RULE
        note = f"{name} returned None for all {len(usable):,} answers: no row has an answer"
        return [f"{note}; check that every branch of it returns a value"]

    def _predictions(self, rows: Mapping[int, _PendingSample]) -> list[Any]:
        n = self._author.n_rows
        raws = [rows[number].raw if number in rows else None for number in range(n)]
        chosen = [None if isinstance(raw, Failure) else raw for raw in raws]
        if self._inner is None or self._author.chooses_itself:
            return list(self._author.predictions(chosen))
        return [
            self._author.read_choice(number, _chosen_option(rows[number])) if number in rows else None
            for number in range(n)
        ]

    def _score(
        self,
        pending: _PendingSample,
        predictions: Sequence[Any],
        references: Sequence[Any],
        values: ListValues,
        at: int | None,
    ) -> Score:
        number = self._author.row(pending.sample.id)
        deciding = values.deciding or NO_METRIC
        names = [deciding, *(name for name in values.per_row if name != deciding)]
        target = _format_value(self._author.target(references[number]))
        known: dict[str, Any] = {"metric": deciding, "target": target, "is_truncated": pending.is_truncated}
        if pending.inner is not None:
            known |= {
                "options": pending.inner.options,
                "margin": pending.inner.margin,
                "mass": pending.inner.mass,
                "rule": pending.inner.rule,
                "span": pending.inner.span,
                "answer": pending.inner.answer,
                "target": pending.inner.target if pending.inner.target is not None else target,
            }
        if isinstance(pending.raw, Failure):
            why = f"{pending.raw.kind}: {pending.raw.message}"
            return build_score(self.track, pending.sample, pending.task, Verdict.FAILED, why=why, **known)
        if pending.inner is None or self._author.chooses_itself:
            known |= {"answer": _answer(predictions[number], pending.sample), "rule": self._author.rule}
        if at is not None:
            known["judged"] = values.replies.get(at, ())
            known["details"] = values.details.get(at, ())
        if at is not None and at in values.troubles:
            why = values.troubles[at]
            return build_score(self.track, pending.sample, pending.task, Verdict.FAILED, why=why, **known)
        if at is None or deciding not in values.per_row:
            known["also"] = {} if at is None else _row_values(values, names[1:], at)
            return build_score(self.track, pending.sample, pending.task, Verdict.UNGRADED, **known)
        if (
            pending.inner is not None
            and pending.inner.verdict is Verdict.UNANSWERED
            and not self._author.chooses_itself
        ):
            return build_score(self.track, pending.sample, pending.task, Verdict.UNANSWERED, **known)
        value = values.per_row[deciding][at]
        if not value and self._author.is_unanswered(number):
            return build_score(self.track, pending.sample, pending.task, Verdict.UNANSWERED, **known)
        known["ratios"] = {
            name: ratio for name, rows in values.ratios.items() if (ratio := rows[at]) is not None
        }
        known["also"] = _row_values(values, names[1:], at)
        return build_score(self.track, pending.sample, pending.task, Verdict.SCORED, value=value, **known)

    def _metrics(
        self,
        scores: Sequence[Score],
        values: ListValues,
        predictions: Sequence[Any],
        references: Sequence[Any],
        usable: Sequence[int],
    ) -> list[Metric]:
        """Return the metrics whose value is not a mean over the rows."""
        metrics = [build_empty_metric(self.track, name, scores, why) for name, why in values.lost.items()]
        scored_rows = {number for at, number in enumerate(usable) if at not in values.troubles}
        numbered = sorted((self._author.row(score.sample_id), score.sample_id) for score in scores)
        rows = {
            sample_id: (predictions[number], references[number])
            for number, sample_id in numbered
            if number in scored_rows
        }
        for name in values.whole:
            if name in values.counts:
                parts = dict(zip(usable, values.counts[name], strict=True))
                counted = {
                    sample_id: part
                    for number, sample_id in numbered
                    if number in scored_rows and (part := parts[number]) is not None
                }
                metrics += build_count_metrics(self.track, name, scores, counted)
                continue
            if name in values.ratios or name in values.lost or values.is_mean(name):
                continue
            metrics += corpus_metrics(self.track, name, scores, rows, values)
        return metrics


def _row_values(values: ListValues, names: Sequence[str], at: int) -> dict[str, float]:
    """Return one row's values of the metrics that are means over rows."""
    return {
        name: one
        for name in names
        if (one := values.per_row[name][at]) is not None and name not in values.ratios
    }


def _chosen_option(pending: _PendingSample) -> int:
    """Return the index of the option that the inner scorer found; -1 for none."""
    answer = None if pending.inner is None else pending.inner.answer
    return pending.sample.labels.index(answer) if answer in pending.sample.labels else -1


def _answer(prediction: Any, sample: Sample) -> str | None:
    """Return a prediction in readable form: an option's label, or a text."""
    is_index = isinstance(prediction, int) and not isinstance(prediction, bool)
    if is_index and sample.labels:
        return sample.labels[prediction] if 0 <= prediction < len(sample.labels) else None
    if isinstance(prediction, list) and sample.labels and len(prediction) == len(sample.labels):
        return sample.labels[max(range(len(prediction)), key=prediction.__getitem__)]
    return _format_value(prediction)


def _format_value(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return " | ".join(value)
    try:
        return msgspec.json.encode(value, enc_hook=str).decode()
    except TypeError:
        return str(value)


def _notes(metric: Any) -> Sequence[str]:
    notes = getattr(metric, "notes", None)
    return notes() if callable(notes) else ()
