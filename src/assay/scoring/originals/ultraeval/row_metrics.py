"""Answers scored row by row, with the metrics and the post-processor of a task config.

Most metrics score each answer as it arrives. Others need all rows at once (row_corpus.py): programs for the
sandbox, one batch of questions for a judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest, CorpusScorer, Evaluation, Scorer
from assay.scoring.metrics.corpus_counts import CorpusCounts
from assay.scoring.metrics.translation import bleu_counts, chrf_counts
from assay.scoring.originals.ultraeval.named_metrics import PASS_K, NamedMetric, read_metrics
from assay.scoring.originals.ultraeval.row_answers import RowAnswerReader, RowAnswers
from assay.scoring.originals.ultraeval.row_corpus import BATCH_METRICS, RowCorpus, list_pass_names
from assay.scoring.originals.ultraeval.row_values import ROW_METRICS, ZERO_ON_ERROR, Row
from assay.scoring.scorers.corpus_values import RunningCorpus
from assay.scoring.scorers.response_outcomes import Unscorable, build_failed_score, build_score

_EXECUTION = "function_execution"
_TRIAL = Row("one two", ("one two",), Sample("trial", {}, Origin("(trial)")))


def make_row_metrics(
    track: Method = Method.GEN,
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
    postprocess: str | Mapping[str, Any] = "",
    faithful: bool = False,
    extract: str = "",
) -> Scorer | CorpusScorer:
    """Return the scorer of a track; one that scores answers as they arrive, if its metrics allow it.

    A post-processor is a name, or an object with the name as `type` and the post-processor's arguments.
    `extract` names an extractor to use instead.
    """
    known: dict[str, Callable[..., Any]] = {**ROW_METRICS, **BATCH_METRICS}
    named = read_metrics(metrics or {}, known)
    for one in named:
        _check(one)
    rows = RowMetrics(track, named, RowAnswerReader(postprocess, faithful, extract), faithful)
    needs_all = any(one.type in BATCH_METRICS for one in named)
    return RowCorpus(rows, named, faithful) if needs_all else rows


def _check(one: NamedMetric) -> None:
    if one.aggregation == PASS_K and one.type != _EXECUTION:
        raise ValueError(f"the metric {one.display!r}: {PASS_K} counts programs, but {one.type} runs none")
    if one.options and one.type in ROW_METRICS:
        # An invalid value raises here, before any request to a model.
        ROW_METRICS[one.type](_TRIAL, **one.options)


class RowMetrics:
    """Scores answers as they arrive. The first metric decides, the others are reported in addition.

    With several outputs for one sample, the mean of their values counts, with 0 for an output without an
    answer. With `faithful`, only the first output counts, and one without an answer is an empty text.

    BLEU and chrF report the mean of the rows' values under the config's name, as the original does, and the
    corpus values of the first outputs as `corpus_bleu` and `corpus_chrf`.
    """

    def __init__(
        self,
        track: Method,
        named: Sequence[NamedMetric],
        reader: RowAnswerReader,
        faithful: bool,
    ) -> None:
        self.track = track
        self._named = named
        self._reader = reader
        self._faithful = faithful
        self._corpora = _corpora(named)
        self._warned: set[tuple[str, str, str]] = set()

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score, and count it for the values over all samples."""
        reading = self.read(sample, answers)
        score = reading if isinstance(reading, Score) else self.score_row(reading, {})
        self.count(reading, score)
        return score

    def count(self, reading: RowAnswers | Score, score: Score) -> None:
        """Add a sample to the values over all samples."""
        self._warned.update((score.task, self.track, name) for name in (score.metric, *score.also))
        row = None
        if isinstance(reading, RowAnswers) and reading.has_target:
            # A row without an answer is a missing translation: it counts as an empty one.
            row = reading.texts[0] or "", reading.sample.targets
        for corpus in self._corpora:
            corpus.add(score, row)

    def finish(self) -> Evaluation:
        """Return the values over all samples; a task is judged by every metric in its config."""
        metrics = [one for corpus in self._corpora for one in corpus.metrics(self.track)]
        return Evaluation((), metrics, judged_by=frozenset(self._warned))

    def read(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> RowAnswers | Score:
        """Return the answers in the outputs, or the score of a sample without outputs."""
        try:
            return self._reader.read(sample, answers)
        except Unscorable as error:
            name = self._names(1)[0]
            return build_failed_score(self.track, sample, answers, str(error), _target(sample), metric=name)

    def verdict_before(self, reading: RowAnswers) -> Verdict | None:
        """Return the verdict of a sample that needs no metric; None for any other."""
        first = self._named[0]
        is_graded = first.type == _EXECUTION or reading.has_target or self._faithful
        if not is_graded or (not reading.sample.targets and first.type != _EXECUTION):
            return Verdict.UNGRADED
        return None if reading.has_answer else Verdict.UNANSWERED

    def score_row(self, reading: RowAnswers, late: Mapping[str, float | Unscorable]) -> Score:
        """Return the score of a sample; `late` contains the values of metrics that waited for all samples."""
        names = self._names(len(reading.texts))
        known: dict[str, Any] = {
            "metric": names[0],
            "answer": reading.texts[0],
            "target": _target(reading.sample),
            "rule": reading.rule,
            "span": reading.span,
            "is_truncated": reading.is_truncated,
        }
        verdict = self.verdict_before(reading)
        if verdict is Verdict.UNANSWERED:
            known["also"] = dict.fromkeys(names[1:], 0.0)
        if verdict is not None:
            return build_score(self.track, reading.sample, reading.task, verdict, **known)
        try:
            values = self._values(reading, late)
        except Unscorable as error:
            known["why"] = str(error)
            return build_score(self.track, reading.sample, reading.task, Verdict.FAILED, **known)
        known["also"] = {name: values[name] for name in names[1:]}
        return build_score(
            self.track, reading.sample, reading.task, Verdict.SCORED, value=values[names[0]], **known
        )

    def _names(self, n_outputs: int) -> list[str]:
        """Return the names of all values, the deciding one first; pass@k replaces its metric's name."""
        names: list[str] = []
        for one in self._named:
            names += list_pass_names(n_outputs) if one.aggregation == PASS_K else [one.display]
        return names

    def _values(self, reading: RowAnswers, late: Mapping[str, float | Unscorable]) -> dict[str, float]:
        values: dict[str, float] = {}
        for one in self._named:
            if one.type in ROW_METRICS:
                values[one.display] = self._value(one, reading)
        for name, value in late.items():
            if isinstance(value, Unscorable):
                raise value
            values[name] = value
        return values

    def _value(self, one: NamedMetric, reading: RowAnswers) -> float:
        texts = reading.texts[:1] if self._faithful else reading.texts
        return math.fsum(0.0 if text is None else self._of(one, text, reading) for text in texts) / len(texts)

    def _of(self, one: NamedMetric, text: str, reading: RowAnswers) -> float:
        row = Row(text, reading.sample.targets, reading.sample, self._reader.postprocess, self._faithful)
        try:
            return ROW_METRICS[one.type](row, **one.options)
        except Exception as error:
            if self._faithful and one.type in ZERO_ON_ERROR:
                return 0.0
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise Unscorable(f"the metric {one.type} cannot judge the row: {reason}") from error


def _target(sample: Sample) -> str | None:
    return " | ".join(sample.targets) if sample.targets else None


_CORPUS_COUNTS: Mapping[str, Callable[..., CorpusCounts]] = {
    "bleu": lambda *, tokenizer="13a": bleu_counts(tokenize=tokenizer),
    "chrf": chrf_counts,
}
"""The row metrics with a corpus value of their own."""


def _corpora(named: Sequence[NamedMetric]) -> list[RunningCorpus]:
    types = [one.type for one in named]
    return [
        RunningCorpus(
            f"corpus_{one.type}" if types.count(one.type) == 1 else f"corpus_{one.type}_{one.display}",
            partial(_CORPUS_COUNTS[one.type], **one.options),
            scale=100.0,
        )
        for one in named
        if one.type in _CORPUS_COUNTS
    ]
