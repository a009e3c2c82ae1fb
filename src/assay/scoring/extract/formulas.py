r"""Which formula did a reply give? For right answers that are mathematics: `\frac{1}{2}`, `[2, \infty)`."""

from __future__ import annotations

import re

from assay.core.score import Attempt
from assay.scoring.extract.extraction import Extraction, Found, Rule, search, search_all
from assay.scoring.extract.reply import visible
from assay.scoring.extract.spelling import composed_reply
from assay.scoring.extract.stated import View, announcements, framed_part, json_part, view_of

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
    r"""Return a target without the LaTeX commands that only hold text: `\text{Evelyn}` is Evelyn."""
    return _TEXT.sub(r"\1", target.strip().strip("$")).strip()


def is_formula(target: str) -> bool:
    """Whether a right answer is mathematics, and not a word or a sentence."""
    text = plain_text(target)
    if _COMMAND.search(text):
        return True
    return _PLAIN.search(text) is not None and not any(word != "sqrt" for word in _WORDS.findall(text))


def _part(view: View, span: tuple[int, int] | None) -> Found | None:
    return None if span is None else Found(view.body[span[0] : span[1]].strip(), *span)


def _framed(view: View) -> Found | None:
    """Return the formula in the last box or answer tag."""
    return _part(view, framed_part(view))


def _json_answer(view: View) -> Found | None:
    """Return the formula in the last JSON field that is called the answer."""
    return _part(view, json_part(view))


def _announced(view: View) -> Found | None:
    """Return the formula after the last announcement: 'the answer is $5$'."""
    segments = announcements(view)
    if not segments:
        return None
    start, stop = segments[0]
    while start > 0 and view.body[start - 1] in "$\\([{|-−+":
        start -= 1  # the sentence began behind the mark that opens the formula
    return _math_in(view, start, len(view.body), is_last=False) or _bare(view, start, stop)


def _last_math(view: View) -> Found | None:
    """Return the last formula of the last paragraph."""
    start = view.body.rstrip().rfind("\n\n") + 1
    return _math_in(view, start, len(view.body), is_last=True)


def _whole_reply(view: View) -> Found | None:
    return _bare(view, 0, len(view.body)) if len(view.body) <= _LONGEST_BARE else None


def _math_in(view: View, start: int, stop: int, *, is_last: bool) -> Found | None:
    found: re.Match[str] | None = None
    for match in _MATH.finditer(view.body, start, stop):
        if not is_last:
            gap = view.body[start : match.start()]
            return _of_math(match) if not _WORDS.search(gap) and len(gap) < _LONGEST_BARE else None
        found = match
    return None if found is None else _of_math(found)


def _of_math(match: re.Match[str]) -> Found:
    group = match.lastgroup or "single"
    return Found(match[group].strip(), *match.span(group))


def _bare(view: View, start: int, stop: int) -> Found | None:
    """Return a part of a reply that is a formula and no sentence."""
    text = view.body[start:stop].strip().strip("*_`").rstrip(".").strip()
    return Found(text, start, stop) if text and len(_WORDS.findall(text)) <= 1 else None


FORMULA_RULES: tuple[Rule[View], ...] = (
    Rule("framed_formula", _framed),
    Rule("json_formula", _json_answer),
    Rule("announced_formula", _announced),
    Rule("last_formula", _last_math),
    Rule("whole_formula", _whole_reply),
)
"""The rules in the order in which they are tried."""


def extract_formula(text: str, *, explain: bool = False) -> Extraction:
    """Return the formula that a reply gives, as it is written."""
    spelled = composed_reply(text)
    region = visible(spelled.text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    look = search_all if explain else search
    return look(view_of(spelled.text[start:end], ()), FORMULA_RULES, start).placed(spelled.span)


def sides(formula: str) -> tuple[str, str]:
    """Return what is before and behind the last equals sign: x and 3 of 'x = 3'; else nothing and all."""
    text = formula.strip().strip("$").rstrip(".").strip()
    if "=" not in text or re.search(r"[<>!]=|\\(?:[ln]eq?|[lg]e)\b", text):
        return "", text
    left, _, right = text.rpartition("=")
    return left.rpartition("=")[2].strip() if right.strip() else "", right.strip() or text
