r"""Arithmetic in an answer, calculated and never run: numbers, + - * / ^, brackets, \frac, \times, \cdot."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from typing import TypeAlias

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
