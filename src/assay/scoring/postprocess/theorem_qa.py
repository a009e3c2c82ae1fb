r"""Answers of TheoremQA by its own script, of which OpenCompass's third and fourth versions are made.

The script has sympy read what is stated as LaTeX, and runs what sympy writes. Here nothing is run: arithmetic
is calculated, and any other expression stays as it is written, in the faithful mode too.
"""

from __future__ import annotations

import re

from assay.scoring.differences import Difference
from assay.scoring.postprocess.arithmetic import calculated
from assay.scoring.postprocess.processor import PostProcessor

_PHRASES = ("The answer is:", "The answer is", "the answer is")
_STATED = re.compile("|".join(_PHRASES))
_OPTION = re.compile(r"\([a-f]\)", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d*\.?\d+")
_NUMBER_AND_UNIT = re.compile(r"-?[\d.]+\s(?:\D+|\S+)$")
_PI = "3.14"
_PI_ALONE = re.compile(r"(?<![\d}])\\?π")
_PI_TIMES = re.compile(r"(\d)\\?π")
_PI_IN_BRACES = re.compile(r"\{\\?π\}")
_PI_AFTER_SIGN = re.compile(r"\*\\?π")
_UNITS = ("$", "¥", "°C", " C", "°")
_ORIGINAL_VERDICTS = (("True", re.compile("yes|true")), ("False", re.compile("no|false")))
_VERDICTS = (("True", re.compile(r"\b(?:yes|true)\b")), ("False", re.compile(r"\b(?:no|false)\b")))


def _without_units(text: str) -> str:
    text = _PI_ALONE.sub(_PI, text.replace(r"\pi", "π"))
    text = _PI_TIMES.sub(rf"\g<1>*{_PI}", text)
    text = _PI_AFTER_SIGN.sub(f"*{_PI}", _PI_IN_BRACES.sub(_PI, text)).replace("%", "/100")
    for unit in _UNITS:
        text = text.replace(unit, "")
    return text


def _answer(text: str, verdicts: tuple[tuple[str, re.Pattern[str]], ...]) -> str:
    text = text.strip("\n")
    if any(text.count(phrase) > 1 for phrase in _PHRASES):
        text = text.split("\n\n")[0]  # a base model goes on with questions of its own
    *before, stated = _STATED.split(text)
    stated = stated.strip("\n").rstrip(".").rstrip("/").strip(" ")
    return _read(stated, bool(before), verdicts).rstrip(".").rstrip("/")


def _read(stated: str, is_stated: bool, verdicts: tuple[tuple[str, re.Pattern[str]], ...]) -> str:
    for verdict, words in verdicts:
        if words.search(stated.lower()):
            return verdict
    if _OPTION.search(stated):
        return stated
    if not is_stated:
        return str(numbers[-1]) if (numbers := _NUMBER.findall(stated)) else ""
    value = _without_units(stated.rpartition("=")[2].strip())
    if (result := calculated(value)) is not None:
        return result
    return value.split(" ")[0] if _NUMBER_AND_UNIT.match(value) else value


def _original_v3(text: str) -> str:
    return _answer(text, _ORIGINAL_VERDICTS)


def _v3(text: str) -> str:
    return _answer(text, _VERDICTS)


def _without_delimiters(answer: str) -> str:
    return answer.strip("\\(").strip("\\)").strip()


def _original_v4(text: str) -> str:
    return _without_delimiters(_original_v3(text))


def _v4(text: str) -> str:
    return _without_delimiters(_v3(text))


_WORDS = Difference(
    "yes, true, no and false count inside words: `unknown` is False",
    "they count as words; what is stated is calculated where it is arithmetic, and never run",
)

V3 = PostProcessor(_original_v3, _v3, _WORDS)
V4 = PostProcessor(_original_v4, _v4, _WORDS)
