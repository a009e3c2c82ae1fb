r"""The string that the MATH benchmark's own script (Hendrycks 2021) makes of an answer, mishaps and all.

For the faithful mode alone: `assay.scoring.latex` is the same without the mishaps. They are part of published
numbers: an answer that the script cannot take apart, such as one that ends in `\sqrt`, is an error.
"""

from __future__ import annotations

import re

_FRACTION = re.compile("[td]frac")
_WITHOUT_MEANING = re.compile(r"\\(?:left|right|\$)|\^(?:\\circ|\{\\circ\})")
_UNIT = r"\text{ "
_WHOLE_RATIO = re.compile(r"(0|-?[1-9][0-9]*)/(0|-?[1-9][0-9]*)")


def hendrycks_form(answer: str) -> str:
    """Return the script's normal form; ValueError where the script breaks off."""
    answer = answer.replace("\n", "").replace(r"\!", "").replace("\\\\", "\\")
    answer = _WITHOUT_MEANING.sub("", _FRACTION.sub("frac", answer))
    if answer.count(_UNIT) > 1:
        raise ValueError("more than one unit")
    answer = answer.partition(_UNIT)[0].replace(r"\%", "")
    answer = answer.replace(" .", " 0.").replace("{.", "{0.")
    if answer.startswith("."):
        answer = f"0{answer}"
    name, _, value = answer.partition("=")
    if answer.count("=") == 1 and len(name) <= 2:
        answer = value
    answer = _brace_fractions(_brace_roots(answer).replace(" ", ""))
    if answer == "0.5":
        return r"\frac{1}{2}"
    ratio = _WHOLE_RATIO.fullmatch(answer)
    return rf"\frac{{{ratio[1]}}}{{{ratio[2]}}}" if ratio else answer


def _brace_roots(answer: str) -> str:
    r"""Write `\sqrt3` as `\sqrt{3}`: one character, whatever it is."""
    first, *rest = answer.split(r"\sqrt")
    if not all(rest):
        raise ValueError("a root of nothing")
    return first + "".join(
        rf"\sqrt{part}" if part[0] == "{" else rf"\sqrt{{{part[0]}}}{part[1:]}" for part in rest
    )


def _brace_fractions(answer: str) -> str:
    r"""Write `\frac12` and `\frac1{72}` with braces; one that lacks a part leaves the answer as it was."""
    first, *rest = answer.split(r"\frac")
    written = first
    for part in rest:
        if not part:
            raise ValueError("a fraction of nothing")
        if part[0] == "{":
            written += rf"\frac{part}"
        elif len(part) == 1:
            return answer
        else:
            below = part[1:] if part[1] == "{" else f"{{{part[1]}}}{part[2:]}"
            written += rf"\frac{{{part[0]}}}{below}"
    return written
