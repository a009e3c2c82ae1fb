"""Answers that a judge grades on a scale, as MT-Bench grades them from 1 to 10."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from assay.core.difference import Difference
from assay.scoring.extract.extraction import Rule, RuleMatch
from assay.scoring.judges.judgement import Question, Unaskable
from assay.scoring.judges.reading import GRADE_RULES
from assay.scoring.metrics.checks import check_lengths
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow
from assay.scoring.originals.opencompass.evaluators.judged import JudgeEvaluator
from assay.scoring.originals.opencompass.evaluators.readings import make_by_name

BuildQuestions = Callable[[EvaluatedRow, Any], Sequence[Question]]
"""Returns the questions about a row's prediction; may raise Unaskable."""
RATING = Difference[object](
    "the first `Rating: [[7]]` is the grade, whatever its number; a row without one is silently left out",
    "the last stated grade from 1 to 10 counts; a row without one fails, is left out and counted",
)


class GradeReading(NamedTuple):
    """How grades are found in a judge's replies."""

    rules: tuple[Rule[str], ...]
    is_raw: bool = False
    differences: tuple[Difference[object], ...] = (RATING,)


def _mt_bench(*, is_faithful: bool) -> GradeReading:
    if not is_faithful:
        return GradeReading(GRADE_RULES)
    pattern = re.compile(r"Rating:\s*\[\[(?P<grade>\d+(?:\.\d+)?)\]\]")

    def find(text: str) -> RuleMatch | None:
        match = pattern.search(text)
        return None if match is None else RuleMatch(match["grade"], match.start(), match.end())

    return GradeReading((Rule("first_rating", find),), is_raw=True)


GRADE_READINGS: Mapping[str, Callable[..., GradeReading]] = {
    "mtbench": _mt_bench,
    "mtbench_postprocess": _mt_bench,
}
"""Factories of grade readings by the originals' names."""


def make_grade_reading(name: str, *, is_faithful: bool = False) -> GradeReading:
    """Return the grade reading with this name; an unknown name is an error."""
    return make_by_name("reading of grades", GRADE_READINGS, name, None, is_faithful=is_faithful)


class GradedEvaluator(JudgeEvaluator):
    """A judge grades each row; `score` is the mean over the rows with a grade."""

    is_share: ClassVar[bool] = False
    correct_by: str | None = None

    def __init__(self, grading: BuildQuestions) -> None:
        super().__init__()
        self._grading = grading

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Ask the judge about every row, and return the mean of the grades."""
        check_lengths(self, predictions, references)
        cases = [self._questions(row, one) for one, row in zip(predictions, references, strict=True)]
        judged = self._ask(cases)
        self.last_score_lists = {"score": [math.nan if one.value is None else one.value for one in judged]}
        scores = [one.value for one in judged if one.value is not None]
        return {"score": math.fsum(scores) / len(scores) if scores else math.nan}

    def _questions(self, row: EvaluatedRow, prediction: Any) -> Sequence[Question] | Unaskable:
        try:
            return self._grading(row, prediction)
        except Unaskable as why:
            return why
