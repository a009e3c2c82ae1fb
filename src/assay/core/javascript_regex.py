r"""JavaScript regular expressions, compiled for Python.

The two languages differ in what `$`, `\d`, `\w` and `\b` match and in how groups are named. A construct
without an equivalent raises a ValueError that names it.
"""

from __future__ import annotations

import re
from functools import lru_cache

_ASCII = frozenset("dDwWbB")
"""Escapes that only match ASCII in JavaScript."""
_IN_CLASS = {"d": "0-9", "w": "A-Za-z0-9_"}
_FLAGS = re.compile(r"\(\?[a-zA-Z]*(-[a-zA-Z]*)?[:)]")
_GROUP_NAME = re.compile(r"\(\?<(?P<name>[A-Za-z_$][\w$]*)>")
_PLAIN = re.compile(r"""(?:(?:[\w.]|\\[dDwWsS])[*+?]?|[ ,:;!%&=<>~@#'"/^$-]|\\[bB.*+?^$|(){}\[\]/-])*""")
"""Patterns that are certainly valid: texts and character classes, each repeated at most once."""
_REFERENCE = re.compile(r"\\k<(?P<name>[A-Za-z_$][\w$]*)>")


def check_javascript(pattern: str) -> None:
    """Raise ValueError for an invalid pattern, without compiling it if possible."""
    if _PLAIN.fullmatch(pattern) is None:
        compile_javascript(pattern)


@lru_cache(maxsize=4096)
def compile_javascript(pattern: str) -> re.Pattern[str]:
    """Return a JavaScript pattern as a Python one; raise ValueError if it is invalid."""
    try:
        return re.compile("".join(_translate_pattern(pattern)))
    except re.error as error:
        raise ValueError(f"it is not a regular expression: {error}") from None


def _translate_pattern(pattern: str) -> list[str]:
    pieces: list[str] = []
    at = 0
    in_class = False
    while at < len(pattern):
        piece, length, in_class = _convert_next(pattern, at, in_class)
        pieces.append(piece)
        at += length
    return pieces


def _convert_next(pattern: str, at: int, in_class: bool) -> tuple[str, int, bool]:
    """Return the Python form of what is at a position, its length in the pattern, and the next state."""
    char = pattern[at]
    if char == "\\":
        return (*_escape(pattern, at, in_class), in_class)
    if in_class:
        return ("\\[" if char == "[" else char), 1, char != "]"
    if pattern.startswith(("[^]", "[]"), at):
        is_any = pattern.startswith("[^]", at)
        return (r"[\s\S]", 3, False) if is_any else (r"(?!)", 2, False)
    if char == "[":
        return char, 1, True
    if char == "$":
        return r"\Z", 1, False
    if match := _GROUP_NAME.match(pattern, at):
        return f"(?P<{match['name'].replace('$', '_')}>", len(match[0]), False
    if (match := _FLAGS.match(pattern, at)) and match[0] != "(?:":
        raise ValueError(f"JavaScript has no inline flags such as {match[0]!r}; use [Aa], or icontains")
    return char, 1, False


def _escape(pattern: str, at: int, in_class: bool) -> tuple[str, int]:
    if at + 1 == len(pattern):
        raise ValueError("it ends with a backslash")
    kind = pattern[at + 1]
    if in_class:
        return _IN_CLASS.get(kind, f"\\{kind}" if kind != "/" else "/"), 2
    if kind in _ASCII:
        return rf"(?a:\{kind})", 2
    if match := _REFERENCE.match(pattern, at):
        return f"(?P={match['name'].replace('$', '_')})", len(match[0])
    # In JavaScript a meaningless escape of a letter is the letter itself; in Python it is an error.
    plain = kind.isalpha() and kind not in "nrtfvsSxu"
    return (re.escape(kind) if plain else f"\\{kind}"), 2
