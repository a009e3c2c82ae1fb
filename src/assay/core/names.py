"""Compare names that look the same: composed and decomposed letters are the same text to a reader.

`한` can be one character (NFC) or three (NFD, as some systems write file names). Names of tasks, groups,
files and answers are compared in one form. Texts for a model are never changed.
"""

from __future__ import annotations

import unicodedata


def compose_name(name: str) -> str:
    """Return a name with its letters composed (NFC)."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def is_same_decomposed(name: str, other: str) -> bool:
    """Return whether two names differ only in composed and decomposed letters."""
    return name != other and compose_name(name) == compose_name(other)
