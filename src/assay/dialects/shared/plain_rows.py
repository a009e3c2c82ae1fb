"""Rows of an author's own as plain data that can be stored and hashed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import msgspec

_ATOMS = frozenset({str, int, float, bool, type(None)})


def copied(value: Any) -> Any:
    """Return data for an author's code to work on: what it changes there, nobody else sees.

    Dicts and lists are copied, with those inside them. Anything else is the author's own kind of object,
    which may not bear it.
    """
    if type(value) is dict:
        return {key: one if type(one) in _ATOMS else copied(one) for key, one in value.items()}
    if type(value) is list:
        return [one if type(one) in _ATOMS else copied(one) for one in value]
    return copy.deepcopy(value) if isinstance(value, dict | list) else value


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as plain data; also a copy that the author's code does not change."""
    made: dict[str, Any] = plain(row)
    return made


def plain(value: Any) -> Any:
    """Return any value as plain data: a mapping as a dict, another library's arrays as lists."""
    return msgspec.to_builtins(value, enc_hook=_stored, str_keys=True)


def _stored(value: Any) -> Any:
    """Return plain data for another library's numbers and arrays, and a text for anything else."""
    listed = getattr(value, "tolist", None)
    return listed() if callable(listed) else str(value)
