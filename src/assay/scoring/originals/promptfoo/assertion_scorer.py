"""Replies scored by the assertions of their rows: `contains`, `regex`, `llm-rubric` and others.

`all_assertions` is 1 if a reply passes: all assertions hold, or their weighted share reaches the row's
threshold. `assertion_score` is that share, and each metric that rows name has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from assay.core.assertion import (
    ASSERTIONS,
    RUBRIC,
    Assertion,
    base_type,
    format_assertion,
    is_negated,
    iter_rubrics,
)
from assay.core.method import Method
from assay.core.ports import Judge
from assay.core.response import Finish, Output
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest, CorpusScorer, Evaluation, Scorer
from assay.scoring.extract.reply import find_searchable_part
from assay.scoring.judges.agreement import rubric_question
from assay.scoring.judges.judgement import Judgement, judge_cases
from assay.scoring.metrics.gpteval import missing_judge_error
from assay.scoring.originals.promptfoo.assertions import (
    AssertionResult,
    decide,
    is_assertion_met,
    score_named_metrics,
)
from assay.scoring.scorers.response_outcomes import (
    Unscorable,
    build_failed_score,
    build_score,
    collect_outputs,
    get_task,
)

ALL_ASSERTIONS = "all_assertions"
ASSERTION_SCORE = "assertion_score"
PASSED = "assertions"
"""The rule of a reply that passes."""


def make_assertion_scorer(track: Method = Method.GEN, judged: bool = False) -> Scorer | CorpusScorer:
    """Return the scorer of a track; with `judged`, one that asks a judge after all replies arrived."""
    return JudgedAssertions(track) if judged else AssertionScorer(track)


class _Case(NamedTuple):
    """One sample and the replies to it."""

    sample: Sample
    answers: Sequence[AnsweredRequest]
    replies: tuple[str, ...]
    """Without reasoning and surrounding white space; each of several outputs counts."""
    is_truncated: bool

    @property
    def assertions(self) -> Sequence[Assertion]:
        stored: dict[str, Any] = self.sample.fields.get(ASSERTIONS) or {}
        found: Sequence[Assertion] = stored.get("assert", ())
        return found

    @property
    def threshold(self) -> float | None:
        value: float | None = (self.sample.fields.get(ASSERTIONS) or {}).get("threshold")
        return value

    def judge_questions(self) -> list[tuple[str, Assertion]]:
        """Return the questions for the judge: each reply with each criterion."""
        return [
            (reply, rubric) for reply in self.replies if reply for rubric in iter_rubrics(self.assertions)
        ]

    @property
    def target(self) -> str | None:
        return " | ".join(self.sample.targets) or None


class AssertionScorer:
    """Scores replies as they arrive; no assertion needs a judge."""

    gives = (ALL_ASSERTIONS, ASSERTION_SCORE)

    def __init__(self, track: Method) -> None:
        self.track = track

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score."""
        case = _case(self.track, sample, answers)
        return case if isinstance(case, Score) else _score_case(self.track, case, [])


class JudgedAssertions:
    """Scores replies after all arrived, with one batch of questions to the judge."""

    gives = (ALL_ASSERTIONS, ASSERTION_SCORE)
    needs_judge = True

    def __init__(self, track: Method) -> None:
        self.track = track
        self._judge: Judge | None = None
        self._cases: list[_Case | Score] = []

    def bind(self, judge: Judge) -> None:
        """Take the judge."""
        self._judge = judge

    def add(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> None:
        """Add one sample."""
        self._cases.append(_case(self.track, sample, answers))

    def finish(self) -> Evaluation:
        """Ask the judge, and return every sample's score."""
        if self._judge is None:
            raise missing_judge_error()
        cases = [one for one in self._cases if isinstance(one, _Case)]
        questions = [
            [rubric_question(reply, str(rubric["value"]))]
            for case in cases
            for reply, rubric in case.judge_questions()
        ]
        judgements = iter(judge_cases(self._judge, questions))
        scores: list[Score] = []
        for case in self._cases:
            if isinstance(case, Score):
                scores.append(case)
                continue
            scores.append(_score_case(self.track, case, [next(judgements) for _ in case.judge_questions()]))
        return Evaluation(scores)


def _case(track: Method, sample: Sample, answers: Sequence[AnsweredRequest]) -> _Case | Score:
    try:
        outputs = collect_outputs(answers)
    except Unscorable as error:
        target = " | ".join(sample.targets) or None
        return build_failed_score(track, sample, answers, str(error), target, metric=ALL_ASSERTIONS)
    replies = tuple(map(_reply, outputs))
    return _Case(sample, answers, replies, Finish.LENGTH in [output.finish for output in outputs])


def _reply(output: Output) -> str:
    region = find_searchable_part(output.text)
    return "" if region is None else output.text[region[0] : region[1]].strip()


def _score_case(track: Method, case: _Case, judgements: Sequence[Judgement]) -> Score:
    """Return a sample's score; the mean over several replies."""
    known: dict[str, Any] = {
        "metric": ALL_ASSERTIONS,
        "answer": case.replies[0] or None,
        "target": case.target,
        "is_truncated": case.is_truncated,
        "judged": tuple(reply for one in judgements for reply in one.replies),
    }
    task = get_task(case.answers)
    if not case.assertions:
        return build_score(track, case.sample, task, Verdict.UNGRADED, **known)
    if not any(case.replies):
        known["also"] = {ASSERTION_SCORE: 0.0}
        return build_score(track, case.sample, task, Verdict.UNANSWERED, **known)
    if trouble := next((one for one in judgements if one.value is None), None):
        known["why"] = f"no verdict from the judge: {trouble.why}"
        return build_score(track, case.sample, task, Verdict.FAILED, **known)
    verdicts = iter(judgements)
    results = [_result(case, reply, verdicts) for reply in case.replies]
    names = dict.fromkeys(name for _, named in results for name in named)
    known["also"] = {
        **{name: _mean([named.get(name, 0.0) for _, named in results]) for name in names},
        ASSERTION_SCORE: _mean([result.score for result, _ in results]),
    }
    broken = next((result.failed for result, _ in results if not result.is_passed), ())
    return build_score(
        track,
        case.sample,
        task,
        Verdict.SCORED,
        value=_mean([float(result.is_passed) for result, _ in results]),
        rule=" and ".join(f"failed: {format_assertion(one)}" for one in broken) or PASSED,
        **known,
    )


def _result(
    case: _Case, reply: str, verdicts: Iterator[Judgement]
) -> tuple[AssertionResult, dict[str, float]]:
    """Return the result of the assertions about one reply, and of those with a metric of their own."""
    if not reply:
        return AssertionResult(False, 0.0, ()), {}
    opinions = {id(one): next(verdicts).value == 1.0 for one in iter_rubrics(case.assertions)}

    def holds(assertion: Assertion) -> bool:
        if base_type(assertion) == RUBRIC:
            return opinions[id(assertion)] != is_negated(assertion)
        return is_assertion_met(assertion, reply)

    return decide(case.assertions, case.threshold, holds), score_named_metrics(case.assertions, holds)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
