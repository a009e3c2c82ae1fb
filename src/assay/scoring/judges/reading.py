"""Parsing of a judge's reply: a grade from 1 to 10, or which of two answers is better.

A reply without a verdict stays unread: nothing is clamped, guessed or counted as the lowest grade. Of several
verdicts the last one counts, because judges are asked to explain first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.scoring.extract.extraction import Extraction, Rule, RuleMatch, run_rules
from assay.scoring.extract.reply import find_spoken_part

LOWEST, HIGHEST = 1.0, 10.0
"""The scale of grades."""

_GRADE = r"(?P<grade>[-−]?\d+(?:\.\d+)?)\s*(?:/\s*10\s*)?"
_DOUBLE = re.compile(rf"\[\[\s*{_GRADE}\]\]")
_SINGLE = re.compile(rf"(?<!\[)\[\s*{_GRADE}\](?![\](])")
_OUT_OF_TEN = re.compile(
    r"(?<![\w.,/])(?P<grade>\d+(?:\.\d+)?)\s*(?:/|out of)\s*10(?!\w|[.,]\d)", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+(?:[.,/:]\d+)*")
_LONE = re.compile(r"(?<![\w.,\-−+/])(?P<grade>[-−]?\d+(?:\.\d+)?)(?![\w%]|[.,/:\-]\d)")

_CHOICE_DOUBLE = re.compile(r"\[\[\s*(?P<choice>[ABC])\s*\]\]")
_CHOICE_SINGLE = re.compile(r"(?<!\[)\[\s*(?P<choice>[ABC])\s*\](?![\](])")
_CHOICE_WHOLE = re.compile(r"[\s*_\"'(]*(?P<choice>[ABC])[\s*_\"').:]*")


def _grade(match: re.Match[str]) -> RuleMatch:
    """Return a grade; a number outside the scale is a statement without a grade."""
    grade = float(match["grade"].replace("−", "-"))
    return RuleMatch(f"{grade:g}" if LOWEST <= grade <= HIGHEST else None, match.start(), match.end())


def _find_last(pattern: re.Pattern[str], body: str) -> re.Match[str] | None:
    return max(pattern.finditer(body), key=re.Match.start, default=None)


def _last_grade(pattern: re.Pattern[str], body: str) -> RuleMatch | None:
    match = _find_last(pattern, body)
    return None if match is None else _grade(match)


def _lone_number(body: str) -> RuleMatch | None:
    """Return the number in a reply that contains exactly one; with several, the grade is ambiguous."""
    if len(_DIGITS.findall(body)) != 1:
        return None
    match = _LONE.search(body)
    return None if match is None else _grade(match)


def _last_choice(pattern: re.Pattern[str], body: str) -> RuleMatch | None:
    match = _find_last(pattern, body)
    return None if match is None else RuleMatch(match["choice"], match.start(), match.end())


def _whole_choice(body: str) -> RuleMatch | None:
    match = _CHOICE_WHOLE.fullmatch(body)
    return None if match is None else RuleMatch(match["choice"], match.start("choice"), match.end("choice"))


GRADE_RULES: tuple[Rule[str], ...] = (
    Rule("double_brackets", lambda body: _last_grade(_DOUBLE, body)),
    Rule("brackets", lambda body: _last_grade(_SINGLE, body)),
    Rule("out_of_ten", lambda body: _last_grade(_OUT_OF_TEN, body)),
    Rule("lone_number", _lone_number),
)
"""How a grade is found, in this order: `[[7]]`, `[7]`, `7/10`, or the only number in the reply."""

CHOICE_RULES: tuple[Rule[str], ...] = (
    Rule("double_brackets", lambda body: _last_choice(_CHOICE_DOUBLE, body)),
    Rule("brackets", lambda body: _last_choice(_CHOICE_SINGLE, body)),
    Rule("whole_reply", _whole_choice),
)
"""How a choice is found, in this order: `[[A]]`, `[A]`, or a reply that is the letter; C is a tie."""


def read_verdict(text: str, rules: Sequence[Rule[str]], *, is_whole: bool) -> Extraction:
    """Return the verdict in a reply.

    In a truncated reply only the requested format counts: a number in the middle of an explanation is not a
    grade.
    """
    region = find_spoken_part(text)
    if region is None:
        return Extraction()
    start, end = region
    return run_rules(text[start:end], rules if is_whole else rules[:1], start)
