r"""Answers in LaTeX, found by Minerva's procedure (Lewkowycz 2022) or AGIEval's, in a normal form.

The normal form is the MATH benchmark's: `assay.scoring.latex`, or `hendrycks.py` to the original's letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.scoring.differences import Difference
from assay.scoring.latex import latex_form
from assay.scoring.postprocess.hendrycks import hendrycks_form
from assay.scoring.postprocess.processor import PostProcessor

_CONCLUSIONS = ("final answer", "therefore", "thus", "hence")
_PIECE_END = re.compile(r"\.(?!\d)")

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
    (r"\le", "<"),
)
# fmt: off
_REMOVED = (
    "square", "ways", "integers", "dollars", "mph", "inches", "ft", "hours", "km", "units", r"\ldots", "sue",
    "points", "feet", "minutes", "digits", "cents", "degrees", "cm", "gm", "pounds", "meters", "meals",
    "edges", "students", "childrentickets", "multiples",
    r"\text{s}", r"\text{.}", "\\text{\ns}", r"\text{}^2", r"\text{}^3", "\\text{\n}", r"\text{}",
    r"\mathrm{th}", r"^\circ", r"^{\circ}", r"\;", r",\!", "{,}", '"', r"\dots", "\n", "\r", "\f",
)
# fmt: on
_WRAPPERS = tuple(
    re.compile(pattern)
    for pattern in (r"\\text\{(.*?)\}", r"\\textbf\{(.*?)\}", r"\\overline\{(.*?)\}", r"\\boxed\{(.*)\}")
)
_INSIDE = tuple(re.compile(pattern) for pattern in (r"finalansweris(.*)", r"oxed\{(.*?)\}", r"\$(.*?)\$"))
_BARE_FRACTION = re.compile(r"frac([^{])(.)")
_BARE_ROOT = re.compile(r"sqrt([^{])")

_CLOZE_MARKS = ("The answer is therefore", "答案是")
_GREEDY_DOLLARS = re.compile(r"\$(.*)\$")
_DOLLARS = re.compile(r"\$([^$]+)\$")
_LAST_NUMBER = re.compile(r"\$?\d+(?:\.\d+)?(?!\w)")


def _minerva_form(answer: str) -> str:
    """Return an answer without the words and wrappings that Minerva's evaluation takes off."""
    for found, written in _SUBSTITUTIONS:
        answer = answer.replace(found, written)
    for removed in _REMOVED:
        answer = answer.replace(removed, "")
    for wrapper in _WRAPPERS:
        answer = wrapper.sub(r"\1", answer)
    for inside in _INSIDE:
        if found_inside := inside.findall(answer):
            answer = found_inside[-1]
    answer = answer.strip()
    if "rac" in answer and r"\frac" not in answer:
        answer = answer.replace("rac", r"\frac")
    answer = _BARE_FRACTION.sub(r"frac{\1}{\2}", answer)
    answer = _BARE_ROOT.sub(r"sqrt{\1}", answer).replace("$", "")
    without_commas = answer.replace(",", "")
    return without_commas if without_commas.isdigit() else answer


def _concluded(text: str, parted: Callable[[str], list[str]]) -> str:
    """Return the last line's first piece that concludes, or the text's first piece."""
    for line in reversed(text.split("\n")):
        for piece in parted(line):
            if any(word in piece.lower() for word in _CONCLUSIONS):
                return piece
    return parted(text)[0]


def _original_math(text: str) -> str:
    return _original_common(_minerva_form(_concluded(text, lambda line: line.split("."))))


def _math(text: str) -> str:
    return latex_form(_minerva_form(_concluded(text, _PIECE_END.split)))


def _original_common(text: str) -> str:
    try:
        return hendrycks_form(text)
    except ValueError:
        return text


def _after_cloze_marks(text: str) -> str:
    for mark in _CLOZE_MARKS:
        if text.startswith(mark):
            text = text[len(mark) :].strip()
        elif mark in text:
            text = text.rpartition(mark)[2].strip()
    return text


def _after_equals(answer: str) -> str:
    return answer.rpartition("=")[2].lstrip(" ") if "=" in answer else answer


def _last_boxed(text: str) -> str | None:
    r"""Return what stands in the last \boxed{}, None where it does not close or has no braces."""
    at = text.rfind(r"\boxed")
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")
        if text[end] == "}" and depth == 0:
            boxed = text[at : end + 1]
            return boxed.removeprefix(r"\boxed{")[:-1] if boxed.startswith(r"\boxed{") else None
    return None


def _last_number(text: str) -> str | None:
    return found[-1] if (found := _LAST_NUMBER.findall(text)) else None


def _original_cloze(text: str) -> str | None:
    text = _after_cloze_marks(text)
    if r"\boxed" in text:
        boxed = _last_boxed(text)
        return None if boxed is None else _original_common(_after_equals(boxed))
    answer: str | None = ""
    if dollars := _GREEDY_DOLLARS.findall(text):
        answer = _after_equals(dollars[-1])
    if not answer:
        # The original looks for a backslash and an n where it means a line break.
        answer = _after_equals(text).rstrip(".").split(r"\n")[0] if "=" in text else _last_number(text)
    return None if answer is None else _original_common(answer)


def _cloze(text: str) -> str | None:
    text = _after_cloze_marks(text)
    answer = _last_boxed(text) if r"\boxed" in text else None
    if not answer and (dollars := _DOLLARS.findall(text)):
        answer = dollars[-1]
    if not answer:
        answer = _after_equals(text).split("\n")[0].rstrip(".") if "=" in text else _last_number(text)
    return None if answer is None else latex_form(_after_equals(answer))


_MANGLED = r"an answer that the normal form mangles or cannot take apart (`\sqrt\pi`, two units)"

MATH = PostProcessor(
    _original_math,
    _math,
    Difference(
        f"a decimal point ends the answer (0.5 is 0), in right answers too; {_MANGLED} is left so",
        "numbers stay whole, and such answers are put right",
    ),
)
COMMON_MATH = PostProcessor(
    _original_common, latex_form, Difference(f"{_MANGLED} is left so", "such answers are put right")
)
AGIEVAL_CLOZE = PostProcessor(
    _original_cloze,
    _cloze,
    Difference(
        "of several formulas in dollars the text from the first to the last is the answer; lines after the "
        r"answer belong to it; a \boxed without braces ends the search; a text without an answer ends the "
        "run",
        "the last formula is the answer, up to the end of its line; the search goes on; a text without an "
        "answer is unanswered",
    ),
)
