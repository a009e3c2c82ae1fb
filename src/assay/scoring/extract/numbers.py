"""Extraction of the number a reply states as its answer: an exact decimal, or a fraction.

Explicit answer marks come first, then answer phrases, then the last sentence that results in a number. A
reply that states several numbers, none, or ends before its result has no answer.
"""

from __future__ import annotations

import re
from itertools import islice

from assay.core.score import Attempt
from assay.scoring.extract.clauses import find_result
from assay.scoring.extract.extraction import Extraction, Rule, RuleMatch, run_all_rules, run_rules
from assay.scoring.extract.quantities import NUMBERED, quantities
from assay.scoring.extract.reply import REFUSAL, find_searchable_part
from assay.scoring.extract.spelling import simplify_number_reply
from assay.scoring.extract.statements import (
    find_doubt,
    find_group_end,
    find_leads,
    is_retraction,
    iter_leads_backwards,
)
from assay.scoring.normalize import NUMBER, format_exact

_HASHES = re.compile(rf"####\s*[*_$]*\s*(?={NUMBER})")
_CALCULATION = re.compile(r"<<[^<>\n]*>>")
"""GSM8K's mark of a calculation: '9 * 2 = <<9*2=18>>18'."""
_BOUNDARY = re.compile(
    r"\n\s*\n|\n|(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bNo)(?<!\bvs)(?<!\bapprox)(?<!\be\.g)(?<!\bi\.e)[.!?…](?=[\s*_)\"'”]|$)|[。！？]|[;；](?=\s+[^\W\d])"
)
_MOST_PHRASES = 40  # and one that announces an answer repeatedly
_LONGEST_SENTENCE = 400  # limits the cost of a reply that is one endless sentence
_NOT_YET = re.compile(r"(?:[\s:：*_$(\[{]|\\[(\[])*+")
_CONDITION = re.compile(r"[\s\w$%*]{0,20}?\bif\b(?:[^\n]*?\b(?P<but>but)\b)?", re.IGNORECASE)
"""'The answer would be 20 if it were free, but': the rest counts."""
_LIST_OF_NUMBERS = re.compile(rf"(?:^|\n)\s*[0-9]+[.)]\s*{NUMBER}[ \t]*\n\s*[0-9]+[.)]\s*{NUMBER}\s*$")
_NAME = re.compile(r"\s*(?:[^\W\d]+\s){0,2}[*_]*(?P<word>[^\W\d]+)\s(?P<number>[0-9]{1,9})[*_.\s]*")
_BOLD = re.compile(r"\*\*([^*\n]{1,120})\*\*")
_OPENS = r"[\s*_#>\-•✓✔✅☑(（\[【]*"
_CHECK = re.compile(
    _OPENS
    + r"(?:(?:to\s+)?(?:double[\s-]?)?check|(?:to\s+)?verif|let\s+me\s+(?:verify|(?:double[\s-]?)?check)"
    r"|let['’]s\s+(?:verify|(?:double[\s-]?)?check)|quick\s+check|sanity|proof\b|验证|驗證|检验|檢驗|验算|検算|확인|검산|검증"
    r"|проверка|проверим|comprobación|comprobemos|vérifi|probe\b|überprüf|verifica|التحقق|जाँच|जांच)",
    re.IGNORECASE,
)
_CONFIRMED = re.compile(
    r"[✓✔✅☑]\s*[*_]*$|\b(?:as\s+(?:required|expected)|which\s+is\s+correct|checks\s+out)\b", re.IGNORECASE
)
_EXPLANATION = re.compile(
    _OPENS + r"(?:to\s+break\s+it\s+down|(?:here['’]s\s+the\s+|here\s+is\s+the\s+)?breakdown|explanation"
    r"|reason(?:ing)?|why"
    r"|rationale|justification|解析|解释|解釋|说明|理由|解説|説明|설명|해설|풀이"
    r"|erklärung|begründung|explicación|explication|пояснение|объяснение|spiegazione|explicação)[*_】\]]*\s*[:：】]",
    re.IGNORECASE,
)
_REMARK = re.compile(
    _OPENS + r"(?:note\b|n\.?b\b|p\.?s\b|confidence|source|remark|tip\b|hint\b|disclaimer|assum"
    r"|i\s+(?:used|assumed)\b"
    r"|注[:：意]|참고|hinweis|nota\b|remarque|примечание)"
    r"|.*\b(?:let\s+me\s+know|i\s+hope|hope\s+(?:this|that)|feel\s+free|if\s+you\s+(?:have|need|want|would)|ask\s+me"
    r"|happy\s+to|would\s+you\s+like|step\s+by\s+step)",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    _OPENS + r"(?:so|thus|therefore|hence|consequently|in\s+total|finally|overall"
    r"|所以|因此|따라서|그러므로|よって|したがって"
    r"|por\s+(?:lo\s+)?tanto|donc|also|somit|daher|итак|значит|следовательно|portanto|quindi|إذن|لذلك|इसलिए)(?![^\W_])",
    re.IGNORECASE,
)
_DANGLING = re.compile(
    r"(?:[-+*/×÷=≈(\[{,:：、，（]|\\(?:times|cdot|frac)"
    r"|(?<![^\W_])(?:and|or|the|a|an|of|to|is|are|was|were|be|by|with|for|in|on|at|from|that|which|then|so|we|she|he|it"
    r"|has|have|will|would|can|must|need|gives|give|get|if|when|because|since|as|than|per|not|divide"
    r"|multiply|subtract|add|plus|minus|equals|y|de|la|el|und|die|der|et|les|и|减去|乘以|除以|加上|等于))[\s*_]*$",
    re.IGNORECASE,
)
_PRODUCT_AT_END = re.compile(
    r"(?<![0-9.,])(?P<left>[0-9]{1,9})\s?(?P<sign>[*×x+])\s?(?P<right>[0-9]{1,9})\s?=\s?\$?(?P<result>[0-9]{1,9})$"
)
_ENDED = tuple(".!?…。！？)）]}】\"'”’»*_`$|✓✔✅☑🎉|")


