r"""Minerva's normal form of a LaTeX answer (Lewkowycz 2022), as three systems write it.

Words and wrappings go, fractions and roots get their braces. The systems differ in a few rules, each of which
is part of published numbers.
"""

from __future__ import annotations

import re

_SUBSTITUTIONS = (
    ("an ", ""),
    ("a ", ""),
    (".$", "$"),
    (r"\$", ""),
    (r"\ ", ""),
    (" ", ""),
    ("mbox", "text"),
    (r",\text{and}", ","),
    (r"\text{and}", ","),
    (r"\text{m}", r"\text{}"),
)
_LESS = (r"\le", "<")
# fmt: off
_REMOVED = (
    "square", "ways", "integers", "dollars", "mph", "inches", "ft", "hours", "km", "units", r"\ldots", "sue",
    "points", "feet", "minutes", "digits", "cents", "degrees", "cm", "gm", "pounds", "meters", "meals",
    "edges", "students", "childrentickets", "multiples",
    r"\text{s}", r"\text{.}", "\\text{\ns}", r"\text{}^2", r"\text{}^3", "\\text{\n}", r"\text{}",
    r"\mathrm{th}", r"^\circ", r"^{\circ}", r"\;", r",\!", "{,}", '"', r"\dots", "\n", "\r", "\f",
)
# fmt: on
_KEPT_BY_DAPO = ("ft", "\n", "\r", "\f")
_BRACKETED_TEXT = re.compile(r"\\text\{\((.*?)\)\}")
_WRAPPERS = tuple(
    re.compile(pattern)
    for pattern in (r"\\text\{(.*?)\}", r"\\textbf\{(.*?)\}", r"\\overline\{(.*?)\}", r"\\boxed\{(.*)\}")
)
_FINAL_ANSWER = re.compile(r"finalansweris(.*)")
_ANSWER = re.compile(r"answer?is:?(.*)")
_INSIDE = (re.compile(r"oxed\{(.*?)\}"), re.compile(r"\$(.*?)\$"))
_AROUND_DOLLARS = re.compile(r".*?(\$.*?\$).*")
_BARE_FRACTION = re.compile(r"frac([^{])(.)")
_BARE_ROOT = re.compile(r"sqrt([^{])")


def minerva_form(answer: str) -> str:
    """Return an answer in the form of Minerva's paper, which UltraEval has."""
    return _extracted(_unwrapped(_without_words(answer)), (_FINAL_ANSWER, *_INSIDE))


def opencompass_form(answer: str) -> str:
    r"""Return the form of OpenCompass: `\text{(B)}` is B, and what follows `answer is` counts."""
    plain = _unwrapped(_BRACKETED_TEXT.sub(r"\1", _without_words(answer)))
    return _extracted(plain, (_FINAL_ANSWER, _ANSWER, *_INSIDE))


def dapo_form(answer: str) -> str:
    """Return the form of DAPO: what follows the last `=` counts, and of a formula what stands in dollars."""
    answer = answer.rpartition("=")[2]
    for found, written in _SUBSTITUTIONS:
        answer = answer.replace(found, written)
    for removed in _REMOVED:
        if removed not in _KEPT_BY_DAPO:
            answer = answer.replace(removed, "")
    return _written_out(_unwrapped(_AROUND_DOLLARS.sub(r"\1", answer))).strip()


def _without_words(answer: str) -> str:
    for found, written in (*_SUBSTITUTIONS, _LESS):
        answer = answer.replace(found, written)
    for removed in _REMOVED:
        answer = answer.replace(removed, "")
    return answer


def _unwrapped(answer: str) -> str:
    for wrapper in _WRAPPERS:
        answer = wrapper.sub(r"\1", answer)
    return answer


def _extracted(answer: str, inside: tuple[re.Pattern[str], ...]) -> str:
    for pattern in inside:
        if found := pattern.findall(answer):
            answer = found[-1]
    answer = answer.strip()
    if "rac" in answer and r"\frac" not in answer:
        answer = answer.replace("rac", r"\frac")
    return _written_out(answer)


def _written_out(answer: str) -> str:
    """Return an answer with the braces of fractions and roots, without dollars and commas of thousands."""
    answer = _BARE_FRACTION.sub(r"frac{\1}{\2}", answer)
    answer = _BARE_ROOT.sub(r"sqrt{\1}", answer).replace("$", "")
    without_commas = answer.replace(",", "")
    return without_commas if without_commas.isdigit() else answer
