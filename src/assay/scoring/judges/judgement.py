"""Asking a judge about samples: questions go out together, and each sample gets one judgement.

A failure is never a grade: a sample has a value only when every question about it got a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from assay.core.ports import Judge
from assay.core.prompt import Prompt, strip_media_data
from assay.core.response import Completion, Failure, Finish
from assay.core.score import JudgeReply, Verdict
from assay.scoring.extract.extraction import Rule, run_rules
from assay.scoring.judges.reading import read_verdict


class Question(NamedTuple):
    """One thing to ask the judge about a sample, and how the reply is read."""

    about: str
    """What it asks, such as `turn 2`."""
    prompt: Prompt
    rules: Sequence[Rule[str]]
    """How the verdict is found in the reply."""
    worth: Callable[[str], float]
    """What the verdict is worth to the model that is evaluated."""
    is_raw: bool = False
    """Whether the rules see all that the judge wrote, its reasoning and a reply cut off too."""
    no_verdict: str = "the grade is outside the scale"
    """What it means when a rule sees a statement that is no verdict."""


class Unaskable(Exception):
    """Nothing can be asked about a sample; the message says why."""


class Judgement(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a sample got from the judge.

    SCORED: every reply held a verdict; the value is their mean. UNANSWERED: the judge spoke, but in some
    reply no verdict was found. FAILED: some reply did not come, or nothing could be asked.
    """

    verdict: Verdict
    value: float | None = None
    """None unless SCORED."""
    replies: tuple[JudgeReply, ...] = ()
    why: str | None = None
    """Why there is no value."""

    @property
    def text(self) -> str:
        """Return all that the judge wrote."""
        return "\n\n".join(reply.text for reply in self.replies)


def judge_cases(judge: Judge, cases: Sequence[Sequence[Question] | Unaskable]) -> list[Judgement]:
    """Return the judgement of each case, in their order; all their questions go out as one batch."""
    questions = [question for case in cases if not isinstance(case, Unaskable) for question in case]
    outcomes = iter(judge.ask([question.prompt for question in questions]))
    return [
        Judgement(Verdict.FAILED, why=str(case))
        if isinstance(case, Unaskable)
        else _judge_case(case, outcomes)
        for case in cases
    ]


def _judge_case(questions: Sequence[Question], outcomes: Iterator[Completion | Failure]) -> Judgement:
    replies = tuple(_read(question, next(outcomes)) for question in questions)
    for verdict in (Verdict.FAILED, Verdict.UNANSWERED):
        short = [reply for reply in replies if reply.verdict is verdict]
        if short:
            why = "; ".join(f"{reply.about}: {reply.why}" for reply in short)
            return Judgement(verdict, replies=replies, why=why)
    values = [reply.value for reply in replies if reply.value is not None]
    return Judgement(Verdict.SCORED, sum(values) / len(values), replies)


def _read(question: Question, outcome: Completion | Failure) -> JudgeReply:
    prompt = strip_media_data(question.prompt)
    if isinstance(outcome, Failure):
        why = f"{outcome.kind}: {outcome.message}"
        return JudgeReply(question.about, Verdict.FAILED, why=why, prompt=prompt)
    if not outcome.outputs:
        return JudgeReply(question.about, Verdict.FAILED, why="no text came back", prompt=prompt)
    output = outcome.outputs[0]
    is_whole = output.finish is not Finish.LENGTH
    if question.is_raw:
        found = run_rules(output.text, question.rules, 0)
    else:
        found = read_verdict(output.text, question.rules, is_whole=is_whole)
    reply = JudgeReply(
        question.about,
        Verdict.UNANSWERED,
        text=output.text,
        rule=found.rule,
        span=found.span,
        reasoning=output.reasoning,
        prompt=prompt,
    )
    if found.answer is not None:
        value = question.worth(found.answer)
        return msgspec.structs.replace(reply, verdict=Verdict.SCORED, value=value, said=found.answer)
    why = "no verdict in the reply"
    if found.rule is not None:
        why = question.no_verdict
    elif not is_whole:
        after = f" after {output.n_tokens:,} tokens" if output.n_tokens else ""
        why = f"cut off{after}, before a verdict"
    return msgspec.structs.replace(reply, why=why)
