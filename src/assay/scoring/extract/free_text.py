"""Which free answer did a reply give? For exact match: a phrase after an announcement, or the first line."""

from __future__ import annotations

import re

from assay.core.score import Attempt
from assay.scoring.extract.extraction import Extraction, Found, Rule, search, search_all
from assay.scoring.extract.reply import visible
from assay.scoring.extract.spelling import composed_reply
from assay.scoring.extract.statements import braced, last_first, leads

_MARKS = " \t\n*_`\"“”'‘’"
# A full stop that ends a sentence, not one after an initial or a title.
_STOP = re.compile(
    r"(?<![ .][A-Z])(?<!\bSt)(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bJr)(?<!\bMrs)[.!?](?=\s|$)|[。！？]|\n"
)
_LONGEST_ANSWER = 2_000  # keeps a reply that is one endless sentence cheap
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf)\s*\{([^{}]*)\}")
_CLOSE_TAG = re.compile(r"</(?:final_?)?answer>", re.IGNORECASE)


def _trimmed(body: str, start: int, stop: int) -> Found | None:
    while start < stop and body[start] in _MARKS:
        start += 1
    while stop > start and body[stop - 1] in _MARKS + ".":
        stop -= 1
    return Found(body[start:stop], start, stop) if stop > start else None


def _framed(body: str) -> Found | None:
    """Return what stands in the last box or answer tag."""
    last: Found | None = None
    for lead in leads(body, is_strong_only=True):
        if not lead.is_framed:
            continue
        if body[lead.end - 1] == ">":
            closing = _CLOSE_TAG.search(body, lead.end)
            last = _trimmed(body, lead.end, closing.start() if closing else len(body)) or last
            continue
        stop = braced(body, lead.end)
        if stop is not None and (found := _trimmed(body, lead.end, stop)):
            plain = _TEXT_COMMAND.sub(r"\1", found.answer or "").strip()
            last = Found(plain, found.start, found.end)
    return last


def _stated_text(body: str) -> Found | None:
    """Return what the last answer phrase gives: to the end of its sentence, or the next line."""
    for phrase in last_first(body):
        start = phrase[0].end  # later links of one phrase would cut the answer short
        while start < len(body) and body[start] in _MARKS + ":：":
            start += 1
        limit = min(len(body), start + _LONGEST_ANSWER)
        stop = _STOP.search(body, start, limit)
        found = _trimmed(body, start, stop.start() if stop else limit)
        if found is not None:
            return found
    return None


def _first_line(body: str) -> Found | None:
    match = _LINE.search(body)
    return _trimmed(body, *match.span()) if match else None


TEXT_RULES: tuple[Rule[str], ...] = (
    Rule("framed", _framed),
    Rule("stated_text", _stated_text),
    Rule("first_line", _first_line),
)
"""The rules in the order in which they are tried."""


def extract_text(text: str, *, explain: bool = False) -> Extraction:
    """Return the free answer that a reply gives."""
    spelled = composed_reply(text)
    region = visible(spelled.text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    return (search_all if explain else search)(spelled.text[start:end], TEXT_RULES, start).placed(
        spelled.span
    )
