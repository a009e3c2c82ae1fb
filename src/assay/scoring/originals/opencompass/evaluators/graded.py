"""Answers graded by a judge on a scale, one turn or several, as MT-Bench grades them from 1 to 10."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from assay.core.prompt import Prompt
from assay.core.score import Verdict
from assay.scoring.differences import Difference
from assay.scoring.extract.extraction import Rule, RuleMatch
from assay.scoring.judges.conversation import Conversation
from assay.scoring.judges.judgement import Judgement, Question, Unaskable
from assay.scoring.judges.questions import JudgingProcedure, grading_questions
from assay.scoring.judges.reading import GRADE_RULES
from assay.scoring.metrics.checks import check_lengths
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow
from assay.scoring.originals.opencompass.evaluators.judged import JudgeEvaluator
from assay.scoring.originals.opencompass.evaluators.readings import make_by_name

BuildQuestions = Callable[[EvaluatedRow, Any], Sequence[Question]]
"""Returns what to ask about a row's prediction, one question for each turn; may raise Unaskable."""
RenderTurn = Callable[[EvaluatedRow, Sequence[str], int], Prompt]
"""Makes what a judge is shown of a row, the answers of all turns, and the turn that is graded, from 1."""

RATING = Difference(
    "the first `Rating: [[7]]` is the grade, whatever its number; a row without one is left out unseen",
    "the last grade that the reply states, from 1 to 10; a row without one is failed, left out and counted",
)


class GradeReading(NamedTuple):
    """How grades are found in a judge's replies."""

    rules: tuple[Rule[str], ...]
    is_raw: bool = False
    differences: tuple[Difference, ...] = (RATING,)


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
"""Makers of gradings by the originals' names."""


def make_grade_reading(name: str, *, is_faithful: bool = False) -> GradeReading:
    """Return how grades are read under a name; an unknown name is an error."""
    return make_by_name("reading of grades", GRADE_READINGS, name, None, is_faithful=is_faithful)


def by_template(render: RenderTurn, grades: GradeReading | None = None) -> BuildQuestions:
    """Return the grading that asks about each turn with a prompt of the dataset's own."""
    read = grades or GradeReading(GRADE_RULES)

    def questions(row: EvaluatedRow, prediction: Any) -> list[Question]:
        answers = _answers(prediction)
        return [
            Question(f"turn {turn}", render(row, answers, turn), read.rules, float, read.is_raw)
            for turn in range(1, len(answers) + 1)
        ]

    return questions


def by_procedure(
    user_turns: Callable[[EvaluatedRow], Sequence[str]],
    references: Callable[[EvaluatedRow], Sequence[str | None]] | None = None,
    procedure: JudgingProcedure | None = None,
) -> BuildQuestions:
    """Return the grading by Assay's own prompts, or those of a procedure; each turn is graded by default."""
    asked = procedure or JudgingProcedure(turns="each")

    def questions(row: EvaluatedRow, prediction: Any) -> list[Question]:
        users, answers = tuple(user_turns(row)), _answers(prediction)
        if len(users) != len(answers):
            raise Unaskable(f"the row has {len(users)} questions, the prediction {len(answers)} answers")
        known = tuple(references(row)) if references is not None else ()
        return grading_questions(Conversation(users, answers, known), asked)

    return questions


class GradedEvaluator(JudgeEvaluator):
    """A judge grades each turn of a row; `score` is the mean over rows of the mean over their turns.

    With several turns, `turn 1`, `turn 2`, ... are the means over the rows that have that turn.
    """

    is_share: ClassVar[bool] = False
    correct_by: str | None = None

    def __init__(self, grading: BuildQuestions) -> None:
        super().__init__()
        self._grading = grading

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Ask the judge about every turn, and return the means over the rows with all their grades."""
        check_lengths(self, predictions, references)
        cases = [self._questions(row, one) for one, row in zip(predictions, references, strict=True)]
        judged = self._ask(cases)
        self.last_score_lists = {"score": [math.nan if one.value is None else one.value for one in judged]}
        abouts = dict.fromkeys(reply.about for one in judged for reply in one.replies)
        self.last_ratios.clear()
        if len(abouts) > 1:
            for about in abouts:
                self.last_ratios[about] = [_part(one, about) for one in judged]
        scores = [one.value for one in judged if one.value is not None]
        values = {"score": math.fsum(scores) / len(scores) if scores else math.nan}
        for about, parts in self.last_ratios.items():
            grade, n = (math.fsum(column) for column in zip(*parts, strict=True))
            values[about] = grade / n if n else math.nan
        return values

    def _questions(self, row: EvaluatedRow, prediction: Any) -> Sequence[Question] | Unaskable:
        try:
            return self._grading(row, prediction)
        except Unaskable as why:
            return why


def _part(judgement: Judgement, about: str) -> tuple[float, float]:
    """Return a row's grade for a turn and 1, or nothing twice where it has none."""
    if judgement.verdict is Verdict.SCORED:
        for reply in judgement.replies:
            if reply.about == about and reply.value is not None:
                return reply.value, 1.0
    return 0.0, 0.0


def _answers(prediction: Any) -> tuple[str, ...]:
    texts = (prediction,) if isinstance(prediction, str) else prediction
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(text, str) for text in texts):
        raise Unaskable(f"the prediction is {prediction!r:.80}; expected a text, or one for each turn")
    return tuple(texts)
