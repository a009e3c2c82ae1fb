"""Cascade: rows that a rule accepts are right; a judge decides about the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from assay.core.difference import Difference
from assay.core.errors import AuthorError, Problem
from assay.core.ports import Judge
from assay.core.score import JudgeReply, Verdict
from assay.scoring.judges.binding import bind_judge
from assay.scoring.judges.judgement import Judgement
from assay.scoring.metrics.checks import check_lengths
from assay.scoring.metrics.list_metric import MetricUnit
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator
from assay.scoring.originals.opencompass.evaluators.judged import OFF_SCALE, JudgedEvaluator
from assay.scoring.originals.opencompass.evaluators.readings import STRICT, make_reading

_ACCEPTED = Judgement(Verdict.SCORED, 1.0)

JUDGE_FAILED = Difference[object](
    "an answer that the rule rejects and on which the judge gives no verdict is wrong",
    "it is failed, left out and counted",
)


class Cascade(Evaluator):
    """A rule's result for each row, and a judge's for those that the rule does not accept.

    With `parallel`, the judge sees all rows, and a row is right if either accepts it. The rule decides rows
    that it accepts, the judge every other: `decided_by_judge` is 1 there. If the judge must decide and gives
    no verdict, the row has none.
    """

    scale: ClassVar[float] = 100.0
    needs_judge: ClassVar[bool] = True
    is_costly: ClassVar[bool] = True
    correct_by: str | None = "accuracy"
    units: Mapping[str, MetricUnit] = {"llm_evaluated": OFF_SCALE, "llm_correct": OFF_SCALE}
    differences: ClassVar[tuple[Difference[object], ...]] = (STRICT, JUDGE_FAILED)

    def __init__(
        self,
        rule: Evaluator,
        judged: JudgedEvaluator,
        *,
        parallel: bool = True,
        rule_reads: Callable[[Any], Any] | None = None,
        is_faithful: bool = False,
    ) -> None:
        """Take both evaluators; `rule_reads` converts a prediction to what the rule compares.

        Faithful: the judge's replies are read as the original's cascade reads them, whatever `judged` does.
        """
        super().__init__()
        self._rule = rule
        self._judged = judged
        if is_faithful:
            self._judged = judged.with_reading(make_reading("CascadeEvaluator", is_faithful=True))
        self._parallel = parallel
        self._rule_reads = rule_reads
        self._notes: tuple[str, ...] = ()
        self.last_verdicts: list[Judgement] = []
        """The judgement of each row in the latest call; without replies if the judge was not asked."""

    def bind(self, judge: Judge) -> None:
        """Take the judge; a rule that uses a judge gets it too."""
        bind_judge((self._rule, self._judged), judge)

    @property
    def last_replies(self) -> list[tuple[JudgeReply, ...]]:
        """The judge's replies about each row in the latest call; empty if it was not asked."""
        return [one.replies for one in self.last_verdicts]

    def notes(self) -> Sequence[str]:
        """Return a note with the number of rows that rule and judge decided."""
        return self._notes

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `accuracy`, and the separate results of rule and judge."""
        check_lengths(self, predictions, references)
        accepted = self._find_accepted_rows(predictions, references)
        judged_rows = [at for at, is_right in enumerate(accepted) if self._parallel or not is_right]
        replies: dict[int, Judgement] = {}
        judge_notes: Sequence[str] = ()
        if judged_rows:
            self._judged([predictions[at] for at in judged_rows], [references[at] for at in judged_rows])
            replies = dict(zip(judged_rows, self._judged.last_verdicts, strict=True))
            judge_notes = self._judged.notes()
        self.last_verdicts = [
            _build_accepted(replies.get(at)) if is_right else replies[at]
            for at, is_right in enumerate(accepted)
        ]
        by_rule = sum(accepted)
        self._notes = (
            *self._rule.notes(),
            f"the rule decided {by_rule:,} rows, the judge {len(accepted) - by_rule:,}",
            *judge_notes,
        )
        return self._values(accepted, [replies.get(at) for at in range(len(accepted))])

    def _values(self, accepted: Sequence[bool], replies: Sequence[Judgement | None]) -> dict[str, float]:
        """Store the row results and return the values; rows without a verdict are not counted."""
        counting = [one.value for one in self.last_verdicts]
        self.last_score_lists = {
            "accuracy": [math.nan if value is None else value for value in counting],
            "rule_accuracy": _mask_unjudged(counting, [float(one) for one in accepted]),
            "decided_by_judge": _mask_unjudged(counting, [float(not one) for one in accepted]),
        }
        judge = [(0.0 if one is None else one.value or 0.0, float(_is_verdict(one))) for one in replies]
        self.last_ratios.clear()
        self.last_ratios["llm_accuracy"] = judge
        self.last_counts.clear()
        self.last_counts["llm_evaluated"] = [evaluated for _, evaluated in judge]
        self.last_counts["llm_correct"] = [right for right, _ in judge]
        evaluated, right = (math.fsum(parts) for parts in (list(self.last_counts.values())))
        return {
            **{name: 100.0 * _mean(values) for name, values in self.last_score_lists.items()},
            "llm_accuracy": 100.0 * right / evaluated if evaluated else math.nan,
            "llm_evaluated": evaluated,
            "llm_correct": right,
        }

    def _find_accepted_rows(
        self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]
    ) -> list[bool]:
        """Return which rows the rule accepts."""
        read = list(predictions if self._rule_reads is None else map(self._rule_reads, predictions))
        whole = self._rule(read, references)
        lists = {name: rows for name, rows in self._rule.last_score_lists.items() if len(rows) == len(read)}
        named = getattr(self._rule, "correct_by", None)
        name = named if named in lists else next(iter(lists), None)
        if name is not None:
            return [self._is_right(name, value) for value in lists[name]]
        # It has no row results: called for each row alone, as the original does.
        if not whole:
            raise self._no_correctness("no value")
        name = next(iter(whole))
        alone = []
        for one, row in zip(read, references, strict=True):
            value = self._rule([one], [row])[name]
            # For a single row, a share is 0, 1 or 100, whatever the author's unit.
            alone.append(self._is_right(name, 1.0 if value == 100.0 else value))
        return alone

    def _is_right(self, name: str, value: float) -> bool:
        """Whether a row's value means that its answer is right; NaN does not."""
        if value not in (0.0, 1.0) and not math.isnan(value):
            raise self._no_correctness(f"{name} = {value:g} for a row")
        return value == 1.0

    def _no_correctness(self, seen: str) -> AuthorError:
        rule = type(self._rule).__name__
        return AuthorError(
            Problem(
                "METRIC-004",
                f"a cascade needs a rule that decides whether each row is right; {rule} returns {seen}",
                "use a rule evaluator that compares with the target, such as AccEvaluator",
            )
        )


def _build_accepted(reply: Judgement | None) -> Judgement:
    """Return the judgement of a row that the rule accepts, with the judge's replies if it was asked."""
    return _ACCEPTED if reply is None else Judgement(Verdict.SCORED, 1.0, reply.replies)


def _is_verdict(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.verdict is Verdict.SCORED


def _mask_unjudged(counting: Sequence[float | None], values: Sequence[float]) -> list[float]:
    return [math.nan if known is None else value for known, value in zip(counting, values, strict=True)]


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan
