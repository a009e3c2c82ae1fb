"""READINGS: how verdicts of right and wrong are read and counted, by config name.

In OpenCompass a name is that of a `dict_postprocessor`, which reads all replies and counts; in AISBench it is
that of a post-processor or an evaluator over the judge's replies.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from assay.core.difference import Difference
from assay.core.errors import PlanError, Problem, listing, suggest_name
from assay.scoring.extract.extraction import Rule, RuleMatch
from assay.scoring.originals.opencompass.evaluators.verdicts import (
    NOT_ATTEMPTED,
    RIGHT,
    WRONG,
    Tags,
    verdict_rules,
)

MadeT = TypeVar("MadeT")


def make_by_name(
    kind: str,
    makers: Mapping[str, Callable[..., MadeT]],
    name: str,
    arguments: Mapping[str, Any] | None,
    *,
    is_faithful: bool,
) -> MadeT:
    """Return the result of the named factory, called with a config's arguments."""
    maker = makers.get(name)
    if maker is None:
        seen = f"unknown {kind} {name!r}{suggest_name(name, makers)}"
        what = f"{seen}; expected one of {listing(makers, at_most=len(makers))}"
        raise PlanError(Problem("JUDGE-005", what, "correct the name"))
    known = {
        one.name: one.default
        for one in inspect.signature(maker).parameters.values()
        if one.name != "is_faithful"
    }
    for given, value in (arguments or {}).items():
        if given not in known:
            expected = f"expected {listing(known)}" if known else "it accepts none"
            what = f"the {kind} {name!r} has no argument {given!r}{suggest_name(given, known)}; {expected}"
            raise PlanError(Problem("JUDGE-005", what, "remove the argument or correct its name"))
        if not isinstance(value, type(known[given])) or value == "":
            what = f"the {kind} {name!r} has {given} = {value!r}; expected a value such as {known[given]!r}"
            raise PlanError(Problem("JUDGE-005", what, f"correct {given}"))
    return maker(**(arguments or {}), is_faithful=is_faithful)


Weights = Mapping[str, float]
"""A row's contribution to a sum, by its verdict; 0 for a verdict that is not listed."""

_ALL: Weights = {RIGHT: 1, WRONG: 1, NOT_ATTEMPTED: 1}
_ATTEMPTED: Weights = {RIGHT: 1, WRONG: 1}


class JudgedValue(NamedTuple):
    """One value over the rows with a verdict: the sum of their parts divided by another sum."""

    name: str
    part: Weights
    of: Weights | None = _ALL
    """None: the value is the sum itself, a count."""
    is_percent: bool = True
    """Whether the maximum is 100 instead of 1."""

    @property
    def is_share(self) -> bool:
        """Whether it is a share in percent."""
        return self.of is not None and self.is_percent

    @property
    def is_mean(self) -> bool:
        """Whether every row has equal weight."""
        return self.of is _ALL


class VerdictReading(NamedTuple):
    """How a judge's replies are read and counted."""

    rules: tuple[Rule[str], ...]
    """Each finds `right`, `wrong` or `not attempted`."""
    values: tuple[JudgedValue, ...]
    """The first one is the score of a row."""
    is_raw: bool = False
    """Whether the rules also see the judge's reasoning, as in some originals."""
    differences: tuple[Difference[object], ...] = ()
    """How the original reads and counts, compared with this reading."""


FIRST_LETTER = Difference[object](
    "the first of the letters anywhere in the judge's reply is the verdict: the A of `Answer`, the B of "
    "`Based`, the C of `CORRECT`",
    "a verdict is a letter or a word that the reply states: as its opening, in brackets, after a word such "
    "as `Verdict:`, or as its last clause",
)
LAST_CHARACTER = Difference[object](
    "the verdict is the last character of the judge's reply, and B when that is neither A nor B",
    FIRST_LETTER.corrected,
)
NO_VERDICT = Difference[object](
    "a reply without a verdict counts against the answer: as not attempted, or as wrong",
    "a row without a verdict fails, is left out and counted",
)
SCALES = Difference[object](
    "f1 is between 0 and 1, the other values between 0 and 100", "all are shares in percent"
)
ANY_CORRECT = Difference[object](
    "a reply that contains the word CORRECT is right, any other wrong, `NOT CORRECT` is right",
    NO_VERDICT.corrected,
)
STRICT = Difference[object](
    "inside a cascade a verdict is right when the reply is `A` or begins with CORRECT; `A.` is wrong",
    "verdicts are read inside a cascade as they are outside",
)
JSON_ONLY = Difference[object](
    "a reply that is no JSON is dropped from the right ones and stays in the number of rows",
    "the field `correct` is read from JSON or a line; a row without it is failed, left out and counted",
)


