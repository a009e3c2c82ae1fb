"""GPTEval: answers graded by a judge. Created without a model when the author's file loads, bound later.

References are the dataset's rows, because the judge must see the question. This module knows the keys of
those rows; the package `judges` asks the judge and reads its replies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, get_args

from assay.core.errors import PlanError, Problem, listing
from assay.core.ports import Judge
from assay.core.score import JudgeReply
from assay.scoring.judges.judgement import Judgement, Question, Unaskable, judge_cases
from assay.scoring.judges.prompts import Conversation, JudgeType
from assay.scoring.judges.questions import JudgingProcedure, comparing_questions, grading_questions
from assay.scoring.metrics.checks import check_lengths
from assay.scoring.metrics.list_metric import ListMetric

NAME = "GPT-Eval"
HIDDEN_ANSWER = "(this answer is not shown)"
"""Replaces earlier answers of a conversation if only the last one was kept."""


class GPTEval(ListMetric):
    """A judge's grade for each answer, 1 to 10, or 1, 0.5 or 0 against a rival's answer.

    The value of a call is the mean over the samples with a grade; NaN if there are none. A sample without a
    grade is NaN, and `last_verdicts` has the reason: UNANSWERED if the judge's reply contains no verdict,
    FAILED if the judge did not reply or could not be asked.

    Keys of a row: the questions are `question_1`, `question_2`, ..., or the list `turns`, or `instruction`;
    reference answers are `ref_answer_1`, `ref_answer_2`, ...; the rival's answer is `output`.
    """

    needs_judge: ClassVar[bool] = True

    def __init__(self, multi_turn: bool = False, type: JudgeType = "single") -> None:
        """Create the metric.

        With `multi_turn`, a prediction is the tuple of a conversation's answers, otherwise one text. `single`
        grades it, `pairwise` compares it with the row's `output`.
        """
        if type not in get_args(JudgeType):
            raise ValueError(f"GPTEval: type is {type!r}; expected {listing(get_args(JudgeType))}")
        self.multi_turn = multi_turn
        self.type: JudgeType = type
        self.last_verdicts: list[Judgement] = []
        """The judgement of each sample in the latest call: the judge's texts, and the value or the reason."""
        self._judge: Judge | None = None
        self._procedure: JudgingProcedure | None = None
        self._is_last_answer = False

    def bind(self, judge: Judge, procedure: JudgingProcedure | None = None) -> None:
        """Take the judge, and how to ask it; without a procedure, use Assay's own prompts and defaults."""
        self._judge = judge
        self._procedure = procedure or JudgingProcedure()

    @property
    def last_replies(self) -> list[tuple[JudgeReply, ...]]:
        """The judge's replies about each sample in the latest call."""
        return [one.replies for one in self.last_verdicts]

    def setup_metric(
        self,
        model_args: Any = None,
        dataset_args: Any = None,
        evaluation_args: Any = None,
        dataset: Any = None,
    ) -> None:
        """Record whether the dataset has conversations: a single text then answers the last question."""
        self._is_last_answer = bool(getattr(dataset, "multi_turn", False))

    def __call__(
        self, predictions: Sequence[Any], references: Sequence[Mapping[str, Any]]
    ) -> dict[str, float]:
        """Ask the judge about every prediction and return the mean of its grades."""
        check_lengths(self, predictions, references)
        if self._judge is None or self._procedure is None:
            raise missing_judge_error()
        cases = [
            self._questions(prediction, row, self._procedure)
            for prediction, row in zip(predictions, references, strict=True)
        ]
        self.last_verdicts = judge_cases(self._judge, cases)
        values = [math.nan if one.value is None else one.value for one in self.last_verdicts]
        self.last_score_lists = {NAME: values}
        graded = [one.value for one in self.last_verdicts if one.value is not None]
        return {NAME: sum(graded) / len(graded) if graded else math.nan}

    def why_unusable(self, reference: Any) -> str | None:
        """Return why no answer can be judged against a reference; None if one can."""
        if not isinstance(reference, Mapping):
            return f"it is {type(reference).__name__}, expected the row as a dict"
        try:
            _row_questions(reference)
            if self.type == "pairwise":
                _texts(reference.get("output"), "the row's 'output'")
        except Unaskable as why:
            return str(why)
        return None

    def _questions(
        self, prediction: Any, row: Mapping[str, Any], procedure: JudgingProcedure
    ) -> list[Question] | Unaskable:
        """Return the questions about a prediction, or why nothing can be asked."""
        try:
            conversation = self._conversation(prediction, row)
            if self.type == "single":
                return grading_questions(conversation, procedure)
            rival = _texts(row.get("output"), "the row's 'output'")
            if len(rival) != len(conversation.answers):
                n_answers = len(conversation.answers)
                raise Unaskable(f"the row's 'output' has {len(rival)} answers, the conversation {n_answers}")
            return comparing_questions(conversation, rival, procedure)
        except Unaskable as why:
            return why

    def _conversation(self, prediction: Any, row: Mapping[str, Any]) -> Conversation:
        questions = _row_questions(row)
        answers = _texts(prediction, "the prediction")
        if not self.multi_turn:
            if len(answers) != 1:
                raise Unaskable(
                    f"the prediction has {len(answers)} answers and GPTEval(multi_turn=False) judges one: "
                    "write multi_turn=True, or return one of them from post_processing"
                )
            if self._is_last_answer:
                answers = (*[HIDDEN_ANSWER] * (len(questions) - 1), *answers)
            else:
                questions = questions[:1]
        if len(questions) != len(answers):
            raise Unaskable(f"the row has {len(questions)} questions, the prediction {len(answers)} answers")
        references = tuple(row.get(f"ref_answer_{turn}") or None for turn in range(1, len(questions) + 1))
        return Conversation(questions, answers, references)


def missing_judge_error() -> PlanError:
    """Return the error for a missing judge; planning can raise it before anything runs."""
    return PlanError(
        Problem("JUDGE-001", "a metric needs a judge, but no judge is configured", "add --judge MODEL")
    )


def _row_questions(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the user's turns."""
    if "question_1" in row:
        keys = itertools.takewhile(row.__contains__, (f"question_{turn}" for turn in itertools.count(1)))
        return _texts([row[key] for key in keys], "the row's 'question_1', 'question_2', ...")
    for key in ("turns", "instruction"):
        if key in row:
            return _texts(row[key], f"the row's {key!r}")
    raise Unaskable(
        f"the row has no question: its keys are {listing(row)}; expected question_1, turns or instruction"
    )


def _texts(value: Any, name: str) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(text, str) for text in texts):
        raise Unaskable(f"{name} is {value!r:.80}; expected a text, or several")
    return tuple(texts)
