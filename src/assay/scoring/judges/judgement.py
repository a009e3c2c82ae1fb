"""Questions to a judge about samples, sent in one batch, and one judgement for each sample.

A failure is never a grade: a sample has a value only if every question about it got a verdict.
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
    """One question to the judge about a sample, and how to read the reply."""

    about: str
    """The subject of the question, such as `turn 2`."""
    prompt: Prompt
    rules: Sequence[Rule[str]]
    """The rules that find the verdict in the reply."""
    worth: Callable[[str], float]
    """The value of a verdict for the evaluated model."""
    is_raw: bool = False
    """Whether the rules see everything the judge wrote, including reasoning and truncated replies."""
    no_verdict: str = "the grade is outside the scale"
    """The reason to report if a rule matches a statement that is not a verdict."""


class Unaskable(Exception):
    """No question can be asked about a sample; the message explains why."""


class Judgement(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of judging one sample.

    SCORED: every reply contained a verdict; the value is their mean. UNANSWERED: the judge replied, but some
    reply has no verdict. FAILED: a reply is missing, or no question could be asked.
    """

    verdict: Verdict
    value: float | None = None
    """None unless SCORED."""
    replies: tuple[JudgeReply, ...] = ()
    why: str | None = None
    """Why there is no value."""

    @property
    def text(self) -> str:
        """Return everything the judge wrote."""
        return "\n\n".join(reply.text for reply in self.replies)


def judge_cases(judge: Judge, cases: Sequence[Sequence[Question] | Unaskable]) -> list[Judgement]:
    """Return the judgement of each case, in order; all questions are sent as one batch."""
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
        return JudgeReply(question.about, Verdict.FAILED, why="the judge returned no text", prompt=prompt)
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
        return msgspec.structs.replace(reply, verdict=Verdict.SCORED, value=value, label=found.answer)
    why = "no verdict in the reply"
    if found.rule is not None:
        why = question.no_verdict
    elif not is_whole:
        after = f" after {output.n_tokens:,} tokens" if output.n_tokens else ""
        why = f"cut off{after}, before a verdict"
    return msgspec.structs.replace(reply, why=why)