def _values(
    metric: str = "accuracy", *, is_faithful: bool, f1: bool = True, ratio: bool = True, counts: bool = True
) -> tuple[JudgedValue, ...]:
    judged_values = [
        JudgedValue(metric, {RIGHT: 1}),
        JudgedValue(f"{metric}_given_attempted", {RIGHT: 1}, _ATTEMPTED),
    ]
    if f1:
        # The harmonic mean of the two above, c/n and c/a, is 2c / (n + a).
        judged_values.append(
            JudgedValue("f1", {RIGHT: 2}, {RIGHT: 2, WRONG: 2, NOT_ATTEMPTED: 1}, not is_faithful)
        )
    if ratio:
        judged_values.append(JudgedValue("attempted_ratio", _ATTEMPTED))
    if counts:
        judged_values += [
            JudgedValue("correct_count", {RIGHT: 1}, None),
            JudgedValue("incorrect_count", {WRONG: 1}, None),
            JudgedValue("not_attempted_count", {NOT_ATTEMPTED: 1}, None),
        ]
    return tuple(judged_values)


def _first_tag(tags: Tags, otherwise: str) -> Rule[str]:
    """Return the original's rule: the first tag anywhere, else a default verdict."""
    named = {tags.right: RIGHT, tags.wrong: WRONG}
    if tags.not_attempted is not None:
        named[tags.not_attempted] = NOT_ATTEMPTED
    pattern = re.compile("|".join(re.escape(tag) for tag in named))

    def find(text: str) -> RuleMatch:
        match = pattern.search(text)
        return (
            RuleMatch(otherwise, 0, 0)
            if match is None
            else RuleMatch(named[match[0]], match.start(), match.end())
        )

    return Rule("first_letter", find)


def _letters(
    tags: Tags, otherwise: str, values: tuple[JudgedValue, ...], *, is_faithful: bool
) -> VerdictReading:
    differences: tuple[Difference[object], ...] = (FIRST_LETTER, NO_VERDICT)
    if any(value.name.casefold() == "f1" for value in values):
        differences = (*differences, SCALES)
    if is_faithful:
        return VerdictReading((_first_tag(tags, otherwise),), values, True, differences)
    # A judge that is offered two letters may still reply that nothing was attempted.
    spoken = tags._replace(not_attempted=tags.not_attempted or "C")
    return VerdictReading(verdict_rules(spoken), values, False, differences)


def _read_generic(true_tag: str = "A", false_tag: str = "B", *, is_faithful: bool) -> VerdictReading:
    tags = Tags(true_tag, false_tag, None)
    return _letters(tags, NOT_ATTEMPTED, _values(is_faithful=is_faithful), is_faithful=is_faithful)


def _read_academic(metric_name: str = "accuracy", *, is_faithful: bool) -> VerdictReading:
    values = _values(metric_name, is_faithful=is_faithful, f1=False)
    return _letters(Tags("A", "B", None), NOT_ATTEMPTED, values, is_faithful=is_faithful)


def _simple_qa(*, is_faithful: bool) -> VerdictReading:
    values = _values(is_faithful=is_faithful, ratio=False, counts=False)
    return _letters(Tags(), NOT_ATTEMPTED, values, is_faithful=is_faithful)


def _chinese_simple_qa(*, is_faithful: bool) -> VerdictReading:
    is_percent = not is_faithful
    values = (
        JudgedValue("correct", {RIGHT: 1}, is_percent=is_percent),
        JudgedValue("incorrect", {WRONG: 1}, is_percent=is_percent),
        JudgedValue("not_attempted", {NOT_ATTEMPTED: 1}, is_percent=is_percent),
        JudgedValue("given_attempted_accuracy", {RIGHT: 1}, _ATTEMPTED, is_percent),
        JudgedValue("F1", {RIGHT: 2}, {RIGHT: 2, WRONG: 2, NOT_ATTEMPTED: 1}, is_percent),
    )
    return _letters(Tags(), NOT_ATTEMPTED, values, is_faithful=is_faithful)


def _read_letter_accuracy(*, is_faithful: bool) -> VerdictReading:
    values = (JudgedValue("accuracy", {RIGHT: 1}),)
    return _letters(Tags("A", "B", None), WRONG, values, is_faithful=is_faithful)


def _last_character(*, is_faithful: bool) -> VerdictReading:
    values = (JudgedValue("accuracy", {RIGHT: 1}),)
    differences = (LAST_CHARACTER, NO_VERDICT)
    if not is_faithful:
        return VerdictReading(verdict_rules(Tags()), values, False, differences)
    rule: Rule[str] = Rule(
        "last_character",
        lambda text: RuleMatch(RIGHT if text[-1:] == "A" else WRONG, len(text) - 1, len(text)),
    )
    return VerdictReading((rule,), values, True, differences)


