"""Which number did a reply give? The answer is exact: a canonical decimal, or a fraction that has none."""

from __future__ import annotations

import re

from assay.core.score import Attempt
from assay.scoring.extract.extraction import Extraction, Found, Rule, search, search_all
from assay.scoring.extract.reply import visible
from assay.scoring.extract.statements import braced, last_first, leads
from assay.scoring.normalize import NUMBER, canonical, read_number

_NUMBER = re.compile(NUMBER)
_HASHES = re.compile(rf"####\s*[*_$]*\s*(?P<number>{NUMBER})")
_SENTENCE_END = re.compile(r"\n\s*\n|(?<=[^\s])\n|[.!?](?=\s|$)|[。！？]")
_LONGEST_SENTENCE = 400  # keeps a reply that is one endless sentence cheap
_NOT_YET = re.compile(r"[\s:：*_$\\(\[{]*")


def _answer(body: str, match: re.Match[str], start: int | None = None) -> Found | None:
    value = read_number(match[0])
    if value is None:
        return None
    return Found(canonical(value), match.start() if start is None else start, match.end())


def _hash_marks(body: str) -> Found | None:
    """Return the number after the last '####', the mark of GSM8K."""
    last: Found | None = None
    for match in _HASHES.finditer(body):
        number = _NUMBER.match(body, match.start("number"))
        if number is not None:
            last = _answer(body, number) or last
    return last


def _boxed(body: str) -> Found | None:
    """Return the number in the last box or answer tag."""
    last: Found | None = None
    for lead in leads(body, is_strong_only=True):
        if not lead.is_framed:
            continue
        is_tag = body[lead.end - 1] == ">"
        stop = body.find("<", lead.end) if is_tag else braced(body, lead.end)
        if stop is None:
            continue  # cut off inside the box: the number may not be whole
        last = _stated_in(body, lead.end, len(body) if stop < 0 else stop) or last
    return last


def _stated_number(body: str) -> Found | None:
    """Return the number that the last answer phrase gives; of 'answer is 3 + 4 = 7' the 7."""
    for phrase in last_first(body):
        for lead in phrase:
            begin = lead.end
            while begin < len(body) and _NOT_YET.fullmatch(body[begin]):
                begin += 1
            limit = min(len(body), begin + _LONGEST_SENTENCE)
            sentence = _SENTENCE_END.search(body, begin, limit)
            found = _stated_in(body, begin, sentence.start() if sentence else limit)
            if found is not None:
                return found
    return None


def _stated_in(body: str, start: int, stop: int) -> Found | None:
    equals = max(body.rfind(sign, start, stop) for sign in ("=", "≈"))
    if equals >= 0 and (match := _NUMBER.search(body, equals + 1, stop)):
        return _answer(body, match)
    match = _NUMBER.search(body, start, stop)
    return _answer(body, match) if match else None


def _last_number(body: str) -> Found | None:
    last: Found | None = None
    for match in _NUMBER.finditer(body):
        last = _answer(body, match) or last
    return last


NUMBER_RULES: tuple[Rule[str], ...] = (
    Rule("hash_marks", _hash_marks),
    Rule("boxed", _boxed),
    Rule("stated_number", _stated_number),
    Rule("last_number", _last_number),
)
"""The rules in the order in which they are tried."""


def extract_number(text: str, *, explain: bool = False) -> Extraction:
    """Return the number that a reply gives, as a canonical decimal string.

    Digits are the ASCII ones. A comma groups thousands; '3,14' is read as a list of two numbers.
    """
    region = visible(text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    return (search_all if explain else search)(text[start:end], NUMBER_RULES, start)
