"""Names that look alike are one name: composed and decomposed letters are the same text to a reader.

`한` may be one character (NFC) or three (NFD, as some systems write file names). Names of tasks, groups,
files and answers are compared in one form; a text that a model reads is never touched.
"""

from __future__ import annotations

import unicodedata


def composed(name: str) -> str:
    """Return a name with its letters composed (NFC)."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def is_spelled_otherwise(name: str, other: str) -> bool:
    """Whether two names differ in nothing but composed and decomposed letters."""
    return name != other and composed(name) == composed(other)
