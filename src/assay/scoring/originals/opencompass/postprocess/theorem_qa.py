r"""Answers of TheoremQA by its own script, of which OpenCompass's third and fourth versions are made.

The script has sympy read what is stated as LaTeX, and runs what sympy writes. Here nothing is run: arithmetic
is calculated, and any other expression stays as it is written, in the faithful mode too.
"""

from __future__ import annotations

import re

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.mathematics import calculate
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor

_THEOREM_QA_STATEMENT = re.compile("The answer is:?|the answer is")
_OPTION = re.compile(r"\([a-f]\)", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:\d*\.)?\d+")
_NUMBER_AND_UNIT = re.compile(r"-?[\d.]+\s(?:\D+|\S+)$")
_PI = "3.14"
_PI_AND_BEFORE = re.compile(r"([\d}]?)π")
_UNIT = re.compile("[$¥]|°C?| C")
_ORIGINAL_VERDICTS = (("True", re.compile("yes|true")), ("False", re.compile("no|false")))
_VERDICTS = (("True", re.compile(r"\b(?:yes|true)\b")), ("False", re.compile(r"\b(?:no|false)\b")))


def _drop_units(text: str) -> str:
    text = _PI_AND_BEFORE.sub(_replace_pi, text.replace(r"\pi", "π"))
    return _UNIT.sub("", text.replace("%", "/100"))


def _replace_pi(found: re.Match[str]) -> str:
    """Return 3.14, times the digit before it; behind a brace, as of a fraction, the script leaves π alone."""
    match found[1]:
        case "":
            return _PI
        case "}":
            return found[0]
        case digit:
            return f"{digit}*{_PI}"


def _answer(text: str, verdicts: tuple[tuple[str, re.Pattern[str]], ...]) -> str:
    text = text.strip("\n")
    if any(text.count(f"{the} answer is") > 1 for the in ("The", "the")):
        text = text.split("\n\n")[0]  # a base model goes on with questions of its own
    *before, stated = _THEOREM_QA_STATEMENT.split(text)
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
    value = _drop_units(stated.rpartition("=")[2].strip())
    if (result := calculate(value)) is not None:
        return result
    return value.split(" ")[0] if _NUMBER_AND_UNIT.match(value) else value


def _original_v3(text: str) -> str:
    return _answer(text, _ORIGINAL_VERDICTS)


def _v3(text: str) -> str:
    return _answer(text, _VERDICTS)


def _drop_delimiters(answer: str) -> str:
    return answer.strip("\\(").strip("\\)").strip()


def _original_v4(text: str) -> str:
    return _drop_delimiters(_original_v3(text))


def _v4(text: str) -> str:
    return _drop_delimiters(_v3(text))


_WORDS = Difference(
    "yes, true, no and false count inside words: `unknown` is False",
    "they count as words; what is stated is calculated where it is arithmetic, and never run",
)

THEOREM_QA_V3 = PostProcessor(_original_v3, _v3, _WORDS)
THEOREM_QA_V4 = PostProcessor(_original_v4, _v4, _WORDS)
