"""A parsed config file: its code, its bases, and the problems found before it runs."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from assay.core.errors import Problem
from assay.core.origin import Origin

STAR = "*"


class BaseImport(NamedTuple):
    """One `from ... import ...` of another config."""

    module: str
    """Dotted, without the leading dots."""
    level: int
    """The number of leading dots."""
    names: tuple[str, ...]
    """The imported names; `*` for everything."""
    line: int

    def __str__(self) -> str:
        return "." * self.level + self.module


class ParsedFile(NamedTuple):
    """A file before it runs."""

    code: CodeType | None
    """None if it is not valid Python."""
    bases: tuple[BaseImport, ...] = ()
    problems: tuple[Problem, ...] = ()


def parse_config_file(path: Path) -> ParsedFile:
    """Read and compile a file; return its problems instead of raising them."""
    try:
        source = path.read_bytes()
        with warnings.catch_warnings():
            # An unknown escape (`\d` in a prompt) stays in the text unchanged.
            warnings.simplefilter("ignore")
            tree = ast.parse(source, str(path))
            code: CodeType = compile(tree, str(path), "exec", dont_inherit=True)
    except OSError as error:
        what, fix = f"the file cannot be read: {error.strerror}", "check the path"
        return ParsedFile(None, problems=(Problem("OPENICL-001", what, fix, Origin(str(path))),))
    except (SyntaxError, ValueError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else None
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        where = Origin(str(path), line=line)
        return ParsedFile(
            None,
            problems=(Problem("OPENICL-001", f"not valid Python: {reason}", "correct the line", where),),
        )
    return ParsedFile(code, tuple(_bases(tree)), tuple(_find_rejected_statements(tree, path)))


def is_standard_module(module: str) -> bool:
    """Whether a module belongs to Python's standard library, which is really imported."""
    return module.partition(".")[0] in sys.stdlib_module_names


def _bases(tree: ast.Module) -> Iterator[BaseImport]:
    for statement, is_in_block in _imports(tree):
        if isinstance(statement, ast.ImportFrom) and _is_base(statement, is_in_block):
            names = tuple(alias.name for alias in statement.names)
            yield BaseImport(statement.module or "", statement.level, names, statement.lineno)


def _is_base(statement: ast.ImportFrom, is_in_block: bool) -> bool:
    # A file next to this one is a config, not code, even outside a `read_base` block.
    return statement.level > 0 or (is_in_block and not is_standard_module(statement.module or ""))


def _find_rejected_statements(tree: ast.Module, path: Path) -> Iterator[Problem]:
    """Yield statements that are valid Python but not allowed in a config."""
    for statement, is_in_block in _imports(tree):
        what, fix = _check_import(statement, is_in_block)
        if what:
            what = f"`{ast.unparse(statement)}` {what}"
            yield Problem("OPENICL-005", what, fix, Origin(str(path), line=statement.lineno))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(_is_named(one, "_base_") for one in node.targets):
            what = "`_base_` of old mmengine configs is not supported"
            fix = "write with read_base(): from .NAME import *"
            yield Problem("OPENICL-005", what, fix, Origin(str(path), line=node.lineno))


def _check_import(statement: ast.Import | ast.ImportFrom, is_in_block: bool) -> tuple[str, str]:
    """Return the problem and the fix for an import; empty texts if it is valid."""
    if isinstance(statement, ast.Import):
        if is_in_block and not all(is_standard_module(alias.name) for alias in statement.names):
            return "imports no variables", "write from .NAME import VARIABLE"
        return "", ""
    if not statement.module:
        name = statement.names[0].name
        return "does not name a config to import from", f"write from .{name} import VARIABLE"
    is_all = any(alias.name == STAR for alias in statement.names)
    if is_all and not _is_base(statement, is_in_block) and not is_standard_module(statement.module):
        fix = "import the names one by one; if it is a config, put the line into `with read_base():`"
        return "imports all names of a code module, which is not loaded", fix
    return "", ""


def _imports(tree: ast.AST, is_in_block: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield the imports of a file in order, and whether each is in a `with read_base():` block."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, is_in_block
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _imports(node, is_in_block or _is_read_base(node))


def _is_read_base(node: ast.AST) -> bool:
    if not isinstance(node, ast.With):
        return False
    calls = [item.context_expr for item in node.items]
    return any(isinstance(call, ast.Call) and _is_named(call.func, "read_base") for call in calls)


def _is_named(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (
        isinstance(node, ast.Attribute) and node.attr == name
    )
