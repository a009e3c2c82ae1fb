"""Scorers of generated text: the chosen option, or a free answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from assay.core.method import Method
from assay.core.request import Generate
from assay.core.response import Finish, Output
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest, Evaluation
from assay.scoring.extract import Extraction, extract_option
from assay.scoring.extract.option_sets import SEPARATOR, extract_options
from assay.scoring.normalize import normalize
from assay.scoring.originals.opencompass.option_reader import infer_option
from assay.scoring.scorers.extractors import AUTO, find_extractor
from assay.scoring.scorers.grading import AnswerGrader, GradedAnswer, Match, extract_question
from assay.scoring.scorers.response_outcomes import (
    ACCURACY,
    SEVERAL_METRICS,
    SeveralRight,
    Unscorable,
    build_failed_score,
    build_score,
    collect_outputs,
    format_gold_labels,
    get_task,
)

RepeatRule: TypeAlias = Literal["", "mean"]
"""How several replies to one question are combined, instead of a majority vote."""
VOTE = "vote"
"""The rule of an answer found by majority vote over several samples."""


def _vote(extractions: Sequence[Extraction]) -> Extraction:
    """Return the most frequent answer, the first on a tie; a sample without an answer has no vote."""
    if len(extractions) == 1:
        return extractions[0]
    votes = Counter(one.answer for one in extractions if one.answer is not None)
    if not votes:
        return extractions[0]
    return Extraction(votes.most_common(1)[0][0], VOTE)


def _average_scores(scores: Sequence[Score]) -> Score:
    """Return the mean over several replies, with the first one's answer; a reply without one is wrong."""
    first = next((one for one in scores if one.answer is not None), scores[0])
    if first.verdict in (Verdict.UNGRADED, Verdict.UNANSWERED, Verdict.FAILED):
        return first
    mean = sum(one.value or 0.0 for one in scores) / len(scores)
    also = {name: sum(one.also.get(name, 0.0) for one in scores) / len(scores) for name in first.also}
    is_truncated = any(one.is_truncated for one in scores)
    return msgspec.structs.replace(first, value=mean, also=also, is_truncated=is_truncated)


