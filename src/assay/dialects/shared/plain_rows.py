"""Rows of an author's own as plain data that can be stored and hashed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import msgspec

_ATOMS = frozenset({str, int, float, bool, type(None)})


def copy_data(value: Any) -> Any:
    """Return data for an author's code to work on: what it changes there, nobody else sees.

    Dicts and lists are copied, with those inside them. Anything else is the author's own kind of object,
    which may not bear it.
    """
    if type(value) is dict:
        return {key: one if type(one) in _ATOMS else copy_data(one) for key, one in value.items()}
    if type(value) is list:
        return [one if type(one) in _ATOMS else copy_data(one) for one in value]
    return copy.deepcopy(value) if isinstance(value, dict | list) else value


def to_plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as plain data; also a copy that the author's code does not change."""
    made: dict[str, Any] = to_plain_data(row)
    return made


def to_plain_data(value: Any) -> Any:
    """Return any value as plain data: a mapping as a dict, another library's arrays as lists."""
    return msgspec.to_builtins(value, enc_hook=_encode_value, str_keys=True)


def _encode_value(value: Any) -> Any:
    """Return plain data for another library's numbers and arrays, and a text for anything else."""
    listed = getattr(value, "tolist", None)
    return listed() if callable(listed) else str(value)
