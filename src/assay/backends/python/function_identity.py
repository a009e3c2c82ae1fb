"""The identity of a function: a hash of its code and of everything that its code refers to.

A hash must differ whenever the function could answer differently because of its own program. Values whose
state cannot be read, such as a client of a service, make the identity unknown.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import re
import sysconfig
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from assay.core.ids import digest

_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))
_MOST_ITEMS = 10_000
_SIMPLE = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, type(...)),
    *(date, time, timedelta, Decimal, PurePath, re.Pattern),
)
_WRAPPERS: dict[type, tuple[str, ...]] = {
    functools.partial: ("func", "args", "keywords"),
    MethodType: ("__func__", "__self__"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset"),
}
"""Objects around functions, and the attributes that decide what they do."""
_READ_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")


class UnknownIdentity(Exception):
    """The identity of a function cannot be determined; the message says why."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.unique = f"unknown-{uuid.uuid4().hex}"
        """A hash that equals no other."""


def fingerprint_function(function: Callable[..., Any]) -> str:
    """Return a hash of a function; raise UnknownIdentity if it depends on a value that cannot be hashed."""
    return digest(_Description().describe(function, "it"), size=16)


class _Description:
    """Describes values as plain data, each function and object once."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []
        """Keeps temporary objects alive, so that their ids stay theirs."""

    def describe(self, value: Any, name: str) -> Any:
        """Return a description of a value; `name`: what messages call it."""
        if isinstance(value, Enum):
            return ["enum", type(value).__qualname__, value.name]
        if isinstance(value, _SIMPLE):
            return [type(value).__name__, repr(value)]
        if isinstance(value, ModuleType):
            return ["module", value.__name__, str(getattr(value, "__version__", ""))]
        if id(value) in self._seen:
            return ["seen", self._seen[id(value)]]
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            return self._describe_collection(value, name)
        for kind, attributes in _WRAPPERS.items():
            if isinstance(value, kind):
                parts = (getattr(value, attribute) for attribute in attributes)
                return [kind.__name__, *(self.describe(part, name) for part in parts)]
        if isinstance(value, FunctionType):
            return self._describe_function(value, name)
        if isinstance(value, type):
            return self._describe_class(value, name)
        if isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, (ModuleType, type(None))):
            return ["builtin", str(value.__module__), value.__qualname__]
        return self._describe_instance(value, name)

    def _describe_collection(self, value: Any, name: str) -> Any:
        if len(value) > _MOST_ITEMS:
            raise UnknownIdentity(f"{name} uses a {type(value).__name__} of {len(value):,} values")
        if isinstance(value, dict):
            pairs = [(self.describe(key, name), self.describe(one, name)) for key, one in value.items()]
            return ["dict", pairs]
        parts = [self.describe(one, name) for one in value]
        return [
            type(value).__name__,
            sorted(map(str, parts)) if isinstance(value, (set, frozenset)) else parts,
        ]

    def _describe_function(self, function: FunctionType, name: str) -> Any:
        code = function.__code__
        if code.co_filename.startswith(_LIBRARIES):
            return ["library", function.__module__, function.__qualname__]
        closure = _read_closure(function)
        known = function.__globals__
        used = {one: known[one] for one in dict.fromkeys(_list_globals(code)) if one in known}
        return [
            "function",
            function.__qualname__,
            _describe_code(code),
            self.describe(function.__defaults__, name),
            self.describe(function.__kwdefaults__, name),
            [(one, self.describe(value, f"its variable {one!r}")) for one, value in closure.items()],
            [(one, self.describe(value, f"its variable {one!r}")) for one, value in used.items()],
        ]

    def _describe_class(self, cls: type, name: str) -> Any:
        if cls.__module__ == builtins.__name__ or _is_of_library(cls):
            return ["class", cls.__module__, cls.__qualname__]
        own = {
            one: value
            for one, value in vars(cls).items()
            if not (one.startswith("__") and one.endswith("__")) or isinstance(value, FunctionType)
        }
        parts = [(one, self.describe(value, name)) for one, value in own.items() if not _is_slot(value)]
        return ["class", cls.__qualname__, parts, [self.describe(base, name) for base in cls.__bases__]]

    def _describe_instance(self, value: Any, name: str) -> Any:
        cls = type(value)
        if cls.__module__ == builtins.__name__ or _is_of_library(cls) or not hasattr(value, "__dict__"):
            raise UnknownIdentity(f"{name} depends on a {cls.__name__}, whose state cannot be compared")
        state = [(one, self.describe(part, f"its attribute {one!r}")) for one, part in vars(value).items()]
        return ["instance", self.describe(cls, name), state]


def _describe_code(code: CodeType) -> Any:
    consts = [_describe_constant(one) for one in code.co_consts]
    return [code.co_name, code.co_code.hex(), consts, code.co_names, code.co_varnames, code.co_freevars]


def _describe_constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _describe_code(value)
    # The order of a set changes from one process to the next.
    parts = sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
    return [type(value).__name__, parts]


def _read_closure(function: FunctionType) -> dict[str, Any]:
    """Return the variables of enclosing functions that a function uses, as far as they have values."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):
            values[name] = cell.cell_contents
    return values


def _list_globals(code: CodeType) -> Iterator[str]:
    """Yield the names of global variables that code reads, including code defined inside it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in _READ_GLOBAL:
            yield instruction.argval
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _list_globals(one)


def _is_of_library(cls: type) -> bool:
    if cls.__module__ in ("__main__", "__mp_main__"):
        return False
    try:
        return inspect.getfile(cls).startswith(_LIBRARIES)
    except (TypeError, OSError):
        return True  # Written in C.


def _is_slot(value: object) -> bool:
    return inspect.isdatadescriptor(value) and not isinstance(value, property)
