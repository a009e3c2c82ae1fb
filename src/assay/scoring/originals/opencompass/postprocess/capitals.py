"""The capital letters of a reply, whatever the options are: the first, the last, a row of them, all."""

from __future__ import annotations

import re

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.letters import (
    NO_LETTERS,
    letters_together,
    lone_capitals,
    other_words_lowered,
    without_plain_words,
)
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor

_CAPITAL = re.compile("[A-Z]")
_FIRST_LETTERS = frozenset("ABCDEFGH")
_FIRST_ROW = re.compile("[A-D]+")


def _original_first(text: str) -> str:
    return next((character for character in text if character.isupper()), "")


def _first(text: str) -> str | None:
    found = _CAPITAL.search(lone_capitals(text))
    return found[0] if found else None


def _original_last(text: str) -> str:
    return _original_first(text[::-1])


def _last(text: str) -> str | None:
    return found[-1] if (found := _CAPITAL.findall(lone_capitals(text))) else None


def _original_row(text: str) -> str:
    found = _FIRST_ROW.search(text)
    return found[0] if found else ""


def _row(text: str) -> str:
    return letters_together(other_words_lowered(without_plain_words(text), frozenset("ABCD").issuperset))


def _original_all(text: str) -> str:
    return "".join(sorted({character for character in text if character.isupper()}))


def _all(text: str) -> str:
    return "".join(sorted(set(_CAPITAL.findall(other_words_lowered(without_plain_words(text), _is_set)))))


def _is_set(word: str) -> bool:
    """Whether a word is one option or several, each once; abbreviations seldom keep to the first letters."""
    return len(word) == 1 or (len(set(word)) == len(word) and _FIRST_LETTERS.issuperset(word))


def _original_parted(text: str) -> str:
    return ", ".join(_original_all(text))


def _parted(text: str) -> str:
    return ", ".join(_all(text))


_SEVERAL = Difference(
    "every capital is an option, those that begin words, too",
    "capitals count that stand by themselves, and A to H together, each once; article and pronoun do not",
)

FIRST_CAPITAL = PostProcessor(_original_first, _first, NO_LETTERS)
LAST_CAPITAL = PostProcessor(_original_last, _last, NO_LETTERS)
FIRST_CAPITAL_MULTI = PostProcessor(
    _original_row,
    _row,
    Difference(
        "the first A to D is the answer, that of a word such as `Answer`, too; of `A, C` it is A alone",
        "words that are no options do not count, and letters that follow each other are one answer: AC",
    ),
)
MULTIPLE_SELECT = PostProcessor(_original_all, _all, _SEVERAL)
SEEDBENCH_MULTIPLE_SELECT = PostProcessor(_original_parted, _parted, _SEVERAL)