def _long_context(*, is_faithful: bool) -> VerdictReading:
    values = (
        JudgedValue("accuracy", {RIGHT: 1}),
        JudgedValue("correct_count", {RIGHT: 1}, None),
        JudgedValue("incorrect_count", {WRONG: 1}, None),
        JudgedValue("unknown_count", {NOT_ATTEMPTED: 1}, None),
    )
    if not is_faithful:
        return VerdictReading(verdict_rules(Tags()), values, False, (NO_VERDICT,))
    return VerdictReading((Rule("word_anywhere", _find_correct_or_incorrect),), values, True, (NO_VERDICT,))


def _find_correct_or_incorrect(text: str) -> RuleMatch:
    for word, verdict in (("INCORRECT", WRONG), ("CORRECT", RIGHT)):
        match = re.search(rf"\b{word}\b", text.upper())
        if match is not None:
            return RuleMatch(verdict, match.start(), match.end())
    return RuleMatch(NOT_ATTEMPTED, 0, 0)


def _any_correct(*, is_faithful: bool) -> VerdictReading:
    values = (JudgedValue("accuracy", {RIGHT: 1}),)
    if not is_faithful:
        return VerdictReading(verdict_rules(Tags()), values, False, (ANY_CORRECT,))

    def find(text: str) -> RuleMatch:
        match = re.search(r"\bCORRECT\b", text, re.IGNORECASE)
        return RuleMatch(WRONG, 0, 0) if match is None else RuleMatch(RIGHT, match.start(), match.end())

    return VerdictReading((Rule("correct_anywhere", find),), values, True, (ANY_CORRECT,))


def _read_strict(*, is_faithful: bool) -> VerdictReading:
    values = _values(is_faithful=is_faithful)
    if not is_faithful:
        return VerdictReading(verdict_rules(Tags()), values, False, (STRICT, NO_VERDICT))

    def find(text: str) -> RuleMatch:
        reply = text.strip().upper()
        return RuleMatch(RIGHT if reply == "A" or reply.startswith("CORRECT") else WRONG, 0, len(text))

    return VerdictReading((Rule("whole_or_correct", find),), values, True, (STRICT, NO_VERDICT))


_CORRECT_LINE = re.compile(r"\bcorrect[\"'*_]*\s*[:：]\s*[\"'*_]*(yes|no)\b", re.IGNORECASE)


def _exam(*, is_faithful: bool) -> VerdictReading:
    values = (JudgedValue("accuracy", {RIGHT: 1}),)
    if is_faithful:
        return VerdictReading((Rule("json", _json_correct),), values, True, (JSON_ONLY,))
    return VerdictReading(
        (Rule("correct_field", _correct_field), *verdict_rules(Tags())), values, False, (JSON_ONLY,)
    )


def _correct_field(text: str) -> RuleMatch | None:
    """Return the last `correct: yes` or `"correct": "no"`."""
    match = max(_CORRECT_LINE.finditer(text), key=re.Match.start, default=None)
    if match is None:
        return None
    return RuleMatch(RIGHT if match[1].lower() == "yes" else WRONG, match.start(), match.end())


def _json_correct(text: str) -> RuleMatch:
    try:
        read = json.loads(" ".join(text.split()))
        is_right = "yes" in read["correct"]
    except (ValueError, TypeError, KeyError, RecursionError):
        is_right = False
    return RuleMatch(RIGHT if is_right else WRONG, 0, len(text))


READINGS: Mapping[str, Callable[..., VerdictReading]] = {
    "generic_llmjudge_postprocess": _read_generic,
    "generic_llmjudge_academic_postprocess": _read_academic,
    "simpleqa_postprocess": _simple_qa,
    "livereasonbench_postprocess": _simple_qa,
    "csimpleqa_postprocess": _chinese_simple_qa,
    "csimpleqa": _chinese_simple_qa,
    "medmcqa_llmjudge_postprocess": _read_letter_accuracy,
    "medbullets_llmjudge_postprocess": _read_letter_accuracy,
    "MedXpertQA_llmjudge_postprocess": _read_letter_accuracy,
    "supergpqa_llmjudge_postprocess": _read_letter_accuracy,
    "aa_lcr_llmjudge_postprocess": _long_context,
    "CascadeEvaluator": _read_strict,
    "get_a_or_b": _last_character,
    "LLMJudgeCorrectEvaluator": _last_character,
    "AALCRJudgeEvaluator": _any_correct,
    "HLEJudgeEvaluator": _exam,
}
"""Factories of readings by name; a factory's parameters are the arguments that a config may set."""


def make_reading(
    name: str, arguments: Mapping[str, Any] | None = None, *, is_faithful: bool = False
) -> VerdictReading:
    """Return the reading with this name; an unknown name or argument is an error."""
    return make_by_name("reading of verdicts", READINGS, name, arguments, is_faithful=is_faithful)
