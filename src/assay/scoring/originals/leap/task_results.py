"""Documents scored one by one by the author's code, which then aggregates their values.

The result of `process_results` becomes a document's score. If an `aggregation` function is a mean or a ratio
of sums, the aggregator computes the value with its interval. Any other value, such as corpus BLEU, is
reported as the author's function returned it, with an interval from resampled documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Protocol

from assay.core.errors import PlanError, Problem
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.response import Completion, Failure, Finish
from assay.core.sample import Sample
from assay.core.score import NO_METRIC, Metric, Score, Verdict
from assay.core.task import AnsweredRequest, Evaluation, Scorer
from assay.scoring.originals.leap.aggregations import AGGREGATIONS, get_traits
from assay.scoring.scorers.corpus_values import build_empty_metric, corpus_metrics
from assay.scoring.scorers.list_values import ListValues, evaluate_metrics
from assay.scoring.scorers.response_outcomes import build_score, format_gold_labels, get_task

TASK_RULE = "process_results"
"""The rule of an answer that the author's own code judges unchanged."""


class DocResults(Protocol):
    """What a dialect knows about an author's scoring."""

    @property
    def file(self) -> str:
        """Return the file of the author's code."""

    @property
    def headline(self) -> str | None:
        """Return the deciding metric; None means the first."""

    @property
    def digits(self) -> int | None:
        """Return the number of decimals that values over all documents are rounded to."""

    def values(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Mapping[str, Any] | Failure:
        """Return the author's result for one document, or the failure."""

    def answer(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> str | None:
        """Return the model's answer in readable form."""

    def aggregation(self) -> Mapping[str, Callable[[list[Any]], Any]]:
        """Return the function of each metric."""

    def higher_is_better(self) -> Mapping[str, bool]:
        """Return whether higher is better, for each metric."""


class _PendingDocument(NamedTuple):
    """The data of one sample, kept until all samples have arrived."""

    sample: Sample
    task: str
    values: Mapping[str, Any] | Failure
    inner: Score | None
    answer: str | None
    is_truncated: bool


class TaskResults:
    """Scores one track by the author's results for each document and for all of them."""

    def __init__(self, track: Method, author: DocResults, inner: Scorer | None = None) -> None:
        self.track = track
        self._author = author
        self._inner = inner
        self._pending: list[_PendingDocument] = []
        self._wanted: tuple[str, ...] = ()

    def choose(self, names: Sequence[str]) -> None:
        """Report only these metrics; the first decides."""
        self._wanted = tuple(names)

    def add(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> None:
        """Add one sample."""
        inner = self._inner.score(sample, answers) if self._inner is not None and sample.choices else None
        cut = any(
            output.finish is Finish.LENGTH
            for answered in answers
            if isinstance(answered.response.outcome, Completion)
            for output in answered.response.outcome.outputs
        )
        values = self._author.values(sample, answers)
        answer = self._author.answer(sample, answers)
        self._pending.append(_PendingDocument(sample, get_task(answers), values, inner, answer, cut))

    def finish(self) -> Evaluation:
        """Call the author's functions, and return every sample's score."""
        judged = [document.values for document in self._pending if not isinstance(document.values, Failure)]
        aggregates = self._build_aggregates(judged)
        values = evaluate_metrics(aggregates, judged, judged, self._wanted)
        deciding = self._find_deciding(values)
        scores = [
            self._score(document, values, deciding, row)
            for document, row in zip(self._pending, self._rows, strict=True)
        ]
        return Evaluation(
            scores,
            self._metrics(scores, values, judged),
            values.lower_is_better,
            values.off_scale,
            digits=self._author.digits,
        )

    @property
    def _rows(self) -> list[int | None]:
        """Map each sample to its position among those that have values."""
        places = count()
        return [None if isinstance(document.values, Failure) else next(places) for document in self._pending]

    def _build_aggregates(self, judged: Sequence[Mapping[str, Any]]) -> list[_Aggregate]:
        """Return the metrics: the deciding one first, the others in the author's order."""
        names = dict.fromkeys(str(name) for values in judged for name in values)
        functions = self._author.aggregation()
        lacking = [name for name in names if name not in functions]
        if lacking:
            raise PlanError(
                Problem(
                    "SCORE-003",
                    f"process_results returned {lacking[0]!r}, for which aggregation() has no function",
                    f"add {lacking[0]!r} to aggregation(), and run again: the model's answers are kept",
                    Origin(self._author.file),
                )
            )
        better = self._author.higher_is_better()
        ordered = sorted(names, key=lambda name: name != _owner(self._headline))
        return [
            _Aggregate(name, functions[name], self._author.file, higher_is_better=better.get(name, True))
            for name in ordered
        ]

    @property
    def _headline(self) -> str | None:
        return self._wanted[0] if self._wanted else self._author.headline

    def _find_deciding(self, values: ListValues) -> str:
        headline = self._headline
        return headline if headline in (*values.whole, *values.lost) else values.deciding or NO_METRIC

    def _score(self, document: _PendingDocument, values: ListValues, deciding: str, row: int | None) -> Score:
        inner = document.inner
        target = format_gold_labels(document.sample) or " | ".join(document.sample.targets) or None
        known: dict[str, Any] = {"metric": deciding, "target": target, "is_truncated": document.is_truncated}
        if inner is None:
            known |= {"answer": document.answer, "rule": TASK_RULE}
        else:
            known |= {
                "answer": inner.answer,
                "rule": inner.rule,
                "options": inner.options,
                "margin": inner.margin,
                "mass": inner.mass,
            }

        def build(verdict: Verdict, **more: Any) -> Score:
            return build_score(self.track, document.sample, document.task, verdict, **known, **more)

        if isinstance(document.values, Failure):
            return build(Verdict.FAILED, why=f"{document.values.kind}: {document.values.message}")
        assert row is not None
        if row in values.troubles:
            return build(Verdict.FAILED, why=values.troubles[row])
        if inner is not None and inner.verdict is Verdict.UNANSWERED:
            return build(Verdict.UNANSWERED)
        ratios = {name: ratio for name, rows in values.ratios.items() if (ratio := rows[row]) is not None}
        single = {name: one for name, rows in values.per_row.items() if (one := rows[row]) is not None}
        value = single.get(deciding)
        also = {name: one for name, one in single.items() if name != deciding and name not in ratios}
        if value is None:
            return build(Verdict.UNGRADED, also=also)
        return build(Verdict.SCORED, value=value, also=also, ratios=ratios)

    def _metrics(
        self, scores: Sequence[Score], values: ListValues, judged: Sequence[Mapping[str, Any]]
    ) -> list[Metric]:
        """Return the metrics whose value is not a mean over the documents."""
        rows = {
            score.sample_id: (judged[row], None)
            for score, row in zip(scores, self._rows, strict=True)
            if row is not None and row not in values.troubles
        }
        metrics = [build_empty_metric(self.track, name, scores, why) for name, why in values.lost.items()]
        return metrics + [
            metric
            for name in values.whole
            if name not in values.ratios and name not in values.lost and not values.is_mean(name)
            for metric in corpus_metrics(self.track, name, scores, rows, values)
        ]


def _owner(headline: str | None) -> str | None:
    """Return the metric that a headline belongs to: a function may return several named numbers."""
    return None if headline is None else headline.partition(".")[0]


class _Aggregate:
    """One function of an author's `aggregation`, as a metric over the documents' values."""

    def __init__(
        self, name: str, function: Callable[[list[Any]], Any], file: str, *, higher_is_better: bool
    ) -> None:
        self.name = name
        self.label = f"aggregation()[{name!r}]"
        self.file = file
        self.higher_is_better = higher_is_better
        self._function = function
        self._traits = get_traits(function)
        self.is_costly = self._traits.is_costly
        is_authors = all(function is not known for known in AGGREGATIONS.values())
        self.scores_single_rows = not is_authors and not self.is_costly
        self.is_share = self._traits.is_share
        self.last_score_lists: dict[str, list[float]] = {}
        """The documents' values in the latest call, if they are numbers."""
        self.last_ratios: dict[str, list[tuple[float, float, bool]]] = {}
        """The documents' parts of a ratio in the latest call, if the function is a ratio."""

    def __call__(self, rows: Sequence[Mapping[str, Any]], _: Sequence[Any]) -> dict[str, Any]:
        """Return the function's number, or several, over the documents that have the metric."""
        values = [row[self.name] for row in rows if self.name in row]
        if not values:
            return {}
        returned = self._function(values)
        numbers = [_number(value) for value in values]
        known = [number for number in numbers if number is not None]
        self.last_score_lists = {self.name: known} if len(known) == len(rows) else {}
        if self._traits.ratio is not None:
            # A document's own value is its own ratio: the function applied to it alone.
            self.last_ratios = {self.name: [self._traits.ratio(value) for value in values]}
            self.last_score_lists = {}
        if isinstance(returned, Mapping):
            return {f"{self.name}.{key}": value for key, value in returned.items()}
        if not self._traits.is_share:
            within = [*known, float(returned)] if len(known) == len(values) else ()
            self.is_share = bool(within) and all(0.0 <= number <= 1.0 for number in within)
        return {self.name: returned}


def _number(value: Any) -> float | None:
    """Return a number of any library as a Python number; None for pairs and anything else."""
    plain = value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
    return float(plain) if isinstance(plain, bool | int | float) else None
