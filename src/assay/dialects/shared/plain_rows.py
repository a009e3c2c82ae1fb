"""Authors' rows: conversion to plain data that can be stored and hashed, and conversion on access."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import msgspec

_ATOMS = frozenset({str, int, float, bool, type(None)})


def copy_data(value: Any) -> Any:
    """Return a copy of data that an author's code may modify.

    Dicts and lists are copied recursively. Other objects are returned as they are, because they may not
    support copying.
    """
    if type(value) is dict:
        return {key: one if type(one) in _ATOMS else copy_data(one) for key, one in value.items()}
    if type(value) is list:
        return [one if type(one) in _ATOMS else copy_data(one) for one in value]
    return copy.deepcopy(value) if isinstance(value, dict | list) else value


def to_plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as plain data, as a copy that the author's code cannot modify."""
    made: dict[str, Any] = to_plain_data(row)
    return made


def to_plain_data(value: Any) -> Any:
    """Return any value as plain data: a mapping as a dict, another library's arrays as lists."""
    return msgspec.to_builtins(value, enc_hook=_encode_value, str_keys=True)


def _encode_value(value: Any) -> Any:
    """Return plain data for another library's numbers and arrays, and a text for anything else."""
    listed = getattr(value, "tolist", None)
    return listed() if callable(listed) else str(value)


Row = TypeVar("Row")
Made = TypeVar("Made")


class LazyRows(Sequence[Made], Generic[Row, Made]):
    """A sequence that stores no items, because rows and items may not fit into memory."""

    def __init__(self, rows: Sequence[Row], make: Callable[[Row], Made]) -> None:
        """Store the rows and a function that returns the same item for a row on every call."""
        self._rows = rows
        self._make = make

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Made]:
        return map(self._make, self._rows)

    @overload
    def __getitem__(self, at: int) -> Made: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Made]: ...

    def __getitem__(self, at: int | slice) -> Made | Sequence[Made]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        return self._make(self._rows[at])
