"""Sizes of files as people write and read them: `256MB`, `1.5 GiB`, `0`; the longest csv cell."""

from __future__ import annotations

import re

LONGEST_CELL = 33_000_000
"""Characters. The csv module needs eight bytes per character while it reads a cell."""
_UNITS = {"": 1, "B": 1}
_UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("KMGTP", 1)}
_UNITS |= {f"{letter}IB": 1024**power for power, letter in enumerate("KMGTP", 1)}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", re.ASCII)


def read_size(text: str) -> int:
    """Return a size in bytes; raise a ValueError that says what was expected if it is not one."""
    match = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(match[2].upper()) if match is not None else None
    if match is None or unit is None:
        raise ValueError("expected a number of bytes, or a size such as 256MB or 1.5GiB")
    return int(float(match[1]) * unit) if "." in match[1] else int(match[1]) * unit


def format_size(n_bytes: int) -> str:
    """Return a size with at most three digits, in units of a thousand: `256 MB`."""
    size, unit = float(n_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    return f"{size:.3g} {unit}"
