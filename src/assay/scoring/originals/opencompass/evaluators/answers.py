"""Short free answers against one or several targets: exact match, containment, F1 of words."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, ClassVar

from assay.core.difference import Difference
from assay.scoring.metrics.words import bag_f1, squad_form
from assay.scoring.normalize import contains
from assay.scoring.originals.opencompass.evaluators.evaluator import (
    EvaluatedRow,
    RowEvaluator,
    gold_text,
    gold_texts,
    to_text,
)
from assay.scoring.originals.opencompass.postprocess import POSTPROCESSORS
from assay.scoring.scorers.grading import AnswerGrader

_STATED = re.compile(r"answer\s*:\s*([^\n]+)", re.IGNORECASE)
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")
_ORIGINAL_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation.replace(chr(92), ''))}]")
"""Without the backslash, which escapes the next character in the original's pattern."""
_NUMBERS = "`general` cuts numbers (3.14 is 3) and removes the answer A"
_NUMBERS_HERE = "the corrected `general` keeps numbers and the answer A"


class _ShortAnswerEvaluator(RowEvaluator):
    """Compares answers after the post-processor `general`."""

    def _shorten(self, text: str) -> str:
        return POSTPROCESSORS["general"](text, self.is_faithful) or ""


class EMEvaluator(_ShortAnswerEvaluator):
    """The percentage of answers that equal a target, as written or after `general`."""

    difference: ClassVar[Difference[object] | None] = Difference(
        f"{_NUMBERS}; a target that is one text is read as a list of its characters",
        f"{_NUMBERS_HERE}; such a text is one target",
    )
    has_details: ClassVar[bool] = True
    metric = correct_by = "score"

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 for a correct answer."""
        golds = list(gold_text(row)) if self.is_faithful and isinstance(row.gold, str) else gold_texts(row)
        answer = self._shorten(to_text(prediction))
        if not answer and not self.is_faithful:
            return 0.0
        return float(answer in golds or answer in map(self._shorten, golds))


class LEvalEMEvaluator(_ShortAnswerEvaluator):
    """The percentage of answers that contain the target."""

    difference: ClassVar[Difference[object] | None] = Difference(
        f"{_NUMBERS}; a target inside a longer word or number counts (1 in 10); only the last of several "
        "runs counts",
        "the target must occur as separate words, with whole numbers; the mean of all runs counts",
    )

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 if the answer contains the target."""
        text, gold = to_text(prediction), gold_text(row)
        if self.is_faithful:
            answer = self._shorten(text)
            return float(self._shorten(gold) in answer or gold in answer)
        return float(contains(text, gold))


