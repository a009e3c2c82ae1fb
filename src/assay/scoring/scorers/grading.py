"""Grading of free answers: stated, exact match, contained in the reply, or shared words.

One of the four decides; the others are reported in addition. The targets select the reader that looks for the
answer: numbers, yes and no, formulas, short texts, long texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from assay.core.prompt import Prompt
from assay.scoring.extract import Extraction, extract_number, extract_text
from assay.scoring.extract.answer_words import REFUSAL
from assay.scoring.extract.formulas import extract_formula, is_formula, plain_text
from assay.scoring.extract.polarity import extract_polarity, read_target_polarity
from assay.scoring.extract.reply import find_searchable_part
from assay.scoring.extract.stated import extract_stated
from assay.scoring.formulas import FormulaComparison
from assay.scoring.normalize import are_numbers, contains, normalize, numbers_equal, split_any_script, words

Match: TypeAlias = Literal["stated", "exact", "contains", "f1"]
"""What decides whether a free answer is right."""
MATCHES: tuple[str, ...] = get_args(Match)
ReaderName: TypeAlias = Literal["number", "yes_no", "formula", "stated", "exact"]
"""Which reader looks for an answer with `stated`."""

_LONG_WORDS = 12
"""A target with at least this many words is a long text; it is not searched as a phrase."""
_QUESTION_LINE = re.compile(r"[^\n]*[?？؟][^\n]*")
_ANSWER_CUE = re.compile(r"(?:answer|답|答|réponse|respuesta|antwort|ответ)\s*[:：]?\s*$", re.IGNORECASE)
_LONGEST_QUESTION = 600
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")
_MISREADS = frozenset({"first_line"})
"""Rules that return the beginning of a reply that states nothing."""


class GradedAnswer(NamedTuple):
    """An answer and its value."""

    extraction: Extraction
    value: float
    also: dict[str, float]
    """Its values by the other ways of matching."""


def choose_reader(targets: Sequence[str]) -> ReaderName:
    """Return which reader looks for answers to these targets."""
    if are_numbers(targets) and not any("\\" in target for target in targets):
        return "number"
    if read_target_polarity(targets) is not None:
        return "yes_no"
    if any(is_formula(target) for target in targets):
        return "formula"
    return "stated" if any(_is_short(target) for target in targets) else "exact"


def _is_short(target: str) -> bool:
    return 0 < len(split_any_script(target)) < _LONG_WORDS


def extract_question(prompt: Prompt) -> str:
    """Return the question in a prompt: its last line with a question mark, else its last two lines."""
    user = (
        prompt
        if isinstance(prompt, str)
        else next((m.text for m in reversed(prompt) if m.role == "user"), "")
    )
    text = _ANSWER_CUE.sub("", user[-4 * _LONGEST_QUESTION :].rstrip()).rstrip()
    lines = [line for line in text.split("\n") if line.strip()]
    asking = [line for line in lines[-8:] if _QUESTION_LINE.fullmatch(line)]
    # Without a question mark, an instruction may be followed by the text it is about.
    line = asking[-1].strip() if asking else " ".join(line.strip() for line in lines[-2:])
    if len(line) > _LONGEST_QUESTION:
        line = "".join(_SENTENCE.split(line)[-2:])[-_LONGEST_QUESTION:]
    return line


class AnswerGrader:
    """Grades free answers. `close` stops the formula comparison."""

    def __init__(self, match: Match = "stated") -> None:
        if match not in MATCHES:
            raise ValueError(f"match must be one of {', '.join(MATCHES)}, not {match!r}")
        self._match = match
        self.formulas = FormulaComparison()

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the values, the deciding one first; `stated` is called accuracy."""
        return (name_metric(self._match), *(name_metric(one) for one in MATCHES if one != self._match))

    def close(self) -> None:
        """Stop the formula comparison."""
        self.formulas.close()

    def grade(self, text: str, targets: Sequence[str], question: str = "") -> GradedAnswer:
        """Return the grade of a reply."""
        reader = choose_reader(targets)
        if reader == "number" and self._match in ("stated", "exact"):
            return _grade_number(extract_number(text), targets)
        start, end = find_searchable_part(text) or (0, len(text))
        found, is_exact = _match_exactly(text, start, end, targets)
        return self._grade_text(text, targets, question, reader, found, is_exact, text[start:end])

    def grade_extraction(self, extraction: Extraction, text: str, targets: Sequence[str]) -> GradedAnswer:
        """Return the grade of an answer found by a named extractor."""
        if are_numbers(targets):
            return _grade_number(extraction, targets)
        start, end = find_searchable_part(text) or (0, len(text))
        wanted = {normalize(target) for target in targets}
        is_exact = extraction.answer is not None and normalize(extraction.answer) in wanted
        values = _values(extraction, is_exact, text[start:end], targets)
        return self._build_graded(extraction, {"stated": float(is_exact), **values})

    def _grade_text(
        self,
        text: str,
        targets: Sequence[str],
        question: str,
        reader: ReaderName,
        extraction: Extraction,
        is_exact: bool,
        reply: str,
    ) -> GradedAnswer:
        values = _values(extraction, is_exact, reply, targets)
        stated, is_right = self._find_stated_answer(text, targets, question, reader, extraction, is_exact)
        values["stated"] = float(is_right)
        return self._build_graded(stated if self._match == "stated" else extraction, values)

    def _build_graded(self, extraction: Extraction, values: dict[str, float]) -> GradedAnswer:
        also = {name_metric(one): values[one] for one in MATCHES if one != self._match}
        return GradedAnswer(extraction, values[self._match], also)

    def _find_stated_answer(
        self,
        text: str,
        targets: Sequence[str],
        question: str,
        reader: ReaderName,
        extraction: Extraction,
        is_exact: bool,
    ) -> tuple[Extraction, bool]:
        """Return the answer that a reply states, and whether it is right."""
        if reader == "exact":
            return extraction, is_exact
        if reader == "yes_no":
            polarity = extract_polarity(text)
            return polarity, polarity.answer is not None and polarity.answer == read_target_polarity(targets)
        if reader == "formula":
            formula = extract_formula(text)
            if formula.answer is not None and self.formulas.is_any(formula.answer, targets):
                return formula, True
        short = [plain_text(target) for target in targets if not is_formula(target) and _is_short(target)]
        stated = extract_stated(text, short, question)
        if stated.answer is not None:
            return stated, True
        if extraction.rule == "whole_reply" and is_exact:
            return extraction, True
        number = _find_stated_number(text, targets)
        return (number, True) if number is not None else (_other_answer(text, extraction), False)


