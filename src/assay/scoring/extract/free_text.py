"""Extraction of free answers for exact match: a phrase after an announcement, or the first line."""

from __future__ import annotations

import re

from assay.core.score import Attempt
from assay.scoring.extract.extraction import Extraction, Rule, RuleMatch, run_all_rules, run_rules
from assay.scoring.extract.reply import find_searchable_part
from assay.scoring.extract.spelling import compose_reply
from assay.scoring.extract.statements import find_group_end, find_leads, iter_leads_backwards

_MARKS = " \t\n*_`\"“”'‘’"
# A full stop that ends a sentence, not one after an initial or a title.
_STOP = re.compile(
    r"(?<![ .][A-Z])(?<!\bSt)(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bJr)(?<!\bMrs)[.!?](?=\s|$)|[。！？]|\n"
)
_LONGEST_ANSWER = 2_000  # limits the cost of a reply that is one endless sentence
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf)\s*\{([^{}]*)\}")
_CLOSE_TAG = re.compile(r"</(?:final_?)?answer>", re.IGNORECASE)


def _trim_marks(body: str, start: int, stop: int) -> RuleMatch | None:
    while start < stop and body[start] in _MARKS:
        start += 1
    while stop > start and body[stop - 1] in _MARKS + ".":
        stop -= 1
    return RuleMatch(body[start:stop], start, stop) if stop > start else None


def _find_framed_text(body: str) -> RuleMatch | None:
    """Return the contents of the last box or answer tag."""
    last: RuleMatch | None = None
    for lead in find_leads(body, is_strong_only=True):
        if not lead.is_framed:
            continue
        if body[lead.end - 1] == ">":
            closing = _CLOSE_TAG.search(body, lead.end)
            last = _trim_marks(body, lead.end, closing.start() if closing else len(body)) or last
            continue
        stop = find_group_end(body, lead.end)
        if stop is not None and (found := _trim_marks(body, lead.end, stop)):
            plain = _TEXT_COMMAND.sub(r"\1", found.answer or "").strip()
            last = RuleMatch(plain, found.start, found.end)
    return last


def _find_stated_text(body: str) -> RuleMatch | None:
    """Return the text after the last answer phrase: to the end of its sentence, or the next line."""
    for phrase in iter_leads_backwards(body):
        start = phrase[0].end  # later links of one phrase would cut the answer short
        while start < len(body) and body[start] in _MARKS + ":：":
            start += 1
        limit = min(len(body), start + _LONGEST_ANSWER)
        stop = _STOP.search(body, start, limit)
        found = _trim_marks(body, start, stop.start() if stop else limit)
        if found is not None:
            return found
    return None


def _first_line(body: str) -> RuleMatch | None:
    match = _LINE.search(body)
    return _trim_marks(body, *match.span()) if match else None


TEXT_RULES: tuple[Rule[str], ...] = (
    Rule("framed", _find_framed_text),
    Rule("stated_text", _find_stated_text),
    Rule("first_line", _first_line),
)
"""The rules, in the order they are tried."""


def extract_text(text: str, *, explain: bool = False) -> Extraction:
    """Return the free answer in a reply."""
    spelled = compose_reply(text)
    region = find_searchable_part(spelled.text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    return (run_all_rules if explain else run_rules)(spelled.text[start:end], TEXT_RULES, start).map_spans(
        spelled.span
    )
