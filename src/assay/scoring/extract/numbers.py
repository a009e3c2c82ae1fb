"""Which number did a reply give? The answer is exact: a canonical decimal, or a fraction that has none."""

from __future__ import annotations

import re

from assay.core.score import Attempt
from assay.scoring.extract.extraction import Extraction, Found, Rule, search, search_all
from assay.scoring.extract.reply import visible
from assay.scoring.extract.spelling import plain_number_reply
from assay.scoring.extract.statements import braced, last_first, leads
from assay.scoring.normalize import NUMBER, canonical, read_number

_NUMBER = re.compile(NUMBER)
_HASHES = re.compile(rf"####\s*[*_$]*\s*(?P<number>{NUMBER})")
_SENTENCE_END = re.compile(r"\n\s*\n|(?<=[^\s])\n|[.!?](?=\s|$)|[。！？]")
_WORTH = {
    "": 1,
    **dict.fromkeys("백百", 10**2),
    **dict.fromkeys("천千", 10**3),
    **dict.fromkeys("만万萬", 10**4),
    **dict.fromkeys(("십만", "十万", "十萬"), 10**5),
    **dict.fromkeys(("백만", "百万", "百萬"), 10**6),
    **dict.fromkeys(("천만", "千万", "千萬"), 10**7),
    **dict.fromkeys("억亿億", 10**8),
}
"""What a number is multiplied with by the unit after it."""
_UNITS = r"[십백천十百千]?[만万萬]|[억亿億]|[백천]"
# By themselves 千 and 百 may begin a measure, as in 5千克 (kg); after a greater unit they do not.
_UNIT = re.compile(rf"\s?({_UNITS})")
_PART = re.compile(rf"\s?(?P<number>[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]++)(?:\s?(?P<unit>{_UNITS}|[千百]))?")
_LONGEST_SENTENCE = 400  # keeps a reply that is one endless sentence cheap
_NOT_YET = re.compile(r"[\s:：*_$\\(\[{]*")


def _answer(body: str, match: re.Match[str]) -> Found | None:
    """Return a number with the Korean or Chinese unit after it, and smaller parts: 1만 2천 is 12000."""
    total = read_number(match[0])
    if total is None:
        return None
    unit = _UNIT.match(body, match.end())
    if unit is None:
        return Found(canonical(total), match.start(), match.end())
    worth, end = _WORTH[unit[1]], unit.end()
    total *= worth
    while part := _PART.match(body, end):
        value, smaller = read_number(part["number"]), part["unit"]
        is_apart = smaller is None and part.start("number") != end
        if value is None or is_apart or _WORTH[smaller or ""] >= worth:
            break  # a number of its own
        worth, end = _WORTH[smaller or ""], part.end()
        total += value * worth
    return Found(canonical(total), match.start(), end)


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
    at = 0
    while match := _NUMBER.search(body, at):
        found = _answer(body, match)
        last, at = found or last, match.end() if found is None else found.end
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

    Digits are the ASCII ones and their full-width forms. A comma groups thousands; '3,14' is read as a list
    of two numbers.
    """
    spelled = plain_number_reply(text)
    region = visible(spelled.text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    found = (search_all if explain else search)(spelled.text[start:end], NUMBER_RULES, start)
    return found.placed(spelled.span)
