r"""Comparison of LaTeX answers as text: the normalization of the MATH benchmark (Hendrycks 2021).

Rewrites are applied in order, then texts are compared. No algebra: `2+1` and `3` differ. Well-formed answers
that the benchmark's script treats as equal are equal here. Some answers that the script mangles are also
handled: a command as argument (`\sqrt\pi`), spaces before an argument (`\sqrt 3`), `\frac{7}2`, several
units.
"""

from __future__ import annotations

import re

_ARGUMENT = r"\s*((?!\\sqrt|\\frac)\\[A-Za-z]+|[^\s{}\[\\])"
"""What TeX accepts as an argument without braces: a command that takes none itself, or a character."""

_REWRITES = tuple(
    (re.compile(found, re.DOTALL), written)
    for found, written in (
        (r"\n|\\!", ""),  # line breaks, negative spaces
        (r"\\\\", r"\\"),
        (r"[td]frac", "frac"),
        (r"\\left|\\right", ""),
        (r"\^\{\\circ\}|\^\\circ", ""),  # degrees
        (r"\\\$", ""),  # dollars
        (r"\\text\{ .*", ""),  # a unit on the right
        (r"\\%", ""),
        (r"(^|[ {])\.", r"\g<1>0."),  # .5 is 0.5
        (r"^[^=]{0,2}=([^=]*)$", r"\1"),  # "x = 5" is 5
        (rf"\\sqrt{_ARGUMENT}", r"\\sqrt{\1}"),
        (rf"\\frac{_ARGUMENT}", r"\\frac{\1}"),
        (rf"\\frac\s*(\{{[^{{}}]*\}}){_ARGUMENT}", r"\\frac\1{\2}"),
        (r" ", ""),
        (r"^0\.5$", r"\\frac{1}{2}"),
        (r"^(0|-?[1-9][0-9]*)/(0|-?[1-9][0-9]*)$", r"\\frac{\1}{\2}"),
    )
)


def is_equiv(str1: str | None, str2: str | None) -> bool:
    """Return whether two answers are equal after normalization. None equals only None."""
    if str1 is None or str2 is None:
        return str1 is str2
    return latex_form(str1) == latex_form(str2)


def latex_form(answer: str) -> str:
    """Return the normal form of an answer."""
    for found, written in _REWRITES:
        answer = found.sub(written, answer)
    return answer