def name_metric(match: str) -> str:
    """Return the metric name of a way of matching."""
    return "accuracy" if match == "stated" else match


def _grade_number(extraction: Extraction, targets: Sequence[str]) -> GradedAnswer:
    is_right = extraction.answer is not None and any(numbers_equal(extraction.answer, one) for one in targets)
    return GradedAnswer(extraction, float(is_right), {})


def _find_stated_number(text: str, targets: Sequence[str]) -> Extraction | None:
    """Return the stated number if it equals one of several targets; the last number is not enough."""
    numbers = [target for target in targets if are_numbers([target])]
    if not numbers:
        return None
    found = extract_number(text)
    is_sure = found.answer is not None and found.rule != "last_number"
    return found if is_sure and any(numbers_equal(found.answer or "", one) for one in numbers) else None


def _match_exactly(text: str, start: int, end: int, targets: Sequence[str]) -> tuple[Extraction, bool]:
    """Return the announced phrase, the first line, or the whole reply if that is right."""
    found = extract_text(text)
    reply, wanted = text[start:end], {normalize(target) for target in targets}
    if found.answer is None:
        return found, False
    if normalize(found.answer) in wanted:
        return found, True
    if normalize(reply) in wanted:
        return Extraction(reply.strip(), "whole_reply", (start, end)), True
    return found, False


def _other_answer(text: str, extraction: Extraction) -> Extraction:
    """Return the answer of a reply that states no target; nothing if it declines to answer."""
    if extraction.rule in _MISREADS and REFUSAL.search(text):
        return Extraction(None, "refusal")
    return extraction


def _values(extraction: Extraction, is_exact: bool, reply: str, targets: Sequence[str]) -> dict[str, float]:
    answer = extraction.answer
    if answer is None:
        return {"exact": 0.0, "contains": 0.0, "f1": 0.0}
    return {
        "exact": float(is_exact),
        "contains": float(any(contains(reply, target) for target in targets)),
        "f1": max((token_f1(answer, target) for target in targets), default=0.0),
    }


def token_f1(answer: str, target: str) -> float:
    """Return the F1 of words, counted with repeats (as SQuAD does).

    Two texts without words are equal: 1.
    """
    given, wanted = words(answer), words(target)
    if not given or not wanted:
        return float(given == wanted)
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted))
