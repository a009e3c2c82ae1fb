r"""Answers in LaTeX, found by Minerva's procedure (Lewkowycz 2022) or AGIEval's, in a normal form.

The normal form is the MATH benchmark's: `assay.scoring.latex`, or `hendrycks.py` to the original's letter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from assay.scoring.differences import Difference
from assay.scoring.latex import latex_form
from assay.scoring.originals.opencompass.postprocess.boxed import find_last_boxed
from assay.scoring.originals.opencompass.postprocess.minerva import hendrycks_form, minerva_form
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor

_CONCLUDES = re.compile("final answer|therefore|thus|hence", re.IGNORECASE)
_PIECE_END = re.compile(r"\.(?!\d)")

_CLOZE_MARKS = ("The answer is therefore", "答案是")
_GREEDY_DOLLARS = re.compile(r"\$(.*)\$")
_DOLLARS = re.compile(r"\$([^$]+)\$")
_LAST_NUMBER = re.compile(r"\$?\d+(?:\.\d+)?\b")


def _find_conclusion(text: str, parted: Callable[[str], list[str]]) -> str:
    """Return the last line's first piece that concludes, or the text's first piece."""
    for line in reversed(text.split("\n")):
        for piece in parted(line):
            if _CONCLUDES.search(piece):
                return piece
    return parted(text)[0]


def _find_ultraeval_math_original(text: str) -> str:
    return _original_common(minerva_form(_find_conclusion(text, lambda line: line.split("."))))


def _find_ultraeval_math(text: str) -> str:
    return latex_form(minerva_form(_find_conclusion(text, _PIECE_END.split)))


def _original_common(text: str) -> str:
    try:
        return hendrycks_form(text)
    except ValueError:
        return text


def _cut_after_cloze_marks(text: str) -> str:
    for mark in _CLOZE_MARKS:
        if mark in text:
            cut = text.partition if text.startswith(mark) else text.rpartition
            text = cut(mark)[2].strip()
    return text


def _cut_after_equals(answer: str) -> str:
    return answer.rpartition("=")[2].lstrip(" ") if "=" in answer else answer


def _last_number(text: str) -> str | None:
    return found[-1] if (found := _LAST_NUMBER.findall(text)) else None


def _original_cloze(text: str) -> str | None:
    text = _cut_after_cloze_marks(text)
    if r"\boxed" in text:
        boxed = find_last_boxed(text)
        return None if boxed is None else _original_common(_cut_after_equals(boxed))
    answer: str | None = ""
    if dollars := _GREEDY_DOLLARS.findall(text):
        answer = _cut_after_equals(dollars[-1])
    if not answer:
        # The original looks for a backslash and an n where it means a line break.
        answer = _cut_after_equals(text).rstrip(".").split(r"\n")[0] if "=" in text else _last_number(text)
    return None if answer is None else _original_common(answer)


def _cloze(text: str) -> str | None:
    text = _cut_after_cloze_marks(text)
    answer = find_last_boxed(text) if r"\boxed" in text else None
    if not answer and (dollars := _DOLLARS.findall(text)):
        answer = dollars[-1]
    if not answer:
        answer = _cut_after_equals(text).split("\n")[0].rstrip(".") if "=" in text else _last_number(text)
    return None if answer is None else latex_form(_cut_after_equals(answer))


_MANGLED = r"an answer that the normal form mangles or cannot take apart (`\sqrt\pi`, two units)"

ULTRAEVAL_MATH = PostProcessor(
    _find_ultraeval_math_original,
    _find_ultraeval_math,
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


_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")
_TIMES = re.compile(r"\\(?:times|cdot)(?![A-Za-z])")
_PRODUCT = re.compile(r"(?<=\))(?=[\d(])")
_ALLOWED = re.compile(r"[0-9.+\-*/() ]+")
_LONGEST = 200
_GREATEST_POWER = 64

_Number: TypeAlias = Fraction | float


def calculate(expression: str) -> str | None:
    """Return the value of an arithmetic expression as Python writes a number; None for anything else."""
    if len(expression) > _LONGEST:
        return None
    plain = expression
    while (inner := _FRACTION.sub(r"((\1)/(\2))", plain)) != plain:
        plain = inner
    plain = _PRODUCT.sub("*", _TIMES.sub("*", plain)).replace("^", "**").strip()
    if not _ALLOWED.fullmatch(plain):
        return None
    try:
        value = _value(ast.parse(plain, mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError):
        return None
    if isinstance(value, Fraction) and value.denominator == 1:
        return str(value.numerator)
    return str(float(value))


def _value(node: ast.expr) -> _Number:
    match node:
        case ast.Constant(value=int() as whole):
            return Fraction(whole)
        case ast.Constant(value=float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=operator, right=right):
            return _apply_operator(_value(left), operator, _value(right))
        case _:
            raise ValueError("no arithmetic")


def _apply_operator(left: _Number, operator: ast.operator, right: _Number) -> _Number:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
        case ast.Pow() if (
            isinstance(right, Fraction) and right.denominator == 1 and abs(right) <= _GREATEST_POWER
        ):
            return left**right.numerator
        case _:
            raise ValueError("no arithmetic")
