"""Evaluate arithmetic expressions that a user wrote as text, without running any code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {"abs": abs, "max": max, "min": min, "round": round}
ALLOWED = f"numbers, x, + - * / // %, brackets and {', '.join(FUNCTIONS)}"
_LONGEST = 500


class NotArithmetic(ValueError):
    """The text is not an arithmetic expression in x."""


def compile_arithmetic(text: str) -> Callable[[float], float]:
    """Return the function of x that a text describes; raise NotArithmetic if it contains anything else."""
    if len(text) > _LONGEST:
        raise NotArithmetic(f"it has more than {_LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise NotArithmetic(f"it cannot be parsed: {error}") from None
    _check(tree)
    return lambda x: float(_value(tree, x))


def _check(node: ast.expr) -> None:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return
        case ast.Name(id="x"):
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check(left)
            _check(right)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            _check(operand)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and args:
            for argument in args:
                _check(argument)
        case _:
            raise NotArithmetic(f"found {ast.unparse(node)!r:.60}")


def _value(node: ast.expr, x: float) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, x), _value(right, x))
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_value(operand, x))
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(_value(argument, x) for argument in args))
        case _:
            return x
