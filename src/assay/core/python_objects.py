"""Objects of the calling Python program that a run uses, under the names `python:NAME`.

Settings, manifests and messages contain only names. A run started from Python provides the objects behind its
names while it lasts; they are never stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

PREFIX = "python:"
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_objects: ContextVar[Mapping[str, Any]] = ContextVar("python_objects", default=_NOTHING)


@contextmanager
def providing_objects(objects: Mapping[str, Any]) -> Iterator[None]:
    """Make objects available by their names inside the block."""
    before = _objects.set({**_objects.get(), **objects})
    try:
        yield
    finally:
        _objects.reset(before)


def is_python_name(name: str) -> bool:
    """Return whether a name stands for an object of a Python program."""
    return name.startswith(PREFIX)


def find_object(name: str) -> Any | None:
    """Return the object behind `python:NAME`; None if this program provides none."""
    return _objects.get().get(name)
