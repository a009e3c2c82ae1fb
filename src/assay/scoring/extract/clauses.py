"""Which number is the result of a sentence, not a reason, a comparison or a circumstance.

'He pays $40 for 5 tickets because 8 * 5 = 40' results in 40. A sentence with several results has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from assay.scoring.extract.extraction import RuleMatch
from assay.scoring.extract.quantities import Quantity, Role, quantities
from assay.scoring.normalize import format_exact

# From here on the sentence gives a reason or compares: no number in it is the result.
_REASON = re.compile(
    r"(?<![^\W_])(?:because|since|given\s+that|due\s+to|as\s+(?:required|expected|given|needed|stated)|(?<=,\s)as\s"
    r"|compared|including|includes?|of\s+which|(?<=,\s)(?:with\s+)?(?:a\s+)?remainder|rather\s+than|instead\s+of|weil|denn|puisque|(?<=,\s)car|parce\s+que"
    r"|porque|ya\s+que|потому\s+что|так\s+как|poiché|perché|pois)(?![^\W_])|因为|由于|なぜなら|왜냐하면",
    re.IGNORECASE,
)
# The same, unless an equation follows: 'half of it, which is 6 / 2 = 3'.
_REMARK = re.compile(
    r"(?<![^\W_])(?:which\s+(?:is|are|was|were)\b|i\.e\b|that\s+is,|(?P<that>(?<=,\s)that(?:\s+is|['’]s)\b))|\s[—–]\s|\s-\s",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"(?<![^\W_])(?:so|thus|therefore|hence|consequently|then|means|totall?ing"
    r"|(?<=,\s)(?:meaning|bringing|making|giving|leaving)|for\s+a\s+(?:grand\s+)?total|which\s+(?:gives|makes|leaves|equals|totals|brings)|por\s+(?:lo\s+)?tanto|así\s+que"
    r"|donc|daher|somit|folglich|значит|следовательно|поэтому|portanto|quindi|dunque|,\s*also(?=\s+[0-9$€]))(?![^\W_])"
    r"|⇒|→|=>|∴|所以|因此|从而|따라서|그러므로|그래서|よって|したがって|だから|ゆえに|إذن|लिए|इसलिए",
    re.IGNORECASE,
)
_CONCLUSION_OR_COLON = re.compile(rf"{_CONCLUSION.pattern}|:\s", re.IGNORECASE)
_COMMA = re.compile(r"[,，、]\s?")
_BRACKETS = re.compile(r"\([^()\n]*\)|（[^（）\n]*）")
_NEXT_ITEM = re.compile(r",\s[$€£¥₩]?$")
_SHARE = re.compile(r"\s?%?\s+of\b")
"""'a third of the total, i.e. 12': the share is not the result of the sentence."""
_PURPOSE = re.compile(r"\bto\s+[a-z]+\s+(?:the\s+|a\s+|all\s+)?[$€£]?$", re.IGNORECASE)
_LETTER_EQUALS = re.compile(r"(?<![^\W_])[A-Za-z](?:_\w{1,3}|\\_?\w)?\s*=\s*[$\\]*$")
_ALTERNATIVE = re.compile(
    r"[\s*_%°\"')]*(?:"
    r"(?:[^\W\d_]{1,16}[\s*_]+){0,2}?[가-힣]{0,3}?,?[\s*_]*(?:(?<![^\W\d_])(?:or|and|to|ou|et|oder|und|bis|или|либо|до"
    r"|through)(?![^\W\d_])|或者?|或是|至|到|和|与|か|から|または|또는|이나|에서|과|와|[～~])"
    r"|,?\s(?:y|o|u|e|a|à|и|나)\s|나\s)"
    r"\s*(?:(?:maybe|perhaps|possibly|even|about|around|либо|entre)\s+)?[\s*_$€£¥₩(]*"
)
_ADDITION = re.compile(r"\s(?:[^\W\d_]+,?\s){0,5}(?:and|plus|y|und|et|e|и)\s[$€£¥₩]?", re.IGNORECASE)
_COMPOUND = re.compile(
    r"\s?(?:hours?|hrs?|h|minutes?|mins?|days?|weeks?|years?|feet|foot|ft|pounds?|lbs?|dollars?|euros?|kg|시간|분|일|小时|小時|時間"
    r"|分钟|分|天|元|horas?|heures?|stunden?)\s?(?:and\s|y\s|et\s|und\s)?",
    re.IGNORECASE,
)
_LISTED = re.compile(r"[\s*_%]*[,、;，]\s*(?:and\s+|or\s+|либо\s+)?[\s*_$€£¥₩]*")
_ENDLESS = 6
"""A reply with the same number this many times repeats itself."""
_EMPTY = re.compile(r"[\s\"'*_`\[{]*(?:null|none|n/?a|unknown|undefined|nil)\b", re.IGNORECASE)
_LINKS_TWO = re.compile(r"[^\W\d_]{2,}")
_ONLY_CONJUNCTION = frozenset(("and", "or", "y", "und", "et", "e", "и", "per", "to"))


def find_result(body: str, start: int, stop: int, *, is_announced: bool = False) -> RuleMatch | None:
    """Return the number a sentence results in; None if it has none, no answer if it has several.

    `is_announced`: an answer phrase comes before it, so the first number is the answer.
    """
    if is_announced and _EMPTY.match(body, start, stop):
        return RuleMatch(None, start, stop)
    found = quantities(body, start, stop)
    if not found:
        return None
    if is_announced and (first := _find_opening(body, start, stop, found)):
        return first
    kept = _drop_asides(body, start, stop, found)
    if not kept:
        return None
    return _choose_quantity(body, kept)


def _find_opening(body: str, start: int, stop: int, quantities: Sequence[Quantity]) -> RuleMatch | None:
    """Return the number that opens an announced answer: 'The answer is | 5, which is 3 more than 2'."""
    first = quantities[0]
    if body[start : first.start].strip(" \t\n*_`\"'“”‘’:：$\\({[（=≈~#-"):
        return None
    if first.value is not None:
        return _as_answer(body, quantities, 0)
    results = [quantity for quantity in quantities[1:] if quantity.follows_equals]
    if not results:
        return RuleMatch(None, first.start, first.end)
    sure = _drop_reasons(body, start, stop, results) or results
    return _as_answer(body, quantities, quantities.index(sure[-1]))


def _drop_asides(body: str, start: int, stop: int, quantities: list[Quantity]) -> list[Quantity]:
    """Return the numbers of the clause that states something: no reasons, and what follows 'so'."""
    brackets = [match.span() for match in _BRACKETS.finditer(body, start, stop)]
    kept = [one for one in quantities if not any(a <= one.start < b for a, b in brackets)] or quantities
    kept = _drop_reasons(body, start, stop, kept)
    for match in reversed(list(_CONCLUSION.finditer(body, start, stop))):
        after = [one for one in kept if one.start >= match.end()]
        if after:
            return after
    return kept


def _drop_reasons(body: str, start: int, stop: int, quantities: list[Quantity]) -> list[Quantity]:
    """Return the numbers outside reasons and remarks; those of a remark if there are no others."""
    reasons = [
        _clause(body, match.start(), stop, quantities) for match in _REASON.finditer(body, start, stop)
    ]
    kept = [one for one in quantities if not any(a <= one.start < b for a, b in reasons)]
    for match in _REMARK.finditer(body, start, stop):
        if any(one.follows_equals and one.start > match.start() for one in kept):
            continue
        before = [one for one in kept if one.start < match.start()]
        if match["that"] and (len(before) != 1 or body[start : before[0].start].strip("*_ ")):
            continue  # '8 each, that is 24' results in 24, '24, that is 8 each' does not
        if before and _SHARE.match(body, before[-1].end) and len(before) < len(kept):
            return kept[len(before) :]
        if any(one.role is not Role.ASIDE for one in before):
            end = _CONCLUSION.search(body, match.end(), stop)
            return before + ([one for one in kept if one.start >= end.start()] if end else [])
    return kept


def _clause(body: str, at: int, stop: int, quantities: list[Quantity]) -> tuple[int, int]:
    """Return the span of a reason: to its comma if it opens a sentence, else to a conclusion."""
    opens = not any(one.start < at and one.role is not Role.ASIDE for one in quantities)
    end = (_COMMA if opens else _CONCLUSION_OR_COLON).search(body, at + 1, stop)
    if end is None and body.startswith("since", at):
        comma = _COMMA.search(body, at, stop)
        end = (
            comma
            if comma and any(one.follows_equals and one.start > comma.end() for one in quantities)
            else None
        )
    return at, end.start() if end else stop


def _choose_quantity(body: str, candidates: list[Quantity]) -> RuleMatch | None:
    if candidates[-1].is_left_side or (
        len(candidates) >= _ENDLESS and len({one.value for one in candidates}) == 1
    ):
        return RuleMatch(None, candidates[0].start, candidates[-1].end)
    bold = [one for one in candidates if one.is_bold and one.value is not None]
    if bold and len({one.value for one in bold}) == 1 and len(candidates) > 1:
        return _as_answer(body, candidates, candidates.index(bold[-1]))
    for role in Role:
        members = [index for index, one in enumerate(candidates) if one.role is role]
        if role is Role.ASIDE:
            members = [index for index in members if candidates[index].value is not None]
        if members:
            return _choose_by_role(body, candidates, members, role)
    return None


def _choose_by_role(
    body: str, candidates: list[Quantity], members: list[int], role: Role
) -> RuleMatch | None:
    if any(candidates[index].follows_equals for index in members):
        members = [
            index
            for index in members
            if not _PURPOSE.search(body, candidates[index].start - 16, candidates[index].start)
        ]
    last = candidates[members[-1]]
    if last.follows_equals and not _has_two_solutions(body, candidates, members):
        after = candidates[members[-1] + 1 :]
        if any(one.role is Role.SUBJECT and _NEXT_ITEM.search(body, last.end, one.start) for one in after):
            return RuleMatch(None, last.start, after[-1].end)
        return _as_answer(body, candidates, members[-1])
    if len({candidates[index].value for index in members}) == 1:
        return _as_answer(body, candidates, members[-1] if role is Role.RESULT else members[0])
    if last.is_copula and not any(candidates[index].is_copula for index in members[:-1]):
        return _as_answer(body, candidates, members[-1])
    previous = candidates[members[-2]]
    between = {word.lower() for word in _LINKS_TWO.findall(body, previous.end, last.start)}
    if role is Role.SUBJECT and between - _ONLY_CONJUNCTION:
        return _as_answer(body, candidates, members[-1])
    return RuleMatch(None, previous.start, last.end)


def _has_two_solutions(body: str, candidates: list[Quantity], members: list[int]) -> bool:
    """Whether the last equations give values of letters: 'x = 5 or x = -5'."""
    solved = [candidates[index] for index in members if candidates[index].follows_equals]
    if len(solved) < 2 or solved[-1].value == solved[-2].value:
        return False
    return all(
        _LETTER_EQUALS.search(body, max(0, one.start - 12), one.start) for one in solved[-2:]
    ) and bool(_ALTERNATIVE.match(body, solved[-2].end) or _LISTED.match(body, solved[-2].end))


def _as_answer(body: str, quantities: Sequence[Quantity], index: int) -> RuleMatch:
    """Return a number as the answer, or no answer if another is joined to it: '12 or 14', '30 to 40'."""
    own = quantities[index]
    for first, second in ((index - 1, index), (index, index + 1)):
        if first < 0 or second >= len(quantities):
            continue
        one, other = quantities[first], quantities[second]
        if _is_same(body, one, other):
            continue
        is_listed = (
            (one.role is other.role or one.role is not Role.ASIDE)
            and _LISTED.fullmatch(body, one.end, other.start)
        ) or (
            one is own
            and other.role is not Role.ASIDE
            and not (own.follows_equals or other.follows_equals)
            and _ADDITION.fullmatch(body, one.end, other.start)
        )
        if (
            is_listed
            or _COMPOUND.fullmatch(body, one.end, other.start)
            or (_ALTERNATIVE.fullmatch(body, one.end, other.start) and not other.follows_equals)
        ):
            return RuleMatch(None, one.start, other.end)
    return RuleMatch(None if own.value is None else format_exact(own.value), own.start, own.end)


def _is_same(body: str, one: Quantity, other: Quantity) -> bool:
    """Whether two numbers are equal: '1/4, or 25%'."""
    if one.value is None or other.value is None:
        return False
    percents = [
        body[quantity.end : quantity.end + 2].lstrip("\\ ").startswith("%") for quantity in (one, other)
    ]
    left, right = (
        quantity.value / 100 if is_percent else quantity.value
        for quantity, is_percent in zip((one, other), percents, strict=True)
        if isinstance(quantity.value, Fraction)
    )
    return left == right
