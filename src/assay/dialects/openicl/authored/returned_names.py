"""The names of the values that an author's evaluator returns, read from its source without running it.

Recognised are dicts that `score` returns, as literals or built up in a variable. Names that are computed at
run time cannot be read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_SCORE = "score"
_NON_VALUE_KEYS = ("details", "error")


class EvaluatorClass(NamedTuple):
    """A class of a file, and the readable part of its `score`."""

    values: tuple[str, ...]
    """The names of the values; empty if there is no `score` or they cannot be read."""
    bases: tuple[str, ...]
    """The base classes that may define its `score`; empty if it has its own."""


def read_evaluator_class(path: Path, name: str) -> EvaluatorClass | None:
    """Return the readable parts of a class; None if the file has no such class."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            score = next((one for one in node.body if _is_score(one)), None)
            bases = tuple(ast.unparse(base).rpartition(".")[2] for base in node.bases)
            return EvaluatorClass(() if score is None else _values(score), () if score else bases)
    return None


def _values(score: ast.stmt) -> tuple[str, ...]:
    try:
        return tuple(
            dict.fromkeys(name for name in _find_returned_names(score) if name not in _NON_VALUE_KEYS)
        )
    except _UnreadableName:
        return ()


def _is_score(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == _SCORE


class _UnreadableName(Exception):
    """Raised for a name that is computed at run time."""


def _find_returned_names(score: ast.stmt) -> Iterator[str]:
    """Yield the names in returned dicts and returned variables."""
    nodes = list(ast.walk(score))
    returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    variables = {value.id for value in returned if isinstance(value, ast.Name)}
    for value in returned:
        if not isinstance(value, ast.Name):
            yield from _keys(value)
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if _is_one_of(target, variables) and node.value is not None:
                    yield from _keys(node.value)
                elif isinstance(target, ast.Subscript) and _is_one_of(target.value, variables):
                    yield _text(target.slice)
        elif isinstance(node, ast.Call) and _is_update(node.func, variables):
            yield from (name for given in node.args for name in _keys(given))
            yield from (word.arg for word in node.keywords if word.arg is not None)


def _keys(value: ast.expr) -> Iterator[str]:
    """Yield the names in a dict literal."""
    if isinstance(value, ast.Dict):
        for key, inner in zip(value.keys, value.values, strict=True):
            yield from _keys(inner) if key is None else [_text(key)]
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        for word in value.keywords:
            yield from _keys(word.value) if word.arg is None else [word.arg]
        yield from (name for given in value.args for name in _keys(given))
    elif isinstance(value, ast.IfExp):
        yield from _keys(value.body)
        yield from _keys(value.orelse)
    elif not (isinstance(value, ast.Constant) and value.value is None):
        raise _UnreadableName


def _text(node: ast.expr) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise _UnreadableName
    return node.value


def _is_update(node: ast.expr, variables: set[str]) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "update" and _is_one_of(node.value, variables)


def _is_one_of(node: ast.expr, variables: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in variables