class GeneratedOption:
    """Scores the option found in the reply; a reply without one is UNANSWERED.

    Several replies are decided by majority vote, or averaged with `several="mean"`. If several options are
    right, any of them counts. With `several_right`, a reply may name several: `exact` requires exactly the
    right ones, `any` allows no wrong one. `faithful` uses the original's inference, which finds an option in
    every reply, even an empty one. `extract` names an extractor: its result is an option's label or text, or
    no answer.
    """

    def __init__(
        self,
        track: Method = Method.GEN,
        faithful: bool = False,
        extract: str = "",
        several: RepeatRule = "",
        several_right: SeveralRight | None = None,
    ) -> None:
        if several_right not in SEVERAL_METRICS:
            raise ValueError(f"several_right must be exact or any, not {several_right!r}")
        self.track = track
        self.faithful = faithful
        self.gives = (SEVERAL_METRICS[several_right],)
        self._several_right = several_right
        self._several = several
        self._extract = find_extractor(extract) if extract and extract != AUTO else None

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score."""
        try:
            outputs = collect_outputs(answers)
        except Unscorable as error:
            metric = self.gives[0]
            return build_failed_score(
                self.track, sample, answers, str(error), format_gold_labels(sample), metric=metric
            )
        if self._several == "mean":
            return _average_scores([self._score_outputs(sample, answers, [output]) for output in outputs])
        return self._score_outputs(sample, answers, outputs)

    def _score_outputs(
        self, sample: Sample, answers: Sequence[AnsweredRequest], outputs: Sequence[Output]
    ) -> Score:
        found = _vote([self._find(output.text, sample) for output in outputs])
        verdict, value = Verdict.UNGRADED, None
        if sample.gold and found.answer is None:
            verdict = Verdict.UNANSWERED
        elif sample.gold:
            verdict = Verdict.SCORED
            value = float(self._is_right(found.answer or "", sample))
        return build_score(
            self.track,
            sample,
            get_task(answers),
            verdict,
            metric=self.gives[0],
            value=value,
            answer=found.answer,
            target=format_gold_labels(sample),
            rule=found.rule,
            span=found.span,
            is_truncated=Finish.LENGTH in [output.finish for output in outputs],
        )

    def _is_right(self, answer: str, sample: Sample) -> bool:
        right = {sample.labels[index] for index in sample.gold}
        if self._several_right is None:
            return answer in right
        named = set(answer.split(SEPARATOR))
        return named == right if self._several_right == "exact" else named <= right

    def _find(self, text: str, sample: Sample) -> Extraction:
        if self._extract is not None:
            return _match_option(self._extract(text, sample), sample)
        if self.faithful:
            return infer_option(text, sample.labels, sample.choices)
        find = extract_option if self._several_right is None else extract_options
        return find(text, sample.labels, sample.choices)


def _match_option(extraction: Extraction, sample: Sample) -> Extraction:
    """Return the extraction with the label of the option it names; without an answer if it names none."""
    if extraction.answer is None or extraction.answer in sample.labels:
        return extraction
    normalized = normalize(extraction.answer)
    spelled = [label for label in sample.labels if normalize(label) == normalized] or [
        label
        for label, choice in zip(sample.labels, sample.choices, strict=True)
        if normalize(choice) == normalized
    ]
    return msgspec.structs.replace(extraction, answer=spelled[0] if len(spelled) == 1 else None)


class GeneratedAnswer:
    """Scores a free answer against the acceptable ones.

    `match` selects what decides (see grading.py): the reply states a target, its announced answer equals one,
    it contains one, or the words it shares with one. The other values are reported in addition. With
    `faithful`, the raw reply must equal a target exactly. `extract` names an extractor whose result is
    compared in the same ways.
    """

    def __init__(
        self,
        track: Method = Method.GEN,
        faithful: bool = False,
        extract: str = "",
        several: RepeatRule = "",
        match: Match = "stated",
    ) -> None:
        self.track = track
        self.faithful = faithful
        self._several = several
        # `auto` finds the same as a plain run on a table: nothing is extracted beforehand.
        self._extract = find_extractor(extract) if extract and extract != AUTO else None
        self._grader = AnswerGrader(match)
        self.gives = self._grader.metrics
        self._build_graded: set[str] = set()

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score."""
        try:
            outputs = collect_outputs(answers)
        except Unscorable as error:
            return build_failed_score(
                self.track, sample, answers, str(error), _targets(sample), metric=self.gives[0]
            )
        if self._several == "mean":
            return _average_scores([self._score_output(sample, answers, output) for output in outputs])
        return self._score_output(sample, answers, outputs[0])

    def finish(self) -> Evaluation:
        """Report `exact` and `contains` in addition to the deciding value, if texts were compared."""
        self._grader.close()
        listed = [name for name in self.gives if name in (ACCURACY, "exact", "contains", self.gives[0])]
        named = {(task, self.track, name) for task in self._build_graded for name in listed}
        return Evaluation((), judged_by=frozenset(named), notes=self._grader.formulas.notes)

    def _score_output(self, sample: Sample, answers: Sequence[AnsweredRequest], output: Output) -> Score:
        found, value, also = self._grade(output.text, sample, answers)
        verdict = Verdict.UNGRADED
        if sample.targets:
            verdict = Verdict.UNANSWERED if found.answer is None else Verdict.SCORED
            if also:
                self._build_graded.add(get_task(answers))
        return build_score(
            self.track,
            sample,
            get_task(answers),
            verdict,
            metric=self.gives[0],
            value=value if verdict is Verdict.SCORED else None,
            answer=found.answer,
            target=_targets(sample),
            rule=found.rule,
            span=found.span,
            also=also if sample.targets else {},
            is_truncated=output.finish is Finish.LENGTH,
        )

    def _grade(self, text: str, sample: Sample, answers: Sequence[AnsweredRequest]) -> GradedAnswer:
        targets = sample.targets
        if self._extract is not None:
            return self._grader.grade_extraction(self._extract(text, sample), text, targets)
        if self.faithful:
            return GradedAnswer(Extraction(text, "raw_reply", (0, len(text))), float(text in targets), {})
        return self._grader.grade(text, targets, find_question(answers))


def _targets(sample: Sample) -> str | None:
    return sample.targets[0] if sample.targets else None


def find_question(answers: Sequence[AnsweredRequest]) -> str:
    """Return the question that the reply answers."""
    ask = answers[0].request.ask if answers else None
    return extract_question(ask.prompt) if isinstance(ask, Generate) else ""
