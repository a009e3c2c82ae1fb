"""Detection of names in an author's class that are probably misspellings of the framework's names.

A class may define its own helpers, so an unknown name is not a mistake by itself. A name is reported if it
resembles a known name, its class does not define that known name, and nothing in the author's files uses it.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from assay.core.origin import Origin

_CUTOFF = 0.8
"""Minimum similarity of two names: high enough to distinguish `dataset` and `dataset_name`."""
_READERS = frozenset({"getattr", "hasattr"})


class MisspeltName(NamedTuple):
    """An unused name, and the known name it resembles."""

    name: str
    meant: str
    where: Origin


def find_nearest_name(name: str, known: Collection[str]) -> str | None:
    """Return the known name that a name resembles, ignoring case and underscores."""
    plain = _normalize_name(name)
    same = next((one for one in known if _normalize_name(one) == plain), None)
    if same is not None:
        return same
    # Of equally close names take the alphabetically first, so that the message is deterministic.
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=_CUTOFF)
    return found[0] if found else None


def find_misspelt_names(
    cls: type, files: Collection[Path], settable: Collection[str], *, allowed: Collection[str] = ()
) -> list[MisspeltName]:
    """Return the probable misspellings in a class and its base classes in these files.

    `settable`: names that an author may define. `allowed`: other known names.
    """
    own = {one.__name__ for one in cls.__mro__ if _find_class_file(one) in files}
    trees = [(path, ast.parse(path.read_bytes())) for path in files]
    read = {name for _, tree in trees for name in _find_read_names(tree)}
    known = {*settable, *allowed}
    found: dict[str, MisspeltName] = {}
    for path, tree in trees:
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef) or node.name not in own:
                continue
            written = dict(_find_defined_names(node))
            candidates = [name for name in settable if name not in written]
            for name, line in written.items():
                if name in known or name in read or name.startswith("__"):
                    continue
                meant = find_nearest_name(name, candidates)
                if meant is not None:
                    found.setdefault(name, MisspeltName(name, meant, Origin(str(path), line=line)))
    return list(found.values())


def _normalize_name(name: str) -> str:
    return name.replace("_", "").casefold()


def _find_class_file(cls: type) -> Path | None:
    try:
        return Path(inspect.getfile(cls))
    except (TypeError, OSError):
        return None


def _find_read_names(tree: ast.AST) -> Iterator[str]:
    nodes = list(ast.walk(tree))
    modules = {
        alias.asname or alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    for node in nodes:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Store):
            # `json.loads` does not use a method `loads`.
            if getattr(node.value, "id", None) not in modules:
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in _READERS:
            yield from (arg.value for arg in node.args if _is_text(arg))  # type: ignore[attr-defined]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _find_defined_names(cls: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """Yield the names that a class body defines and that its methods set on `self`, with lines."""
    for statement in cls.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield statement.name, statement.lineno
            yield from _find_self_names(statement)
        else:
            for name in _targets(statement):
                yield name, statement.lineno


def _targets(statement: ast.stmt) -> Iterable[str]:
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    else:
        targets = []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _find_self_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, int]]:
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ):
            yield node.attr, node.lineno
