"""Names of rows: a hash of the content, numbered where rows are equal."""

from __future__ import annotations

from collections.abc import Sequence

_MARK = "-"
"""Stands before the number of a repeated row; a hash has none."""


def named(digests: Sequence[str]) -> list[str]:
    """Return a name for each row, given the hashes of their contents; equal rows are numbered."""
    seen: dict[str, int] = {}
    names = []
    for content in digests:
        seen[content] = seen.get(content, 0) + 1
        names.append(content if seen[content] == 1 else f"{content}{_MARK}{seen[content]}")
    return names


def content_of(name: str) -> str:
    """Return the hash of the content that a row was named by."""
    return name.partition(_MARK)[0]
