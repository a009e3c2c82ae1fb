"""Row metrics that need all rows at once: programs to run, questions to a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from assay.core.method import Method
from assay.core.ports import Judge
from assay.core.sample import Sample
from assay.core.score import JudgeReply, Score, Verdict
from assay.core.task import AnsweredRequest, Evaluation
from assay.scoring.judges.agreement import agreement_question
from assay.scoring.judges.binding import last_replies
from assay.scoring.judges.judgement import Unaskable, judge_cases
from assay.scoring.metrics.estimators import pass_at_k
from assay.scoring.metrics.gpteval import missing_judge_error
from assay.scoring.originals.ultraeval.named_metrics import PASS_K, NamedMetric
from assay.scoring.originals.ultraeval.row_answers import RowAnswers
from assay.scoring.originals.ultraeval.row_programs import checking_program, disable_functions
from assay.scoring.sandbox import Protections, Sandbox
from assay.scoring.scorers.response_outcomes import Unscorable

_PASS_AT = (1, 2, 10, 25, 50, 100)
"""The k of pass@k; a k with too few samples is omitted."""


def list_pass_names(n_outputs: int) -> list[str]:
    """Return the names of pass@k for this number of outputs."""
    return [f"pass@{k}" for k in _PASS_AT if k <= n_outputs]


class BatchMetric(Protocol):
    """A metric that judges all rows together."""

    def values(self, readings: Sequence[RowAnswers]) -> list[dict[str, float] | Unscorable]:
        """Return each row's values by name, or why it has none."""

    @property
    def last_passed(self) -> Sequence[tuple[bool, ...]]:
        """Which outputs of each row passed in the latest call; empty if nothing is run."""

    @property
    def last_replies(self) -> Sequence[tuple[JudgeReply, ...]]:
        """The judge's replies about each row in the latest call; empty if no judge is used."""

    def notes(self) -> Sequence[str]:
        """Return notes for the user."""


class FunctionExecution:
    """The share of outputs that pass the row's tests, or pass@k; programs run in the sandbox."""

    def __init__(self, named: NamedMetric, faithful: bool) -> None:
        self._named = named
        self._faithful = faithful
        self.last_replies: Sequence[tuple[JudgeReply, ...]] = ()
        self.last_passed: Sequence[tuple[bool, ...]] = ()
        self._protections: Protections | None = None

    def values(self, readings: Sequence[RowAnswers]) -> list[dict[str, float] | Unscorable]:
        """Run every output of every row."""
        written = [self._programs(reading) for reading in readings]
        programs = [program for row in written if not isinstance(row, Unscorable) for program in row]
        with Sandbox() as sandbox:
            self._protections = sandbox.protections()
            # Code under `if __name__ == "__main__":` does not run, as in the original.
            outcomes = sandbox.run_many(programs, is_main=False)
            self.last_passed = [
                ()
                if isinstance(row, Unscorable)
                else tuple(text is not None and next(outcomes).is_ok for text in reading.texts)
                for reading, row in zip(readings, written, strict=True)
            ]
        return [
            row if isinstance(row, Unscorable) else self._compute_shares(len(passed), sum(passed))
            for row, passed in zip(written, self.last_passed, strict=True)
        ]

    def notes(self) -> Sequence[str]:
        """Return a note about the sandbox protections."""
        return () if self._protections is None else (f"programs ran in a {self._protections}",)

    def _programs(self, reading: RowAnswers) -> list[str] | Unscorable:
        """Return the programs of a row; an output without an answer has none and does not pass."""
        try:
            programs = [
                checking_program(reading.sample.fields, text, is_faithful=self._faithful)
                for text in reading.texts
                if text is not None
            ]
        except (ValueError, TypeError) as error:
            return Unscorable(str(error))
        return [disable_functions(one) for one in programs] if self._faithful else programs

    def _compute_shares(self, n_outputs: int, n_passed: int) -> dict[str, float]:
        if self._named.aggregation != PASS_K:
            return {self._named.display: n_passed / n_outputs}
        return {f"pass@{k}": pass_at_k(n_outputs, n_passed, k) for k in _PASS_AT if k <= n_outputs}


