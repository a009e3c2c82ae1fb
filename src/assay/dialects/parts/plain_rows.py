"""Rows of an author's own as plain data that can be stored and hashed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


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
