"""How a person wrote each setting: as a flag, a key of a file or a Python argument.

Messages about a setting use that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_NAMES: ContextVar[Mapping[str, str]] = ContextVar("setting_names", default=MappingProxyType({}))


def name_setting(key: str) -> str:
    """Return a setting as the person wrote it, such as `--answer-column`; else its quoted key."""
    return _NAMES.get().get(key, repr(key))


def list_settings(keys: Iterable[str]) -> str:
    """Return several settings as the person wrote them."""
    return ", ".join(map(name_setting, keys))


@contextmanager
def naming_settings(names: Mapping[str, str]) -> Iterator[None]:
    """Use these names in the messages of the block, in addition to those already in use."""
    token = _NAMES.set({**_NAMES.get(), **names})
    try:
        yield
    finally:
        _NAMES.reset(token)