class _QuizEvaluator(_ShortAnswerEvaluator):
    """Quiz questions: the text after a marker in the first line, in lower case, contains a target."""

    has_details: ClassVar[bool] = True
    metric = correct_by = "score"
    marks: ClassVar[tuple[str, ...]] = ("answer is",)
    """The markers before an answer, applied in turn; the last occurrence of each counts."""
    is_whole: ClassVar[bool] = False
    """Whether the answer must equal the target, not only contain it."""
    keeps_blank_start: ClassVar[bool] = False
    """Whether, in the original, a line break before the answer leaves nothing."""

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 if the answer equals, or contains, a target."""
        answer = self._answer(to_text(prediction))
        golds = [self._shorten(gold).lower() for gold in gold_texts(row)]
        if self.is_faithful:
            return float(any(self._fits(gold, answer) for gold in golds))
        # A target that normalizes to nothing would be in every answer.
        return float(any(gold and self._fits(gold, answer) for gold in golds))

    def _answer(self, text: str) -> str:
        whole = text if self.is_faithful and self.keeps_blank_start else text.strip()
        line = whole.split("\n")[0].lower()
        for mark in self.marks:
            begun = "" if self.is_faithful else r"\b"
            line = re.split(f"{begun}{mark}", line)[-1]
        return self._shorten(line.strip())

    def _fits(self, gold: str, answer: str) -> bool:
        if self.is_whole:
            return gold == answer
        return gold in answer if self.is_faithful else contains(answer, gold)


_INSIDE_WORDS = f"{_NUMBERS}; a target inside a longer word or number counts (1 in 10, a in cat)"
_BY_THEMSELVES = f"{_NUMBERS_HERE}; a target must occur as separate words"


class TriviaQAEvaluator(_QuizEvaluator):
    """TriviaQA: the percentage of answers that contain a target."""

    difference: ClassVar[Difference[object] | None] = Difference(
        f"{_INSIDE_WORDS}; the text after the last `a:` counts, even in `data: ...`",
        f"{_BY_THEMSELVES}, and so must the marker",
    )
    marks: ClassVar[tuple[str, ...]] = ("answer is", "a:", "answer:")


class NQEvaluator(_QuizEvaluator):
    """Natural Questions: the percentage of answers that contain a target."""

    difference: ClassVar[Difference[object] | None] = Difference(_INSIDE_WORDS, _BY_THEMSELVES)


class SQuAD20Evaluator(_QuizEvaluator):
    """SQuAD 2.0: the percentage of answers that equal a target after `general`."""

    difference: ClassVar[Difference[object] | None] = Difference(
        f"{_NUMBERS}; a line break before the answer leaves nothing; only the last of several runs counts",
        f"{_NUMBERS_HERE}; line breaks before it are skipped; the mean of all runs counts",
    )
    has_details: ClassVar[bool] = False
    is_whole: ClassVar[bool] = True
    keeps_blank_start: ClassVar[bool] = True


class DropOpenAIEvaluator(RowEvaluator):
    """DROP as simple-evals counts it: answer and target contain one another in SQuAD's form.

    A row's targets are in one text, separated by `|`.
    """

    difference: ClassVar[Difference[object] | None] = Difference(
        "part of a word or number is enough: 1 is right if the target is 10",
        "only separate words and numbers count",
    )
    has_details: ClassVar[bool] = True

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 if the stated answer, or the whole text, matches a target."""
        text = to_text(prediction)
        stated = _STATED.search(text)
        answer = squad_form(stated[1] if stated else text)
        golds = map(squad_form, gold_text(row).split("|"))
        return float(any(self._fits(answer, gold) for gold in golds))

    def _fits(self, answer: str, gold: str) -> bool:
        if not answer or not gold:
            return answer == gold
        inside: Callable[[str, str], bool] = str.__contains__ if self.is_faithful else _has_words
        return inside(answer, gold) or inside(gold, answer)


def _has_words(text: str, part: str) -> bool:
    """Whether whole words occur in a text one after the other."""
    return f" {part} " in f" {text} "


class LambadaEvaluator(_ShortAnswerEvaluator):
    """LAMBADA: the percentage of continuations whose first word is correct."""

    difference: ClassVar[Difference[object] | None] = Difference(
        "only the last of several runs counts; a continuation that starts with punctuation such "
        "as a quote has no first word",
        "the mean of all runs counts; punctuation before the first word is skipped",
    )

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 for the correct word."""
        text = to_text(prediction).strip()
        if not self.is_faithful:
            text = text.lstrip(string.punctuation + string.whitespace)
        first = text.split(" ")[0] if self.is_faithful else next(iter(text.split()), "")
        mark = _ORIGINAL_PUNCTUATION if self.is_faithful else _PUNCTUATION
        word, gold = self._shorten(mark.split(first)[0]), self._shorten(gold_text(row))
        return float(word == gold and (bool(gold) or self.is_faithful))


class SquadEvaluator(RowEvaluator):
    """SQuAD's F1 between the words of the first line and of the target."""

    difference: ClassVar[Difference[object] | None] = Difference(
        "the value has no name, which stops the evaluation (with `faithful` it is `f1`); only one "
        "target is supported; a line break before the answer leaves nothing",
        "it is `f1`; the best of several targets counts; line breaks before the answer are skipped",
    )
    metric = "f1"
    correct_by = None

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return F1, 0 to 1."""
        text = to_text(prediction)
        words = squad_form((text if self.is_faithful else text.strip()).split("\n")[0]).split()
        golds = [gold_text(row)] if self.is_faithful else gold_texts(row)
        # In SQuAD's script, two texts without words share nothing.
        return max(bag_f1(words, squad_form(gold).split()) if words else 0.0 for gold in golds)


class FreeAnswerEvaluator(RowEvaluator):
    """Assay's own: the percentage of replies that state a target, as tables without options are scored."""

    has_details: ClassVar[bool] = True

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return the mean."""
        with closing(AnswerGrader()) as self._grader:
            return super().__call__(predictions, references)

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 if the reply states a target: a number, yes or no, a formula or a text."""
        return self._grader.grade(to_text(prediction), gold_texts(row)).value
