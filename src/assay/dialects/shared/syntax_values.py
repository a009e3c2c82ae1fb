"""Values that a Python file states literally, read from its syntax without running it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def parse_file(path: Path) -> ast.Module | None:
    """Return the syntax of a file; None if it is not valid Python or cannot be read."""
    try:
        with warnings.catch_warnings():
            # An unknown escape (`\d` in a prompt) is the author's.
            warnings.simplefilter("ignore")
            return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def list_constants(tree: ast.Module) -> dict[str, Any]:
    """Return the variables of a file that are assigned a literal."""
    constants: dict[str, Any] = {}
    for node in tree.body:
        for name, value in list_assignments(node):
            if (known := read_literal(value, constants)) is not None:
                constants[name] = known
    return constants


def list_assignments(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement assigns, with the expressions."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    value = getattr(node, "value", None)
    if value is not None:
        yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))


def read_literal(node: ast.expr | None, constants: Mapping[str, Any]) -> Any:
    """Return the value of a literal or of a known variable; None for every other expression."""
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    try:
        return None if node is None else ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None


def list_items(node: ast.AST) -> dict[str, ast.expr] | None:
    """Return the items of `{...}` or `dict(...)` with literal keys; None if it is neither."""
    if isinstance(node, ast.Dict):
        return {
            key.value: value
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        }
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    return None
