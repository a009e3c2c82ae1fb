"""Compares two formulas with math-verify and prints the verdict as JSON. Imported only in the sandbox."""

from __future__ import annotations

import json
from typing import Any

from latex2sympy2_extended import NormalizationConfig
from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

NO_GOLD = "no gold"
"""Printed if the target contains no formula."""

_MOST_WORDS = 8
"""The maximum number of words in a text that may be a bare formula."""


def print_verdict(text: str, gold: str, *, is_faithful: bool) -> None:
    """Print whether a text contains the target formula, or that there is no target."""
    wanted = _parse_whole(gold)
    if not wanted:
        print(json.dumps(NO_GOLD))  # noqa: T201 (how a program in the sandbox answers)
        return
    got = _parse_marked(text, is_faithful=is_faithful)
    is_right = verify(got, wanted) if is_faithful else verify(wanted, got or _parse_bare(text))
    print(json.dumps(is_right))  # noqa: T201


def _parse_marked(text: str, *, is_faithful: bool) -> list[Any]:
    r"""Return the formula in a box, else the announced one; the original does not read `\frac12`."""
    written = NormalizationConfig(
        basic_latex=True, units=True, boxed="all", malformed_operators=not is_faithful, nits=not is_faithful
    )
    marked = LatexExtractionConfig(
        normalization_config=written, boxed_match_priority=0, try_extract_without_anchor=False
    )
    return list(parse(text, extraction_config=[marked], extraction_mode="first_match"))


def _parse_whole(text: str) -> list[Any]:
    """Return the formula that is the whole text."""
    either = [LatexExtractionConfig(), ExprExtractionConfig()]
    return list(parse(f"${text}$", extraction_config=either, extraction_mode="first_match"))


def _parse_bare(text: str) -> list[Any]:
    """Return the formula of a text without math delimiters; nothing for a sentence or paragraph."""
    line = text.strip().rstrip(".").strip("$").strip()
    is_one = bool(line) and "\n" not in line and "$" not in line and len(line.split()) <= _MOST_WORDS
    return _parse_whole(line) if is_one else []


# Both packages import parts of themselves when they first parse a formula. The sandbox loads this file before
# it locks the file system.
verify(_parse_whole(r"\frac{1}{2}"), _parse_marked(r"\boxed{0.5}", is_faithful=False))
