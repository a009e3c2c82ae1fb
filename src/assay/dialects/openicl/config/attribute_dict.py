"""Dicts with attribute access, in which mmengine passes the values of base configs.

    to_attribute_dicts   any value -> the same with such dicts, no container shared with the original
    to_plain_dicts       the way back, to dicts, lists and tuples

The conversion also separates entries that shared a dict in the base: `d.reader_cfg.test_range = ...` on one
entry of an imported list changes only that entry, as in the original.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any


class AttributeDict(dict[Any, Any]):
    """A dict of config values. Inserted values are converted, so that attributes work at every level."""

    def __init__(self, values: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (), /, **more: Any) -> None:
        super().__init__()
        for key, value in dict(values, **more).items():
            self[key] = value

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the dict has no key {name!r}", name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        del self[name]

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, _wrap_value(value))

    def __deepcopy__(self, memo: dict[int, Any]) -> AttributeDict:
        other = memo[id(self)] = AttributeDict()
        for key, value in self.items():
            other[copy.deepcopy(key, memo)] = copy.deepcopy(value, memo)
        return other

    def __reduce__(self) -> tuple[type[AttributeDict], tuple[dict[Any, Any]]]:
        return AttributeDict, (dict(self),)

    def __or__(self, other: Any) -> AttributeDict:
        merged = self.copy()
        for key, value in other.items():
            merged[key] = value
        return merged

    def copy(self) -> AttributeDict:
        """Return a shallow copy."""
        return AttributeDict(self)

    __copy__ = copy

    def deepcopy(self) -> AttributeDict:
        """Return a deep copy."""
        return copy.deepcopy(self)

    def pop(self, key: Any, default: Any = None) -> Any:
        """Remove and return a value; return None if it is missing, as in mmengine."""
        return super().pop(key, default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key; insert the default if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **more: Any) -> None:
        """Insert values. Dicts are merged key by key, as in mmengine."""
        for key, value in dict(*others, **more).items():
            existing = self.get(key)
            if isinstance(existing, AttributeDict) and isinstance(value, dict):
                existing.update(value)
            else:
                self[key] = value

    def to_dict(self) -> dict[Any, Any]:
        """Return plain dicts at every level."""
        result: dict[Any, Any] = to_plain_dicts(self)
        return result


def to_attribute_dicts(value: Any) -> Any:
    """Return a copy of a value with attribute dicts instead of dicts."""
    if isinstance(value, dict):
        new = AttributeDict()
        # Bypass `__setitem__`: the values are already converted, and large configs have many.
        dict.update(new, {key: to_attribute_dicts(one) for key, one in value.items()})
        return new
    if isinstance(value, list):
        return [to_attribute_dicts(one) for one in value]
    if type(value) is tuple:
        return tuple(to_attribute_dicts(one) for one in value)
    return value


def to_plain_dicts(value: Any) -> Any:
    """Return a copy of a value with plain dicts instead of attribute dicts.

    Shared values stay shared in the copy, because thousands of entries may have the same prompt.
    """
    return _copy_plain(value, {})


def _copy_plain(value: Any, copies: dict[int, Any]) -> Any:
    if not isinstance(value, dict | list | tuple):
        return value
    found = copies.get(id(value))
    if found is None:
        if isinstance(value, dict):
            found = {key: _copy_plain(one, copies) for key, one in value.items()}
        else:
            found = (list if isinstance(value, list) else tuple)(_copy_plain(one, copies) for one in value)
        copies[id(value)] = found
    return found


def _wrap_value(value: Any) -> Any:
    """Return the value to store in a dict.

    An attribute dict is stored itself, because the author may have another reference to it.
    """
    if type(value) is dict:
        return AttributeDict(value)
    if type(value) is list or type(value) is tuple:
        return type(value)(_wrap_value(one) for one in value)
    return value
