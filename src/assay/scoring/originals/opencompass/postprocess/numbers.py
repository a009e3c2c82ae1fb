"""The number that a calculation ends in."""

from __future__ import annotations

import re

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor, make_unchanged

_FINAL = re.compile(r"#### (-?[0-9.,]+)")
_PLAIN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _cut_after_last_equals(text: str) -> str:
    return text.strip().rpartition("=")[2].strip()


def _strip_number_marks(word: str) -> str:
    """Return a number's word without its dollar, its commas and the full stop behind it."""
    return word.strip("$").replace(",", "").rstrip(".")


def _find_calculated(text: str) -> str | None:
    """Return the first word after the last calculation, in GSM8K's way of writing one, or None."""
    for mark in (">>", "="):
        if mark in text and (words := text.rpartition(mark)[2].split()):
            return _strip_number_marks(words[0])
    return None


def _find_ultraeval_gsm8k_original(text: str) -> str:
    if final := _FINAL.search(text):
        return final[1].replace(",", "")
    if (result := _find_calculated(text)) is not None:
        return result.strip()
    words = text.split()
    return next((word for word in reversed(words) if word.isdigit()), words[0] if words else text.strip())


def _find_ultraeval_gsm8k(text: str) -> str | None:
    if final := _FINAL.search(text):
        return _strip_number_marks(final[1])
    if (result := _find_calculated(text)) is not None:
        return result.strip()
    return next(
        (word for word in map(_strip_number_marks, reversed(text.split())) if _PLAIN_NUMBER.fullmatch(word)),
        None,
    )


ARITHMETIC = make_unchanged(_cut_after_last_equals)
ULTRAEVAL_GSM8K = PostProcessor(
    _find_ultraeval_gsm8k_original,
    _find_ultraeval_gsm8k,
    Difference(
        "where nothing else is found, the last word of digits alone is the answer, else the first word of "
        "the text; a full stop behind `#### 18.` stays",
        "such a word may have a sign, a dollar, commas, decimals and a full stop; without one there is no "
        "answer; the full stop goes",
    ),
)