def _hash_marks(body: str) -> RuleMatch | None:
    """Return the number after the last '####', GSM8K's mark."""
    last: RuleMatch | None = None
    for match in _HASHES.finditer(body):
        end = body.find("\n", match.end())
        found = quantities(body, match.end(), len(body) if end < 0 else end)
        if found and found[0].value is not None:
            last = RuleMatch(format_exact(found[0].value), found[0].start, found[0].end)
    return last


def _find_boxed_number(body: str) -> RuleMatch | None:
    """Return the number in the last box or answer tag."""
    last: RuleMatch | None = None
    if "\\" not in body and "<" not in body:
        return None
    for lead in find_leads(body, is_strong_only=True):
        if not lead.is_framed:
            continue
        is_tag = body[lead.end - 1] == ">"
        stop = body.find("<", lead.end) if is_tag else find_group_end(body, lead.end)
        if stop is None:
            continue  # truncated inside the box: the number may be incomplete
        last = find_result(body, lead.end, len(body) if stop < 0 else stop, is_announced=True) or last
    return last


def _find_stated_number(body: str) -> RuleMatch | None:
    """Return the number after the last answer phrase; for 'answer is 3 + 4 = 7' it is 7."""
    for phrase in islice(iter_leads_backwards(body), _MOST_PHRASES):
        for lead in phrase:
            found = _read_announced_number(body, lead.end)
            if found is not None:
                return _unless_withdrawn(body, found)
    return None


def _read_announced_number(body: str, begin: int) -> RuleMatch | None:
    skipped = _NOT_YET.match(body, begin)
    begin = skipped.end() if skipped else begin
    limit = min(len(body), begin + _LONGEST_SENTENCE)
    sentence = _BOUNDARY.search(body, begin, limit)
    stop = sentence.start() if sentence else limit
    found = find_result(body, begin, stop, is_announced=True)
    if found and (condition := _CONDITION.match(body, found.end, stop)):
        return (condition["but"] and find_result(body, condition.end(), stop)) or RuleMatch(None, begin, stop)
    return found


def _unless_withdrawn(body: str, match: RuleMatch) -> RuleMatch:
    """Return a stated number, its later correction, or no answer if it is only retracted."""
    doubt = find_doubt(body, match.end)
    if doubt is None:
        return match
    later = _last_result(body, doubt)
    if later is not None:
        return later
    return RuleMatch(None, match.start, doubt) if is_retraction(body, doubt) else match


def _bold_number(body: str) -> RuleMatch | None:
    """Return the only number in bold if the last sentence has no single one: '20 and 3 for tax'."""
    bold = [match.span(1) for match in _BOLD.finditer(body)] if "**" in body else []
    numbers = [one for span in bold for one in quantities(body, *span) if one.value is not None]
    if not numbers or len({one.value for one in numbers}) > 1 or REFUSAL.search(body):
        return None
    last = _last_result(body, 0)
    if last is None or last.answer is not None:
        return None
    chosen = numbers[-1]
    return (
        RuleMatch(format_exact(chosen.value), chosen.start, chosen.end) if chosen.value is not None else None
    )


def _last_number(body: str) -> RuleMatch | None:
    """Return the number of the last sentence that results in one."""
    if REFUSAL.search(body, 0, _LONGEST_SENTENCE) or _LIST_OF_NUMBERS.search(body, max(0, len(body) - 120)):
        return None
    return _last_result(body, 0) or _read_numbered_name(body)


