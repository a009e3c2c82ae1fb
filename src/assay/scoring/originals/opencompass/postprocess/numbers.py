"""The number that a calculation ends in."""

from __future__ import annotations

import re

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor, unchanged

_FINAL = re.compile(r"#### (-?[0-9.,]+)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _after_last_equals(text: str) -> str:
    return text.strip().rpartition("=")[2].strip()


def _bare(word: str) -> str:
    """Return a number's word without its dollar, its commas and the full stop behind it."""
    return word.strip("$").replace(",", "").rstrip(".")


def _calculated(text: str) -> str | None:
    """Return the first word after the last calculation, in GSM8K's way of writing one, or None."""
    for mark in (">>", "="):
        if mark in text and (words := text.rpartition(mark)[2].split()):
            return _bare(words[0])
    return None


def _original_gsm8k(text: str) -> str:
    if final := _FINAL.search(text):
        return final[1].replace(",", "")
    if (result := _calculated(text)) is not None:
        return result.strip()
    words = text.split()
    return next((word for word in reversed(words) if word.isdigit()), words[0] if words else text.strip())


def _gsm8k(text: str) -> str | None:
    if final := _FINAL.search(text):
        return _bare(final[1])
    if (result := _calculated(text)) is not None:
        return result.strip()
    return next((word for word in map(_bare, reversed(text.split())) if _NUMBER.fullmatch(word)), None)


ARITHMETIC = unchanged(_after_last_equals)
GSM8K = PostProcessor(
    _original_gsm8k,
    _gsm8k,
    Difference(
        "where nothing else is found, the last word of digits alone is the answer, else the first word of "
        "the text; a full stop behind `#### 18.` stays",
        "such a word may have a sign, a dollar, commas, decimals and a full stop; without one there is no "
        "answer; the full stop goes",
    ),
)
