"""Search for option texts in a reply. Nothing is precomputed: it runs only if labels are not found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from assay.scoring.normalize import normalize

_FOLLOWS_NUMBER = re.compile(r"[.,:/]?\d")
_BEFORE_NUMBER = re.compile(r"(?:\d[.,:/]?|(?:^|[\s(=$])[-−]|\^|[A-Za-z_])$")
_REJECTED_BEFORE = re.compile(
    r"(?:(?:n['’]t|\b(?:not|never|neither|nor|without|than|unlike|except|excluding|rule\s+out|eliminate|wrong))"
    r"\s+(?:the\s+|an?\s+|option\s+|in\s+|at\s+|be\s+)?|不是|排除)[\"'“*(]*$",
    re.IGNORECASE,
)
_REJECTED_AFTER = re.compile(
    r"[\"'”*)]*\s*(?:(?:is|was|are)\s+(?:\w+ly\s+)?(?:not\b|wrong|incorrect|false)|isn['’]t|doesn['’]t|\?|吗"
    r"|(?:이|가|은|는)?\s*(?:아니|아닙))",
    re.IGNORECASE,
)
_CONCEDED = re.compile(
    r"(?:\b(?:al)?though|\bwhile|\bwhilst|\bdespite|\bin\s+spite\s+of|\bunlike|\bwhereas|\bcontrary\s+to"
    r"|\bmany\s+(?:people|would)|\bpeople\s+(?:often\s+)?(?:think|say|believe)|\bsome\s+(?:people|might|may|say)"
    r"|\b(?:initially|at\s+first|originally))\b[^,.;\n]*$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_JOINED = re.compile(r"\b(?:and|or)\s+$", re.IGNORECASE)
_CHAINS = re.compile(r"\s*(?:\b(?:and|or)\b|[,/])", re.IGNORECASE)
_IS = re.compile(
    r"\b(?:is|are|was|were)\s+(?:actually\s+|indeed\s+|clearly\s+|therefore\s+)?[\"'“*_]*$", re.IGNORECASE
)
_CLOSES_CLAUSE = re.compile(r"[\"'”*_]*\s*(?:[.,;:!]|$|\n|because\b|since\b|as\b)")
# These words also have other uses in a sentence; as an answer they open or close it.
_PLAIN_WORDS = frozenset(
    (
        "yes",
        "no",
        "true",
        "false",
        "not",
        "none",
        "both",
        "neither",
        "all",
        "can",
        "may",
        "will",
        "one",
        "two",
    )
)


class ChoiceOccurrence(NamedTuple):
    """An option's text found in a reply."""

    option: int
    start: int
    end: int


def equal_choice(text: str, choices: Sequence[str]) -> int | None:
    """Return the one option whose normalized text equals this one; None for none or several."""
    wanted = normalize(text)
    if not wanted:
        return None
    found = [index for index, choice in enumerate(choices) if normalize(choice) == wanted]
    return found[0] if len(found) == 1 else None


def find_choice_at(body: str, at: int, choices: Sequence[str]) -> ChoiceOccurrence | None:
    """Return the option whose text starts at a position, the longest if several do."""
    while at < len(body) and not (body[at].isalnum() or body[at] in "-−+.\\/"):
        at += 1
    near = body[at : at + max(map(len, choices), default=0) + 1]
    here = near.casefold()
    if len(here) != len(near):
        return None  # folding changed the length, so offsets would be wrong
    best: ChoiceOccurrence | None = None
    for index, choice in enumerate(choices):
        wanted = choice.strip().rstrip(".").casefold()
        if not wanted or not here.startswith(wanted) or not _is_bounded(body, at, at + len(wanted)):
            continue
        if best is None or at + len(wanted) > best.end:
            best = ChoiceOccurrence(index, at, at + len(wanted))
    return best


def occurrences(body: str, choices: Sequence[str]) -> list[ChoiceOccurrence]:
    """Return where option texts occur in a reply as separate words, longest first.

    A text that is part of another option's text counts only where the longer one does not occur. Rejected
    occurrences ('not Paris') are omitted.
    """
    folded = body.casefold()
    if len(folded) != len(body):
        folded = body.lower() if len(body.lower()) == len(body) else body
    by_length = sorted(range(len(choices)), key=lambda index: -len(choices[index]))
    taken: list[tuple[int, int]] = []
    found: list[ChoiceOccurrence] = []
    for index in by_length:
        wanted = choices[index].strip().rstrip(".").casefold()
        at = folded.find(wanted) if wanted else -1
        while at >= 0:
            end = at + len(wanted)
            if _is_bounded(body, at, end) and not any(a < end and at < b for a, b in taken):
                taken.append((at, end))
                if not is_choice_rejected(body, at, end) and _is_answer_like(body, at, end, wanted):
                    found.append(ChoiceOccurrence(index, at, end))
            at = folded.find(wanted, end)
    return found


def split_sentences(body: str) -> list[tuple[int, int]]:
    """Return the spans of a reply's sentences and lines."""
    spans, start = [], 0
    for match in _SENTENCE.finditer(body):
        if body[start : match.start()].strip():
            spans.append((start, match.start()))
        start = match.end()
    if body[start:].strip():
        spans.append((start, len(body)))
    return spans


def has_joined_choice(body: str, first: ChoiceOccurrence, choices: Sequence[str]) -> bool:
    """Whether another option's text is joined on: 'Paris or London'."""
    joined = _CHAINS.match(body, first.end)
    if joined is None:
        return False
    other = find_choice_at(body, joined.end(), choices)
    return other is not None and other.option != first.option


def _is_bounded(body: str, start: int, end: int) -> bool:
    before, first = body[max(0, start - 2) : start], body[start]
    if first.isdigit() or first in ".-−":
        if _BEFORE_NUMBER.search(before):
            return False
    elif before and first.isascii() and first.isalnum() and before[-1].isascii() and before[-1].isalnum():
        return False
    last, after = body[end - 1], body[end : end + 1]
    if last.isdigit() and _FOLLOWS_NUMBER.match(body, end):
        return False
    if after == "-" and last.isalpha() and body[end + 1 : end + 2].isalnum():
        return False
    return not (after.isascii() and after.isalnum() and last.isascii() and last.isalnum())


def is_choice_rejected(body: str, start: int, end: int) -> bool:
    """Whether the words around an option's text deny or merely concede it: 'although Mercury is closer'."""
    if _REJECTED_BEFORE.search(body, max(0, start - 30), start) or _REJECTED_AFTER.match(body, end):
        return True
    return start > 0 and _CONCEDED.search(body, max(0, start - 80), start) is not None


def _is_answer_like(body: str, start: int, end: int, wanted: str) -> bool:
    if wanted not in _PLAIN_WORDS and (len(wanted) > 3 or not (wanted.isascii() and wanted.isalpha())):
        return True
    if not body[:start].strip(" \n\"'*(_"):
        return end == len(body) or not body[end].isspace() or body[end] == "\n"
    if _JOINED.search(body, 0, start):
        return False
    if _IS.search(body, max(0, start - 24), start) and _CLOSES_CLAUSE.match(body, end):
        return True
    closes = not body[end:].strip(" \n\"'*)_.!")
    return closes or (body[start - 1] in "\"'*“‘" and body[end : end + 1] in ("'", '"', "*", "”", "’"))
