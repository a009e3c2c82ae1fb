"""Answers graded by a judge as right, wrong or not attempted. Created without a judge, bound later.

A callable of the dialect builds the judge's prompt; a Reading reads the replies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from assay.core.difference import Difference
from assay.core.ports import Judge
from assay.core.prompt import Prompt
from assay.core.score import JudgeReply, Verdict
from assay.scoring.extract.extraction import Rule, RuleMatch
from assay.scoring.judges.judgement import Judgement, Question, Unaskable, judge_cases
from assay.scoring.metrics.checks import check_lengths
from assay.scoring.metrics.gpteval import missing_judge_error
from assay.scoring.metrics.list_metric import MetricUnit
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator
from assay.scoring.originals.opencompass.evaluators.readings import (
    JudgedValue,
    VerdictReading,
    make_reading,
)
from assay.scoring.originals.opencompass.evaluators.verdicts import NOT_ATTEMPTED, RIGHT, WRONG

RenderPrompt = Callable[[EvaluatedRow, str], Prompt]
"""Builds the judge's prompt for a row and its prediction; may raise Unaskable."""
CleanReply = Callable[[str], str]
"""Selects the part of a judge's reply that is read, if a config defines it."""

OFF_SCALE = MetricUnit(1.0, is_share=False)
"""The unit of values that are not shares, such as counts."""
_WORTH = {RIGHT: 1.0, WRONG: 0.0, NOT_ATTEMPTED: 0.0}


class JudgeEvaluator(Evaluator):
    """Base class of evaluators that use a judge: all questions of a call are sent as one batch.

    A row without a verdict has no value: NaN in its lists, and `last_verdicts` has the reason.
    """

    needs_judge: ClassVar[bool] = True
    is_costly: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.last_verdicts: list[Judgement] = []
        """The judgement of each row in the latest call: the judge's replies, and the value or the reason."""
        self._judge: Judge | None = None

    def bind(self, judge: Judge) -> None:
        """Take the judge."""
        self._judge = judge

    def notes(self) -> Sequence[str]:
        """Return notes: the rules that read the judge's replies, and the number of rows without a verdict."""
        replies = [reply for one in self.last_verdicts for reply in one.replies]
        by_rule = Counter(reply.rule for reply in replies if reply.verdict is Verdict.SCORED)
        read = ", ".join(f"{rule} {n:,}" for rule, n in by_rule.most_common())
        notes = [f"the judge's verdicts were read by these rules: {read}"] if read else []
        without = sum(one.verdict is not Verdict.SCORED for one in self.last_verdicts)
        if without:
            notes.append(f"the judge gave no verdict on {without:,} of {len(self.last_verdicts):,} rows")
        return notes

    @property
    def last_replies(self) -> list[tuple[JudgeReply, ...]]:
        """The judge's replies about each row in the latest call."""
        return [one.replies for one in self.last_verdicts]

    def _ask(self, cases: Sequence[Sequence[Question] | Unaskable]) -> list[Judgement]:
        """Ask all questions and store the judgements."""
        if self._judge is None:
            raise missing_judge_error()
        self.last_verdicts = judge_cases(self._judge, cases)
        return self.last_verdicts


class JudgedEvaluator(JudgeEvaluator):
    """A judge decides whether each answer is right; values have the original's names."""

    scale: ClassVar[float] = 100.0

    def __init__(
        self, render: RenderPrompt, reading: VerdictReading | None = None, *, clean: CleanReply | None = None
    ) -> None:
        """Take the prompt builder and the reading of replies; the default is the generic reading."""
        super().__init__()
        self._render = render
        self._clean = clean
        self.reading = reading or make_reading("generic_llmjudge_postprocess")
        self.units = {value.name: OFF_SCALE for value in self.reading.values if not value.is_share}
        self.correct_by = self.reading.values[0].name

    @property
    def differences(self) -> tuple[Difference[object], ...]:
        """Return how the original reads and counts, compared with this evaluator."""
        return self.reading.differences

    def with_reading(self, reading: VerdictReading) -> JudgedEvaluator:
        """Return the same evaluator with another reading, not bound to a judge."""
        return JudgedEvaluator(self._render, reading, clean=self._clean)

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Ask the judge about every prediction, and return the values over the rows with a verdict."""
        check_lengths(self, predictions, references)
        rules = _clean_rules(self.reading.rules, self._clean)
        cases = [
            self._questions(prediction, row, rules)
            for prediction, row in zip(predictions, references, strict=True)
        ]
        verdicts = [_get_verdict(one) for one in self._ask(cases)]
        self.last_score_lists = {
            value.name: [math.nan if one is None else value.part.get(one, 0.0) for one in verdicts]
            for value in self.reading.values
            if value.of is not None and value.is_mean
        }
        self.last_ratios.clear()
        self.last_counts.clear()
        for value in self.reading.values:
            if value.of is None:
                self.last_counts[value.name] = [value.part.get(one or "", 0.0) for one in verdicts]
            elif not value.is_mean:
                self.last_ratios[value.name] = [
                    (value.part.get(one or "", 0.0), value.of.get(one or "", 0.0)) for one in verdicts
                ]
        known = [one for one in verdicts if one is not None]
        return {value.name: _compute_value(value, known) for value in self.reading.values}

    def _questions(
        self, prediction: Any, row: EvaluatedRow, rules: tuple[Rule[str], ...]
    ) -> list[Question] | Unaskable:
        if not isinstance(prediction, str):
            return Unaskable(f"the prediction is {prediction!r:.80}; expected a text")
        try:
            prompt = self._render(row, prediction)
        except Unaskable as why:
            return why
        raw = self.reading.is_raw
        return [Question("answer", prompt, rules, _WORTH.__getitem__, raw, "the reply contradicts itself")]


def _get_verdict(judgement: Judgement) -> str | None:
    return judgement.replies[0].label if judgement.verdict is Verdict.SCORED else None


def _compute_value(value: JudgedValue, verdicts: Sequence[str]) -> float:
    """Return a value over the rows with a verdict; NaN if the divisor is 0."""
    part = math.fsum(value.part.get(one, 0.0) for one in verdicts)
    if value.of is None:
        return part
    of = math.fsum(value.of.get(one, 0.0) for one in verdicts)
    return (100.0 if value.is_percent else 1.0) * part / of if of else math.nan


def _clean_rules(rules: tuple[Rule[str], ...], clean: CleanReply | None) -> tuple[Rule[str], ...]:
    """Return rules that see the reply after `clean`; their matches then have no position in the reply."""
    if clean is None:
        return rules

    def over(rule: Rule[str], clean: CleanReply) -> Rule[str]:
        def find(text: str) -> RuleMatch | None:
            found = rule.find(clean(text))
            return None if found is None else RuleMatch(found.answer, 0, len(text))

        return Rule(rule.name, find)

    return tuple(over(rule, clean) for rule in rules)
