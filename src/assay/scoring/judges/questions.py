"""Questions to a judge about one sample: a grade for its answers, or a comparison with a rival's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from assay.core.prompt import Prompt
from assay.scoring.judges.judgement import Question, Unaskable
from assay.scoring.judges.prompts import (
    Conversation,
    JudgeType,
    PromptBook,
    build_comparison_values,
    build_grading_values,
    own_prompts,
)
from assay.scoring.judges.reading import CHOICE_RULES, GRADE_RULES

GradedTurns: TypeAlias = Literal["last", "each"]
_TIE = 0.5


class JudgingProcedure(msgspec.Struct, frozen=True, kw_only=True):
    """How a judge is asked, as configured for the run."""

    prompts: PromptBook = msgspec.field(default_factory=own_prompts)
    turns: GradedTurns = "last"
    """`last`: one question about a conversation, graded by its last answer. `each`: one question about each
    turn, with the conversation up to it; the sample's grade is the mean."""
    both_orders: bool = True
    """Compare two answers twice, each in first position once, so that position bias cancels out."""


def grading_questions(conversation: Conversation, procedure: JudgingProcedure) -> list[Question]:
    """Return the questions that grade a conversation from 1 to 10."""
    n_turns = len(conversation.questions)
    turns = range(1, n_turns + 1) if procedure.turns == "each" else [n_turns]
    questions = []
    for turn in turns:
        visible = conversation.until(turn)
        prompt = _render(procedure.prompts, "single", visible, build_grading_values(visible))
        questions.append(Question(f"turn {turn}", prompt, GRADE_RULES, float))
    return questions


def comparing_questions(
    conversation: Conversation, rival: Sequence[str], procedure: JudgingProcedure
) -> list[Question]:
    """Return the questions that compare a conversation with a rival's answers to the same turns.

    The value is 1 if the conversation's answers are better, 0 if the rival's are, 0.5 for a tie.
    """
    own = conversation.answers
    values = build_comparison_values(conversation, a=rival, b=own)
    prompt = _render(procedure.prompts, "pairwise", conversation, values)
    questions = [Question("rival first", prompt, CHOICE_RULES, {"A": 0.0, "B": 1.0, "C": _TIE}.__getitem__)]
    if procedure.both_orders:
        values = build_comparison_values(conversation, a=own, b=rival)
        prompt = _render(procedure.prompts, "pairwise", conversation, values)
        worth = {"A": 1.0, "B": 0.0, "C": _TIE}.__getitem__
        questions.append(Question("rival second", prompt, CHOICE_RULES, worth))
    return questions


def _render(book: PromptBook, type: JudgeType, visible: Conversation, values: dict[str, str]) -> Prompt:
    prompt = book.find(type, len(visible.questions), has_reference=visible.has_reference)
    try:
        return prompt.render(values)
    except KeyError as error:
        raise Unaskable(
            f"the judge prompt {prompt.name!r} uses {error}, which the row does not have"
        ) from error
