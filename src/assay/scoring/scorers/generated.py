"""Answers that a model wrote as text: the option it chose, or a free answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from assay.core.response import Finish, Output
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import Answered
from assay.scoring.extract import Extraction, extract_number, extract_option, extract_text
from assay.scoring.extract.original_options import infer_option
from assay.scoring.extract.reply import visible
from assay.scoring.normalize import are_numbers, contains, normalize, numbers_equal, words
from assay.scoring.scorers.extractors import find_extractor
from assay.scoring.scorers.outcomes import (
    ACCURACY,
    Unscorable,
    failed,
    option_target,
    outputs_of,
    score_of,
    task_of,
)

Several: TypeAlias = Literal["", "mean"]
"""What becomes of several replies to one question where most of them do not decide."""
VOTE = "vote"
"""The rule of an answer that most samples of one question agree on."""


def _voted(found: Sequence[Extraction]) -> Extraction:
    """Return the answer of most samples, the first of equals; a sample without an answer has no vote."""
    if len(found) == 1:
        return found[0]
    votes = Counter(one.answer for one in found if one.answer is not None)
    if not votes:
        return found[0]
    return Extraction(votes.most_common(1)[0][0], VOTE)


def _averaged(scores: Sequence[Score]) -> Score:
    """Return the mean over several replies, with the answer of the first; a reply without one is wrong."""
    first = next((one for one in scores if one.answer is not None), scores[0])
    if first.verdict in (Verdict.UNGRADED, Verdict.UNANSWERED, Verdict.FAILED):
        return first
    mean = sum(one.value or 0.0 for one in scores) / len(scores)
    also = {name: sum(one.also.get(name, 0.0) for one in scores) / len(scores) for name in first.also}
    is_truncated = any(one.is_truncated for one in scores)
    return msgspec.structs.replace(first, value=mean, also=also, is_truncated=is_truncated)


class GeneratedOption:
    """The option found in the reply; a reply without one is UNANSWERED. Of several replies, most decide.

    With `several` as `mean`, the score is the mean over the replies.

    With `faithful`, the original's inference, which gives every reply an option, even an empty one. With
    `extract`, a named extractor: what it finds is an option's label or its text, or no answer.
    """

    gives = (ACCURACY,)

    def __init__(
        self, track: str = "gen", faithful: bool = False, extract: str = "", several: Several = ""
    ) -> None:
        self.track = track
        self.faithful = faithful
        self._several = several
        self._extract = find_extractor(extract) if extract else None

    def score(self, sample: Sample, answers: Sequence[Answered]) -> Score:
        """Return the sample's score."""
        try:
            outputs = outputs_of(answers)
        except Unscorable as error:
            return failed(self.track, sample, answers, str(error), option_target(sample))
        if self._several == "mean":
            return _averaged([self._scored(sample, answers, [output]) for output in outputs])
        return self._scored(sample, answers, outputs)

    def _scored(self, sample: Sample, answers: Sequence[Answered], outputs: Sequence[Output]) -> Score:
        found = _voted([self._find(output.text, sample) for output in outputs])
        verdict, value = Verdict.UNGRADED, None
        if sample.gold and found.answer is None:
            verdict = Verdict.UNANSWERED
        elif sample.gold:
            verdict = Verdict.SCORED
            value = float(found.answer in [sample.labels[index] for index in sample.gold])
        return score_of(
            self.track,
            sample,
            task_of(answers),
            verdict,
            value=value,
            answer=found.answer,
            target=option_target(sample),
            rule=found.rule,
            span=found.span,
            is_truncated=Finish.LENGTH in [output.finish for output in outputs],
        )

    def _find(self, text: str, sample: Sample) -> Extraction:
        if self._extract is not None:
            return _named_option(self._extract(text, sample), sample)
        find = infer_option if self.faithful else extract_option
        return find(text, sample.labels, sample.choices)


def _named_option(found: Extraction, sample: Sample) -> Extraction:
    """Return what was found as the label of the option that it names; no answer where it names none."""
    if found.answer is None or found.answer in sample.labels:
        return found
    said = normalize(found.answer)
    spelled = [label for label in sample.labels if normalize(label) == said] or [
        label
        for label, choice in zip(sample.labels, sample.choices, strict=True)
        if normalize(choice) == said
    ]
    return msgspec.structs.replace(found, answer=spelled[0] if len(spelled) == 1 else None)


