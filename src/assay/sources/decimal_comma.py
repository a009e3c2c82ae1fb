"""Numbers written with a decimal comma, as in most of Europe and South America."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHAPE = re.compile(r"[-+−]?(?:\d+|\d{1,3}(?:[. ]\d{3})+),\d+")
_CERTAIN = re.compile(r"[-+−]?(?:0,\d+|\d+,(?:\d\d|\d{4,})|\d{1,3}(?:\.\d{3})+,\d+)")
"""Can be neither a list of two digits nor a group of thousands."""
_POINT = re.compile(r"[-+−]?(?:\d+\.(?:\d\d?|\d{4,})|\d{1,3}(?:,\d{3})+(?:\.\d+)?)")
"""A number with a decimal point, or with commas between thousands."""


def shows_decimal_comma(cells: Iterable[str]) -> bool:
    """Return whether some cells certainly use a decimal comma and no cell uses a decimal point."""
    is_shown = False
    for cell in cells:
        text = cell.strip()
        if _CERTAIN.fullmatch(text):
            is_shown = True
        elif _POINT.fullmatch(text):
            return False
    return is_shown


def convert_decimal_comma(text: str) -> str:
    """Return a number with a decimal comma as one with a decimal point; return any other text unchanged."""
    stripped = text.strip()
    if not _SHAPE.fullmatch(stripped):
        return text
    return re.sub(r"[. ]", "", stripped).replace(",", ".")
