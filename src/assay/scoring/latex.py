r"""When two LaTeX answers are the same text: the normalisation of the MATH benchmark (Hendrycks 2021).

A list of rewrites, applied in order, and a comparison. No algebra: `2+1` and `3` differ. Well-formed answers
that the benchmark's own script calls equal are equal here. Some that it mangles are put right besides: an
argument that is a command (`\sqrt\pi`), spaces before an argument (`\sqrt 3`), `\frac{7}2`, several units.
"""

from __future__ import annotations

import re

_ARGUMENT = r"\s*((?!\\sqrt|\\frac)\\[A-Za-z]+|[^\s{}\[\\])"
"""What TeX takes as an argument without braces: a command that wants none itself, or a character."""

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
    """Return whether two answers are the same after normalisation. No answer equals only no answer."""
    if str1 is None or str2 is None:
        return str1 is str2
    return latex_form(str1) == latex_form(str2)


def latex_form(answer: str) -> str:
    """Return an answer in its normal form."""
    for found, written in _REWRITES:
        answer = found.sub(written, answer)
    return answer
