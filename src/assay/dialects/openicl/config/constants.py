"""The values of constants that a config imports from a code module, read without running the module.

A dataset's module may contain a prompt or a list of subjects. Only the expression assigned to the name is
evaluated, with the constants it uses, and only if these are literals, concatenated texts and containers.
Nothing is imported and no function of the module is called. Everything else stays a name; a config that needs
more than the name gets an error.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from assay.dialects.openicl.config.places import ModuleLocator

_BUILTINS: dict[str, Any] = {
    call.__name__: call
    for call in (dict, float, int, len, list, max, min, range, set, sorted, str, sum, tuple)
}
_METHODS = {
    "items",
    "join",
    "keys",
    "lower",
    "lstrip",
    "replace",
    "rstrip",
    "split",
    "strip",
    "upper",
    "values",
}
_EXPRESSIONS = (
    *(ast.Constant, ast.Name, ast.Load, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred, ast.Subscript),
    *(ast.Slice, ast.JoinedStr, ast.FormattedValue, ast.UnaryOp, ast.USub, ast.BinOp, ast.Add, ast.Sub),
    *(ast.Mult, ast.Div, ast.Mod, ast.Call, ast.Attribute, ast.keyword),
)


class Constant(NamedTuple):
    """The value of a constant, which may be None."""

    value: Any


class ModuleConstants:
    """The constants in the modules of a checkout. Every file is read only once."""

    def __init__(self, places: ModuleLocator) -> None:
        self._places = places
        self._texts: dict[Path, str] = {}
        self._trees: dict[Path, ast.Module] = {}

    def find(self, module: str, name: str, asking: Path) -> Constant | None:
        """Return the constant of that name in a module; None if it is not a constant or not found."""
        return self._find(module, name, asking, frozenset())

    def _find(
        self, module: str, name: str, asking: Path, seen: frozenset[tuple[Path, str]]
    ) -> Constant | None:
        path = self._places.find_code_file(module, asking)
        if path is None or (path, name) in seen:
            return None
        tree = self._parse_if_named(path, name)
        if tree is None:
            return None
        inner = seen | {(path, name)}
        expression = _find_only_assignment(tree, name)
        if expression is not None:
            return self._evaluate_expression(expression, module, path, inner)
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for source, wanted in _find_reexports(tree, name, package):
            found = self._find(source, wanted, path, inner)
            if found is not None:
                return found
        return None

    def _parse_if_named(self, path: Path, name: str) -> ast.Module | None:
        """Parse a module if it may define the constant. The check avoids slow parsing."""
        text = self._texts.get(path)
        if text is None:
            text = self._texts[path] = path.read_text(encoding="utf-8", errors="replace")
        is_named = name in text
        if is_named and re.search(rf"(?m)^(?:class|def|async def) {name}\b", text):
            return None
        if not is_named and not (name.isupper() and "import *" in text):
            return None
        if path not in self._trees:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._trees[path] = ast.parse(text)
            except (SyntaxError, ValueError):
                # Running the module will report this; a config that only uses its names is not affected.
                self._trees[path] = ast.Module([], [])
        return self._trees[path]

    def _evaluate_expression(
        self, expression: ast.expr, module: str, path: Path, seen: frozenset[tuple[Path, str]]
    ) -> Constant | None:
        names: dict[str, Any] = {"__builtins__": {}}
        for node in ast.walk(expression):
            if not _is_harmless(node):
                return None
            if isinstance(node, ast.Name):
                found = self._find(module, node.id, path, seen)
                if found is None and node.id not in _BUILTINS:
                    return None
                names[node.id] = _BUILTINS[node.id] if found is None else found.value
        try:
            code = compile(ast.Expression(expression), str(path), "eval")
            return Constant(eval(code, names))  # noqa: S307 (checked by `_is_harmless`)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None


def _is_harmless(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        called = node.func
        return isinstance(called, ast.Name) or (isinstance(called, ast.Attribute) and called.attr in _METHODS)
    return isinstance(node, _EXPRESSIONS) and not (
        isinstance(node, ast.Attribute) and node.attr not in _METHODS
    )


def _find_only_assignment(tree: ast.Module, name: str) -> ast.expr | None:
    """Return the expression assigned to a name; None if it is assigned twice or changed afterwards."""
    found: ast.expr | None = None
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name and found is None:
                found = value
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if (
                target == name and found is None
            ):
                found = value
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case _:
                if any(_is_change(node, name) for node in ast.walk(statement)):
                    return None
    return found


def _is_change(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Name(id=found, ctx=ast.Store() | ast.Del()):
            return found == name
        case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store() | ast.Del()):
            return found == name
        case ast.Attribute(value=ast.Name(id=found), attr=method):
            return found == name and method not in _METHODS
        case _:
            return False


def _find_reexports(tree: ast.Module, name: str, package: str) -> Iterator[tuple[str, str]]:
    """Yield the modules and names from which a module may import a name."""
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            parents = package.split(".")
            above = parents[: len(parents) - statement.level + 1] if statement.level else []
            source = ".".join([*above, *([statement.module] if statement.module else [])])
            for alias in statement.names:
                if name == (alias.asname or alias.name):
                    yield source, alias.name
                elif alias.name == "*" and name.isupper():
                    # Only constants are in capitals; for other names no file needs to be opened.
                    yield source, name