def _read_numbered_name(body: str) -> RuleMatch | None:
    """Return the number of a reply that only names a thing by it: 'Chapter 12'."""
    name = _NAME.fullmatch(body) if len(body) < _LONGEST_SENTENCE else None
    if name is None or name["word"].lower() not in NUMBERED:
        return None
    return RuleMatch(str(int(name["number"])), *name.span("number"))


def _sentences(body: str, start: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for match in _BOUNDARY.finditer(body, start):
        if match.start() > start and not body[start : match.start()].isspace():
            spans.append((start, match.start()))
        start = match.end()
    if body[start:].strip():
        spans.append((start, len(body)))
    return spans


def _last_result(body: str, since: int) -> RuleMatch | None:
    spans = _sentences(body, since)
    if not spans or _is_cut_off(body, spans):
        return None
    if since == 0:
        spans = _drop_explanation(body, spans)
    stating = _drop_checks(body, spans)
    for group in (stating, spans):
        for start, stop in reversed(group):
            if body[stop : stop + 1] in ("?", "？"):
                continue
            found = _read_sentence_result(body, start, stop)
            if found is not None:
                return None if start > _LONGEST_SENTENCE and REFUSAL.search(body, start, stop) else found
    return None


def _read_sentence_result(body: str, start: int, stop: int) -> RuleMatch | None:
    start = max(start, stop - _LONGEST_SENTENCE)
    line = body[start:stop].strip()
    if len(line) > 1 and line.startswith("|") and line.endswith("|"):
        start = (
            body.rindex("|", start, start + len(body[start:stop].rstrip()) - 1) + 1
        )  # the last cell of a row
    return find_result(body, start, stop)


def _drop_explanation(body: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the sentences before 'Explanation:', if they contain a number."""
    for index, (start, _) in enumerate(spans):
        if index and _EXPLANATION.match(body, start):
            before = spans[:index]
            return before if any(quantities(body, *span) for span in before) else spans
    return spans


def _drop_checks(body: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the sentences that neither check a result nor make a remark."""
    kept: list[tuple[int, int]] = []
    is_checking = False
    previous = 0
    for start, stop in spans:
        if is_checking and ("\n\n" in body[previous : start + 2] or _CONCLUDES.match(body, start)):
            is_checking = False
        previous = stop
        if _CHECK.match(body, start, stop):
            is_checking = True
        text = body[start:stop].strip()
        if text[:1] in ("(", "（") and text[-1:] in (")", "）"):
            continue
        if is_checking or _REMARK.match(body, start, stop) or _CONFIRMED.search(body, start, stop):
            continue
        kept.append((start, stop))
    return kept


def _is_cut_off(body: str, spans: list[tuple[int, int]]) -> bool:
    """Whether a reply ends in the middle of a sentence that has no number yet."""
    text = body.rstrip()
    start, stop = spans[-1]
    if (product := _PRODUCT_AT_END.search(text, max(0, len(text) - 60))) and _is_begun(product):
        return True
    if text.endswith(_ENDED) and not text.endswith(("(**", ":**")):
        return False
    if _DANGLING.search(body, start, stop):
        return True
    if len(spans) < 3 or quantities(body, max(start, stop - _LONGEST_SENTENCE), stop):
        return False
    return len(body[start:stop].split()) > 3 and not _REMARK.match(body, start, stop)


def _is_begun(product: re.Match[str]) -> bool:
    """Whether the result of a calculation at the very end is only its first digits: '12 * 15 = 1'."""
    left, right = int(product["left"]), int(product["right"])
    whole = str(left + right if product["sign"] == "+" else left * right)
    return whole != product["result"] and whole.startswith(product["result"])


NUMBER_RULES: tuple[Rule[str], ...] = (
    Rule("hash_marks", _hash_marks),
    Rule("boxed", _find_boxed_number),
    Rule("stated_number", _find_stated_number),
    Rule("bold_number", _bold_number),
    Rule("last_number", _last_number),
)
"""The rules, in the order they are tried."""


def extract_number(text: str, *, explain: bool = False) -> Extraction:
    """Return the number that a reply states as its answer, as a canonical decimal string."""
    if text.isdecimal() and text.isascii() and len(text) < _LONGEST_SENTENCE and not explain:
        return Extraction(str(int(text)), "last_number", (0, len(text)))
    spelled = simplify_number_reply(text)
    if "<<" in text:
        spelled = spelled._replace(text=_CALCULATION.sub(lambda match: " " * len(match[0]), spelled.text))
    region = find_searchable_part(spelled.text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    found = (run_all_rules if explain else run_rules)(spelled.text[start:end], NUMBER_RULES, start)
    return found.map_spans(spelled.span)