class _Graded(NamedTuple):
    found: Extraction
    is_right: bool
    also: dict[str, float]


class GeneratedAnswer:
    """A free answer against the acceptable ones.

    When every target is a number, numbers are compared by value. Otherwise the extracted answer, or the
    whole reply, must equal a target after normalisation; `f1` (words shared with the best target) and
    `contains` are reported beside it. With `faithful`, the raw reply must be a target to the letter. With
    `extract`, a named extractor finds the answer, which is compared in the same ways.
    """

    gives = (ACCURACY, "f1", "contains")

    def __init__(
        self, track: str = "gen", faithful: bool = False, extract: str = "", several: Several = ""
    ) -> None:
        self.track = track
        self.faithful = faithful
        self._several = several
        self._extract = find_extractor(extract) if extract else None

    def score(self, sample: Sample, answers: Sequence[Answered]) -> Score:
        """Return the sample's score."""
        target = sample.targets[0] if sample.targets else None
        try:
            outputs = outputs_of(answers)
        except Unscorable as error:
            return failed(self.track, sample, answers, str(error), target)
        if self._several == "mean":
            return _averaged([self._scored(sample, answers, output) for output in outputs])
        return self._scored(sample, answers, outputs[0])

    def _scored(self, sample: Sample, answers: Sequence[Answered], output: Output) -> Score:
        target = sample.targets[0] if sample.targets else None
        graded = self._grade(output.text, sample)
        verdict, value = Verdict.UNGRADED, None
        if sample.targets:
            verdict = Verdict.UNANSWERED if graded.found.answer is None else Verdict.SCORED
        if verdict is Verdict.SCORED:
            value = float(graded.is_right)
        return score_of(
            self.track,
            sample,
            task_of(answers),
            verdict,
            value=value,
            answer=graded.found.answer,
            target=target,
            rule=graded.found.rule,
            span=graded.found.span,
            also=graded.also if sample.targets else {},
            is_truncated=output.finish is Finish.LENGTH,
        )

    def _grade(self, text: str, sample: Sample) -> _Graded:
        targets = sample.targets
        if self._extract is not None:
            return _grade_found(self._extract(text, sample), text, targets)
        if self.faithful:
            return _Graded(Extraction(text, "raw_reply", (0, len(text))), text in targets, {})
        return _grade(text, targets)


def is_right_answer(text: str, targets: Sequence[str]) -> bool:
    """Whether a reply holds one of the right answers: numbers by value, texts after normalisation."""
    return _grade(text, targets).is_right


def _grade(text: str, targets: Sequence[str]) -> _Graded:
    if are_numbers(targets):
        return _grade_number(extract_number(text), targets)
    return _grade_text(text, targets)


def _grade_number(found: Extraction, targets: Sequence[str]) -> _Graded:
    is_right = found.answer is not None and any(numbers_equal(found.answer, one) for one in targets)
    return _Graded(found, is_right, {})


def _grade_text(text: str, targets: Sequence[str]) -> _Graded:
    found = extract_text(text)
    start, end = visible(text) or (0, len(text))
    reply = text[start:end]
    wanted = {normalize(target) for target in targets}
    if found.answer is not None and normalize(found.answer) not in wanted and normalize(reply) in wanted:
        found = Extraction(reply.strip(), "whole_reply", (start, end))
    return _compared(found, reply, targets)


def _grade_found(found: Extraction, text: str, targets: Sequence[str]) -> _Graded:
    """Grade what a named extractor found, as a number where the right answers are numbers."""
    if are_numbers(targets):
        return _grade_number(found, targets)
    start, end = visible(text) or (0, len(text))
    return _compared(found, text[start:end], targets)


def _compared(found: Extraction, reply: str, targets: Sequence[str]) -> _Graded:
    answer = found.answer
    if answer is None:
        return _Graded(found, False, {"f1": 0.0, "contains": 0.0})
    also = {
        "f1": max((token_f1(answer, target) for target in targets), default=0.0),
        "contains": float(any(contains(reply, target) for target in targets)),
    }
    return _Graded(found, normalize(answer) in {normalize(target) for target in targets}, also)


def token_f1(answer: str, target: str) -> float:
    """Return the harmonic mean of precision and recall over words, counted with repeats (as SQuAD does).

    Two texts without any word are equal: 1.
    """
    given, wanted = words(answer), words(target)
    if not given or not wanted:
        return float(given == wanted)
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted))
