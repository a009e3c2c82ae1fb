"""Capital letters that name an option, told apart from those that only begin a word.

The originals take any capital for an option, also the A of `Answer`. Here words that are no options are
brought to lower case first, which keeps every letter's place; then the original's own rule decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.processor import FindAnswer

_LATIN_WORD = re.compile(r"[A-Za-z]+")
# "A dog is", "I think", "I'm": a word, not an option.
_PLAIN_WORD = re.compile(
    r"(?<![A-Za-z(（\[*])(?:A(?= (?!(?:and|or|is|as|because|since|but|for)\b)[a-z])|I(?= [a-z]|['’]))"
)
_TOGETHER = re.compile(r"[A-D](?:(?:[\s、，,和及&]|and)*[A-D])*")

INSIDE_WORDS = Difference(
    "a capital inside a word is an option: the A of `Answer`, the B of `Because`",
    "capitals of words that are no options do not count",
)
NO_LETTERS = Difference(
    "a capital inside a word is an option, the article A and the pronoun I are options",
    "a capital counts where it stands by itself, and not as article or pronoun",
)


def lower_other_words(text: str, is_option: Callable[[str], bool]) -> str:
    """Return the text with every word in lower case that is no option."""
    return _LATIN_WORD.sub(lambda word: word[0] if is_option(word[0]) else word[0].lower(), text)


def one_letter(find: FindAnswer) -> FindAnswer:
    """Return the rule over texts in which a capital is one letter by itself."""
    return lambda text: find(lower_other_words(text, lambda word: len(word) == 1))


def several_letters(find: FindAnswer, letters: str) -> FindAnswer:
    """Return the rule over texts in which capitals are one or several letters of options together."""
    return lambda text: find(lower_other_words(text, frozenset(letters).issuperset))


def filter_letters(text: str, letters: str) -> str:
    """Return those characters of a text that are among the letters."""
    return "".join(letter for letter in text if letter in letters)


def letters_together(text: str) -> str:
    """Return the first letters A to D that follow each other, as in `A, C and D`."""
    found = _TOGETHER.search(text)
    return "" if found is None else filter_letters(found[0], "ABCD")


def lower_plain_words(text: str) -> str:
    """Return the text with the article A and the pronoun I in lower case."""
    return _PLAIN_WORD.sub(lambda word: word[0].lower(), text)


def lone_capitals(text: str) -> str:
    """Return the text in which a capital is one letter by itself, and neither article nor pronoun."""
    return lower_other_words(lower_plain_words(text), lambda word: len(word) == 1)
