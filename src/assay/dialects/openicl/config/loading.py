"""The loader that runs a config file unchanged, with its bases.

Imports of Python's standard library are real. A base config runs before the file that imports it, and its
variables are copied, so that a change never affects the base. Every other import gives names (`Symbol`) or
the values of constants; no code of another package is loaded.

Each `ConfigFiles` runs a file only once; the problems of a file and all its bases are raised together.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import (
    RAISED_BY_AUTHORS,
    AuthorError,
    Problem,
    Problems,
    describe_exception,
    listing,
    reraise_interrupt,
    suggest_name,
)
from assay.core.origin import Origin
from assay.dialects.openicl.config.attribute_dict import to_attribute_dicts, to_plain_dicts
from assay.dialects.openicl.config.constants import ModuleConstants
from assay.dialects.openicl.config.parsed import STAR, BaseImport, is_standard_module, parse_config_file
from assay.dialects.openicl.config.places import ModuleLocator, suggest_file
from assay.dialects.openicl.config.symbol import Symbol, SymbolUseError
from assay.dialects.shared.author_modules import find_error_line

_DATA_TYPES = (dict, list, tuple, set, frozenset, str, bytes, int, float, type(None))
_AUTHOR_BASE_CLASSES = frozenset({"BaseDataset", "BaseEvaluator"})
"""Names that files of classes import, but configs do not."""
_READ_BASE_MODULES = ("mmengine.config", "mmengine", "mmengine.config.config")


class LoadedConfig(NamedTuple):
    """The variables of a config, and the files it was loaded from."""

    path: Path
    values: dict[str, Any]
    """Its variables as plain data, in order of definition, without modules, functions and classes. References
    to code are symbols."""
    files: tuple[Path, ...]
    """All files that were run, this one last."""


class _FileOutcome(NamedTuple):
    """The result of one file: its variables, or the problems of it and its bases."""

    namespace: dict[str, Any] | None
    problems: tuple[Problem, ...]
    files: tuple[Path, ...]


class ConfigFiles:
    """Loads configs. A base of several configs is parsed and run only once."""

    def __init__(self, root: Path | None = None) -> None:
        """Store the checkout for absolute imports and constants; None: the one that contains each file."""
        self._places = ModuleLocator(root)
        self._constants = ModuleConstants(self._places)
        self._outcomes: dict[str, _FileOutcome] = {}

    def load(self, path: Path) -> LoadedConfig:
        """Run a config and return its variables, or raise all problems of it and its bases."""
        outcome = self._outcome(path, ())
        problems = Problems()
        for problem in outcome.problems:
            problems.add(problem)
        problems.raise_if_any()
        try:
            return LoadedConfig(path, _extract_data(outcome.namespace or {}), outcome.files)
        except RecursionError:
            raise AuthorError(_build_recursion_problem(path)) from None

    def _outcome(self, path: Path, chain: tuple[Path, ...]) -> _FileOutcome:
        key = os.path.realpath(path)
        if key not in self._outcomes:
            self._outcomes[key] = self._run(path, (*chain, path))
        return self._outcomes[key]

    def _run(self, path: Path, chain: tuple[Path, ...]) -> _FileOutcome:
        parsed = parse_config_file(path)
        problems = list(parsed.problems)
        files: list[Path] = []
        bases: dict[tuple[int, str], ModuleType] = {}
        for asked in parsed.bases:
            if not asked.module:
                continue
            outcome = self._base(asked, path, chain)
            problems.extend(outcome.problems)
            files.extend(outcome.files)
            if outcome.namespace is not None:
                problems.extend(_find_missing_names(asked, outcome.namespace, path))
                module = bases.setdefault((asked.level, asked.module), ModuleType(str(asked)))
                try:
                    _copy_variables(asked.names, outcome.namespace, module)
                except RecursionError:
                    problems.append(_build_recursion_problem(outcome.files[-1]))
        files.append(path)
        namespace: dict[str, Any] | None = None
        if not problems and parsed.code is not None:
            imports = _Imports(path, bases, self._constants)
            namespace = {
                "__name__": path.stem,
                "__file__": str(path.absolute()),
                "__builtins__": {**vars(builtins), "__import__": imports},
            }
            failure = _run_code(parsed.code, namespace, path)
            if failure is not None:
                problems.append(failure)
                namespace = None
        # Report the problems of a base of two files only once.
        return _FileOutcome(namespace, tuple(dict.fromkeys(problems)), tuple(dict.fromkeys(files)))

    def _base(self, base_import: BaseImport, path: Path, chain: tuple[Path, ...]) -> _FileOutcome:
        where = Origin(str(path), line=base_import.line)
        base = self._places.find_base_file(base_import, path)
        if base is None:
            searched = f"in {self._places.root}" if self._places.root else f"above {path.parent}"
            what = f"the base `{base_import}` was not found: its package is not {searched}"
            fix = "name the folder that contains the package with --openicl-root DIR"
            return _FileOutcome(None, (Problem("OPENICL-002", what, fix, where),), ())
        if not base.is_file():
            what = f"the base `{base_import}` was not found: no file {base}{suggest_file(base)}"
            fix = "correct the import"
            if _AUTHOR_BASE_CLASSES.intersection(base_import.names):
                # A file of classes that a config imports like a base.
                fix = "a file of classes cannot be a base config: "
                fix += f"write from opencompass.datasets.{path.stem} import NAME"
            return _FileOutcome(None, (Problem("OPENICL-002", what, fix, where),), ())
        real = os.path.realpath(base)
        places = [os.path.realpath(one) for one in chain]
        if real in places:
            circle = [*chain[places.index(real) :], base]
            what = f"circular import of bases: {' -> '.join(one.name for one in circle)}"
            fix = "remove the import from one of them, or move what both need to a third file"
            return _FileOutcome(None, (Problem("OPENICL-003", what, fix, where),), ())
        return self._outcome(base, chain)


class _Imports:
    """Replaces `__import__` inside one config."""

    def __init__(
        self, path: Path, bases: Mapping[tuple[int, str], ModuleType], constants: ModuleConstants
    ) -> None:
        self._path = path
        self._bases = bases
        self._constants = constants

    def __call__(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if (level, name) in self._bases:
            return self._bases[level, name]
        if is_standard_module(name):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        if not fromlist:
            return Symbol.of(name.partition(".")[0])
        return _CodeModule(name, self._path, self._constants)


class _CodeModule:
    """A module of another package for `from` imports."""

    def __init__(self, module: str, path: Path, constants: ModuleConstants) -> None:
        self._module = module
        self._path = path
        self._constants = constants

    def __getattr__(self, name: str) -> Any:
        if name == "read_base" and self._module in _READ_BASE_MODULES:
            return contextlib.nullcontext
        found = self._constants.find(self._module, name, self._path)
        return Symbol(self._module, name) if found is None else found.value


def _copy_variables(names: Sequence[str], namespace: Mapping[str, Any], module: ModuleType) -> None:
    """Copy variables of a base into the module that one file sees, unless they exist."""
    every = [name for name in namespace if not name.startswith("__")]
    for name in every if STAR in names else names:
        if name in namespace and name not in vars(module):
            setattr(module, name, to_attribute_dicts(namespace[name]))
    # Python's `import *` skips names with a leading underscore; that of configs does not.
    module.__dict__["__all__"] = every


def _find_missing_names(
    base_import: BaseImport, namespace: Mapping[str, Any], path: Path
) -> Iterator[Problem]:
    known = [name for name in namespace if not name.startswith("__")]
    for name in base_import.names:
        if name != STAR and name not in known:
            variables = [one for one in known if isinstance(namespace[one], _DATA_TYPES)]
            contents = listing(variables) or "nothing"
            what = f"`{base_import}` has no {name!r}{suggest_name(name, known)}; it has {contents}"
            yield Problem("OPENICL-004", what, "correct the import", Origin(str(path), line=base_import.line))


def _run_code(code: CodeType, namespace: dict[str, Any], path: Path) -> Problem | None:
    try:
        exec(code, namespace)  # noqa: S102 (the person's own program, named by them)
    except RAISED_BY_AUTHORS as error:
        reraise_interrupt(error)
        return _explain_error(error, path, namespace)
    return None


def _explain_error(error: BaseException, path: Path, namespace: Mapping[str, Any]) -> Problem:
    where = find_error_line(error, path)
    if isinstance(error, RecursionError):
        return msgspec.structs.replace(_build_recursion_problem(path), where=where)
    if isinstance(error, SymbolUseError):
        what = f"{error}; a config can only refer to imported code, not use it"
        fix = "pass the name on unchanged; write needed values in the config, or import a constant"
        return Problem("OPENICL-007", what, fix, where)
    hint = ""
    if isinstance(error, NameError):
        if lines := _missing_imports(error, path, namespace):
            what = f"the config uses {error.name} without importing it"
            return Problem("OPENICL-006", what, f"write at the top: {'; '.join(lines)}", where)
        hint = suggest_name(error.name or "", [name for name in namespace if not name.startswith("__")])
    elif isinstance(error, AttributeError) and isinstance(error.obj, dict):
        hint = suggest_name(error.name or "", map(str, error.obj))
    what = f"the config raised {describe_exception(error)}{hint}"
    return Problem("OPENICL-006", what, "correct the line", where)


def _missing_imports(error: NameError, path: Path, namespace: Mapping[str, Any]) -> list[str]:
    """Return the import lines of all parts that a config uses without importing; empty for other names."""
    from assay.dialects.openicl.authored.library import format_import_lines
    from assay.dialects.openicl.authored.modules import AISBENCH, OPENCOMPASS

    source = path.read_bytes()
    package = AISBENCH if b"ais_bench" in source and b"opencompass" not in source else OPENCOMPASS
    if not format_import_lines([error.name or ""], package=package):
        return []
    used = [node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    return format_import_lines([name for name in used if name not in namespace], package=package)


def _build_recursion_problem(path: Path) -> Problem:
    what = "a value of the config contains itself, or a function calls itself endlessly"
    fix = "remove the list or dict from itself, for example x = globals()"
    return Problem("OPENICL-006", what, fix, Origin(str(path)))


def _extract_data(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data variables as plain data."""
    variables = {
        name: value
        for name, value in namespace.items()
        if not name.startswith("__") and isinstance(value, _DATA_TYPES)
    }
    values: dict[str, Any] = to_plain_dicts(variables)
    return values
