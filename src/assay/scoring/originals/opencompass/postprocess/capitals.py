"""The capital letters of a reply, whatever the options are: the first, the last, a row of them, all."""

from __future__ import annotations

import re

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.options import (
    NO_LETTERS,
    letters_together,
    lone_capitals,
    lower_other_words,
    lower_plain_words,
)
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor

_ANY_CAPITAL = re.compile("[A-Z]")
_FIRST_LETTERS = frozenset("ABCDEFGH")
_FIRST_ROW = re.compile("[A-D]+")


def _find_first_capital_original(text: str) -> str:
    return next((character for character in text if character.isupper()), "")


def _find_first_capital(text: str) -> str | None:
    found = _ANY_CAPITAL.search(lone_capitals(text))
    return found[0] if found else None


def _find_last_capital_original(text: str) -> str:
    return _find_first_capital_original(text[::-1])


def _find_last_capital(text: str) -> str | None:
    return found[-1] if (found := _ANY_CAPITAL.findall(lone_capitals(text))) else None


def _original_row(text: str) -> str:
    found = _FIRST_ROW.search(text)
    return found[0] if found else ""


def _row(text: str) -> str:
    return letters_together(lower_other_words(lower_plain_words(text), frozenset("ABCD").issuperset))


def _find_all_capitals_original(text: str) -> str:
    return "".join(sorted({character for character in text if character.isupper()}))


def _find_all_capitals(text: str) -> str:
    return "".join(sorted(set(_ANY_CAPITAL.findall(lower_other_words(lower_plain_words(text), _is_set)))))


def _is_set(word: str) -> bool:
    """Whether a word is one option or several, each once; abbreviations seldom keep to the first letters."""
    return len(word) == 1 or (len(set(word)) == len(word) and _FIRST_LETTERS.issuperset(word))


def _join_capitals_original(text: str) -> str:
    return ", ".join(_find_all_capitals_original(text))


def _join_capitals(text: str) -> str:
    return ", ".join(_find_all_capitals(text))


_SEVERAL = Difference(
    "every capital is an option, those that begin words, too",
    "capitals count that stand by themselves, and A to H together, each once; article and pronoun do not",
)

FIRST_CAPITAL = PostProcessor(_find_first_capital_original, _find_first_capital, NO_LETTERS)
LAST_CAPITAL = PostProcessor(_find_last_capital_original, _find_last_capital, NO_LETTERS)
FIRST_CAPITAL_MULTI = PostProcessor(
    _original_row,
    _row,
    Difference(
        "the first A to D is the answer, that of a word such as `Answer`, too; of `A, C` it is A alone",
        "words that are no options do not count, and letters that follow each other are one answer: AC",
    ),
)
MULTIPLE_SELECT = PostProcessor(_find_all_capitals_original, _find_all_capitals, _SEVERAL)
SEEDBENCH_MULTIPLE_SELECT = PostProcessor(_join_capitals_original, _join_capitals, _SEVERAL)
