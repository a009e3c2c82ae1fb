r"""Extraction of formulas, for targets that are mathematics: `\frac{1}{2}`, `[2, \infty)`."""

from __future__ import annotations

import re

from assay.core.score import Attempt
from assay.scoring.extract.extraction import Extraction, Rule, RuleMatch, run_all_rules, run_rules
from assay.scoring.extract.reply import find_searchable_part
from assay.scoring.extract.spelling import compose_reply
from assay.scoring.extract.stated import ReplyView, announcements, build_view, find_framed_part, json_part

_TEXT = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\[A-Za-z]+|[\^_]\{|\\[{}]")
_PLAIN = re.compile(
    r"[^\s]*\^[^\s]|\bsqrt\b|√|π|∞|^[^=]{1,30}=[^=]*[0-9][^=]*$"
    r"|^[\[({]\s*[^A-Za-z]*[0-9][^\]})]*,[^\]})]*[\])}]$"
    r"|^(?=.*(?:[0-9][a-z]|\s[-+*]\s))[-+]?\s*(?:[0-9.]*[a-z]|[0-9.]+)(?:\s*[-+*]\s*(?:[0-9.]*[a-z]"
    r"|[0-9.]+))+$"
    r"|^[0-9.]+[xyznπ]$"
)
_MATH = re.compile(
    r"\$\$(?P<double>[^$]+)\$\$|\$(?P<single>[^$\n]+)\$|\\\((?P<round>.+?)\\\)"
    r"|\\\[(?P<square>.+?)\\\]",
    re.DOTALL,
)
_WORDS = re.compile(r"[A-Za-z]{3,}")
_LONGEST_BARE = 80


def plain_text(target: str) -> str:
    r"""Return a target without LaTeX commands that only contain text: `\text{Evelyn}` is Evelyn."""
    return _TEXT.sub(r"\1", target.strip().strip("$")).strip()


def is_formula(target: str) -> bool:
    """Whether a target is mathematics, not a word or a sentence."""
    text = plain_text(target)
    if _COMMAND.search(text):
        return True
    return _PLAIN.search(text) is not None and not any(word != "sqrt" for word in _WORDS.findall(text))


def _part(view: ReplyView, span: tuple[int, int] | None) -> RuleMatch | None:
    return None if span is None else RuleMatch(view.body[span[0] : span[1]].strip(), *span)


def _find_framed_formula(view: ReplyView) -> RuleMatch | None:
    """Return the formula in the last box or answer tag."""
    return _part(view, find_framed_part(view))


def _json_answer(view: ReplyView) -> RuleMatch | None:
    """Return the formula in the last JSON field named as the answer."""
    return _part(view, json_part(view))


def _find_announced_formula(view: ReplyView) -> RuleMatch | None:
    """Return the formula after the last announcement: 'the answer is $5$'."""
    segments = announcements(view)
    if not segments:
        return None
    start, stop = segments[0]
    while start > 0 and view.body[start - 1] in "$\\([{|-−+":
        start -= 1  # the sentence starts after the delimiter that opens the formula
    return _find_math(view, start, len(view.body), is_last=False) or _read_bare_formula(view, start, stop)


def _last_math(view: ReplyView) -> RuleMatch | None:
    """Return the last formula of the last paragraph."""
    start = view.body.rstrip().rfind("\n\n") + 1
    return _find_math(view, start, len(view.body), is_last=True)


def _whole_reply(view: ReplyView) -> RuleMatch | None:
    return _read_bare_formula(view, 0, len(view.body)) if len(view.body) <= _LONGEST_BARE else None


def _find_math(view: ReplyView, start: int, stop: int, *, is_last: bool) -> RuleMatch | None:
    found: re.Match[str] | None = None
    for match in _MATH.finditer(view.body, start, stop):
        if not is_last:
            gap = view.body[start : match.start()]
            return _match_from_math(match) if not _WORDS.search(gap) and len(gap) < _LONGEST_BARE else None
        found = match
    return None if found is None else _match_from_math(found)


def _match_from_math(match: re.Match[str]) -> RuleMatch:
    group = match.lastgroup or "single"
    return RuleMatch(match[group].strip(), *match.span(group))


def _read_bare_formula(view: ReplyView, start: int, stop: int) -> RuleMatch | None:
    """Return a part of a reply that is a formula, not a sentence."""
    text = view.body[start:stop].strip().strip("*_`").rstrip(".").strip()
    return RuleMatch(text, start, stop) if text and len(_WORDS.findall(text)) <= 1 else None


FORMULA_RULES: tuple[Rule[ReplyView], ...] = (
    Rule("framed_formula", _find_framed_formula),
    Rule("json_formula", _json_answer),
    Rule("announced_formula", _find_announced_formula),
    Rule("last_formula", _last_math),
    Rule("whole_formula", _whole_reply),
)
"""The rules, in the order they are tried."""


def extract_formula(text: str, *, explain: bool = False) -> Extraction:
    """Return the formula in a reply, as written."""
    spelled = compose_reply(text)
    region = find_searchable_part(spelled.text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    look = run_all_rules if explain else run_rules
    return look(build_view(spelled.text[start:end], ()), FORMULA_RULES, start).map_spans(spelled.span)


def split_equation(formula: str) -> tuple[str, str]:
    """Return the parts before and after the last equals sign: x and 3 of 'x = 3'; else '' and everything."""
    text = formula.strip().strip("$").rstrip(".").strip()
    if "=" not in text or re.search(r"[<>!]=|\\(?:[ln]eq?|[lg]e)\b", text):
        return "", text
    left, _, right = text.rpartition("=")
    return left.rpartition("=")[2].strip() if right.strip() else "", right.strip() or text
