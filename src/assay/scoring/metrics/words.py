"""Texts as bags of words: SQuAD's normal form, ways to split words, and F1 between bags.

This normal form is the one of published scores; `assay.scoring.normalize` has Assay's own, which handles more
than ASCII.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from assay.scoring.normalize import split_any_script

ARTICLES = ("a", "an", "the")
"""The words that SQuAD and DROP drop."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SPACE_OR_HYPHEN = re.compile(" |-")


def squad_form(text: str, *, dropped: Sequence[str] = ARTICLES) -> str:
    """Return the text in lower case, without ASCII punctuation and dropped words, with single spaces.

    Punctuation is removed first, so `4.5` becomes `45`, as in the published scores.
    """
    plain = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_whole_words(tuple(dropped)).sub(" ", plain).split())


@lru_cache(maxsize=16)
def _whole_words(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b")


@lru_cache(maxsize=1)
def _treebank() -> Any:
    # The class needs no data files, unlike nltk.word_tokenize, which downloads a sentence splitter.
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


def treebank_words(text: str) -> list[str]:
    """Split words as the Penn Treebank does: `don't` gives `do` and `n't`; punctuation is separate.

    The text is treated as one sentence: only the last full stop is split from its word.
    """
    return list(_treebank().tokenize(text))


def split_at_spaces_and_hyphens(text: str) -> list[str]:
    """Split words at every single space and hyphen, as DROP's official script does."""
    return _SPACE_OR_HYPHEN.split(text)


WORDS_BY: dict[str, Callable[[str], list[str]]] = {
    "nltk": treebank_words,
    "split": str.split,
    "regex": split_at_spaces_and_hyphens,
    "unicode": split_any_script,
}
"""Ways of splitting words, by the author's name for them."""


def bag_f1(predicted: Iterable[Hashable], expected: Iterable[Hashable]) -> float:
    """Return F1 between two bags of words. Two empty bags are equal; one empty bag shares nothing."""
    got, wanted = Counter(predicted), Counter(expected)
    if not got or not wanted:
        return float(got == wanted)
    # 2 p r / (p + r) with p = shared / got and r = shared / wanted.
    return 2 * (got & wanted).total() / (got.total() + wanted.total())


def is_number(word: str) -> bool:
    """Whether Python parses the word as a number, as DROP's official script does."""
    try:
        float(word)
    except ValueError:
        return False
    return True