class JudgedAgreement:
    """The share of outputs that agree with the target, according to a judge."""

    def __init__(self, named: NamedMetric, faithful: bool, *, prompt: str = "") -> None:
        """Create the metric; `prompt` replaces Assay's own words to the judge; see `agreement_question`."""
        self._named = named
        self._faithful = faithful
        self._prompt = prompt
        self.last_passed: Sequence[tuple[bool, ...]] = ()
        self.last_replies: Sequence[tuple[JudgeReply, ...]] = ()
        self._judge: Judge | None = None

    def bind(self, judge: Judge) -> None:
        """Take the judge."""
        self._judge = judge

    def values(self, readings: Sequence[RowAnswers]) -> list[dict[str, float] | Unscorable]:
        """Ask about every output of every row; a row without a verdict has no value."""
        if self._judge is None:
            raise missing_judge_error()
        cases = [
            [
                agreement_question(
                    text,
                    reading.sample.targets,
                    is_faithful=self._faithful,
                    prompt=self._prompt,
                    fields=reading.sample.fields,
                )
                for text in self._select_texts(reading)
                if text is not None
            ]
            or Unaskable("there is no output to judge")
            for reading in readings
        ]
        judged = judge_cases(self._judge, cases)
        self.last_replies = [one.replies for one in judged]
        found: list[dict[str, float] | Unscorable] = []
        for reading, case, one in zip(readings, cases, judged, strict=True):
            if one.value is None or isinstance(case, Unaskable):
                found.append(Unscorable(f"no verdict from the judge: {one.why}"))
            else:
                # The judgement is a mean over the outputs that were shown; the others do not agree.
                share = one.value * len(case) / len(self._select_texts(reading))
                found.append({self._named.display: share})
        return found

    def notes(self) -> Sequence[str]:
        """Return nothing: the run configures its judge itself."""
        return ()

    def _select_texts(self, reading: RowAnswers) -> Sequence[str | None]:
        return reading.texts[:1] if self._faithful else reading.texts


BATCH_METRICS: Mapping[str, Callable[..., BatchMetric]] = {
    "function_execution": FunctionExecution,
    "gpt4_eval": JudgedAgreement,
}
"""The metrics that judge all rows together."""


class RowScorer(Protocol):
    """The scorer of single rows (row_metrics.py)."""

    track: Method

    def read(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> RowAnswers | Score:
        """Return the answers in a sample's outputs, or the score of a sample without outputs."""

    def verdict_before(self, reading: RowAnswers) -> Verdict | None:
        """Return the verdict of a sample that needs no metric."""

    def score_row(self, reading: RowAnswers, late: Mapping[str, float | Unscorable]) -> Score:
        """Return a sample's score."""

    def count(self, reading: RowAnswers | Score, score: Score) -> None:
        """Add a sample to the values over all samples."""

    def finish(self) -> Evaluation:
        """Return the values over all samples that were counted."""


class RowCorpus:
    """Scores a track after all of its samples arrived, because a metric judges them together."""

    def __init__(self, rows: RowScorer, named: Sequence[NamedMetric], faithful: bool) -> None:
        self.track = rows.track
        self._rows = rows
        self._late = [
            BATCH_METRICS[one.type](one, faithful, **one.options)
            for one in named
            if one.type in BATCH_METRICS
        ]
        self._pending_rows: list[RowAnswers | Score] = []

    @property
    def needs_judge(self) -> bool:
        """Whether a metric uses a judge."""
        return any(isinstance(one, JudgedAgreement) for one in self._late)

    def bind(self, judge: Judge) -> None:
        """Pass the judge to the metrics that use one."""
        for one in self._late:
            if isinstance(one, JudgedAgreement):
                one.bind(judge)

    def add(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> None:
        """Add one sample."""
        self._pending_rows.append(self._rows.read(sample, answers))

    def finish(self) -> Evaluation:
        """Judge the waiting samples, and return every sample's score."""
        readings = [one for one in self._pending_rows if isinstance(one, RowAnswers)]
        judged = [one for one in readings if self._rows.verdict_before(one) is None]
        late: dict[str, dict[str, float | Unscorable]] = {one.sample.id: {} for one in judged}
        replies: dict[str, tuple[JudgeReply, ...]] = {one.sample.id: () for one in judged}
        passed: dict[str, tuple[bool, ...]] = {}
        for metric in self._late if judged else ():
            for reading, found in zip(judged, metric.values(judged), strict=True):
                # A missing value has its reason under any name.
                late[reading.sample.id] |= {"": found} if isinstance(found, Unscorable) else found
            if metric.last_passed:
                passed |= {one.sample.id: ran for one, ran in zip(judged, metric.last_passed, strict=True)}
            for reading, row_replies in zip(judged, last_replies(metric, len(judged)), strict=True):
                replies[reading.sample.id] += row_replies
        scores = [
            one
            if isinstance(one, Score)
            else msgspec.structs.replace(
                self._rows.score_row(one, late.get(one.sample.id, {})),
                judged=replies.get(one.sample.id, ()),
                passed=passed.get(one.sample.id, ()),
            )
            for one in self._pending_rows
        ]
        for one, score in zip(self._pending_rows, scores, strict=True):
            self._rows.count(one, score)
        notes = tuple(note for one in self._late for note in one.notes())
        return self._rows.finish()._replace(scores=scores, notes=notes)
