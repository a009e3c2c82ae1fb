"""Letters of options in replies to exam questions: HellaSwag, GAOKAO-Bench and AGIEval.

The originals take any capital letter for an option, also the A of `Answer`. Here words that are no options
are brought to lower case first, which keeps every letter's place; then the original's own rule decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.scoring.differences import Difference
from assay.scoring.postprocess.processor import Find, PostProcessor

_LATIN_WORD = re.compile(r"[A-Za-z]+")
_ANSWER_MARK = "【答案】"
_MARKED = re.compile(r"【答案】\s*[:：]*\s*([A-Z])")
_AFTER_ENGLISH = re.compile(r"answer is .*?([A-G])")
_AFTER_CHINESE = re.compile(r"答案是.*?([A-G])")
_ANSWER_LETTERS = re.compile(r"[A-D](?:[\s、，,和及&]*[A-D])*")
_N_TAIL = 10
"""GAOKAO-Bench looks for unmarked answers in so many last characters."""

SEPARATOR = "[SEP]"
"""Parts the marked letters from all letters in an answer to several questions."""


def _other_words_lowered(text: str, is_option: Callable[[str], bool]) -> str:
    return _LATIN_WORD.sub(lambda word: word[0] if is_option(word[0]) else word[0].lower(), text)


def _one_letter(find: Find) -> Find:
    """Return the rule over texts in which a capital is one letter by itself."""
    return lambda text: find(_other_words_lowered(text, lambda word: len(word) == 1))


def _several_letters(find: Find, letters: str) -> Find:
    """Return the rule over texts in which capitals are one or several letters of options together."""
    return lambda text: find(_other_words_lowered(text, frozenset(letters).issuperset))


def _letters(text: str, letters: str) -> str:
    return "".join(letter for letter in text if letter in letters)


def _original_hellaswag(text: str) -> str:
    found = re.search("[A-D]", text)
    return text if found is None else text[found.start() :]


def _hellaswag(text: str) -> str | None:
    found = re.search("[A-D]", _other_words_lowered(text, lambda word: len(word) == 1))
    return None if found is None else text[found.start() :]


def _last_letter(text: str) -> str:
    return _letters(text, "ABCD")[-1:]


def _letters_of_questions(text: str) -> str:
    capitals = "".join(re.findall("[A-Z]", text))
    return "".join(_MARKED.findall(text)) + SEPARATOR + capitals


def _letters_of_questions_or_none(text: str) -> str | None:
    found = _letters_of_questions(text)
    return None if found == SEPARATOR else found


def _original_several(text: str) -> str:
    dense = "".join(text.split())
    at = dense.find(_ANSWER_MARK)
    return _letters(dense[at:] if at > 0 else dense[-_N_TAIL:], "ABCD")


def _several(text: str) -> str:
    _, mark, tail = text.partition(_ANSWER_MARK)
    if not mark:
        return _letters("".join(text.split())[-_N_TAIL:], "ABCD")
    found = _ANSWER_LETTERS.search(tail)
    return "" if found is None else _letters(found[0], "ABCD")


def _five_of_seven(text: str) -> str:
    return _letters(text, "ABCDEFG")[:5]


def _stated_letter(text: str) -> str:
    for mark in (_AFTER_ENGLISH, _AFTER_CHINESE):
        if found := mark.search(text):
            return found[1]
    return _letters(text, "ABCDEF")[:1]


def _every_letter(text: str) -> str:
    return _letters(text, "ABCDEF")


_INSIDE_WORDS = Difference(
    "a capital inside a word is an option: the A of `Answer`, the B of `Because`",
    "capitals of words that are no options do not count",
)

HELLASWAG = PostProcessor(
    _original_hellaswag,
    _hellaswag,
    Difference(
        f"{_INSIDE_WORDS.original}; a text without a letter is an answer as it stands",
        f"{_INSIDE_WORDS.here}; a text without a letter is no answer",
    ),
)
GAOKAO_SINGLE = PostProcessor(_last_letter, _one_letter(_last_letter), _INSIDE_WORDS)
GAOKAO_QUESTIONS = PostProcessor(
    _letters_of_questions,
    _several_letters(_letters_of_questions_or_none, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    _INSIDE_WORDS,
)
GAOKAO_SEVERAL = PostProcessor(
    _original_several,
    _several_letters(_several, "ABCD"),
    Difference(
        f"{_INSIDE_WORDS.original}; the mark 【答案】 is not seen at the beginning of a text, and all "
        "letters after it belong to the answer, those of an explanation too",
        f"{_INSIDE_WORDS.here}; the mark is seen anywhere, and the letters that follow it together are the "
        "answer",
    ),
)
GAOKAO_FIVE_OF_SEVEN = PostProcessor(
    _five_of_seven, _several_letters(_five_of_seven, "ABCDEFG"), _INSIDE_WORDS
)
AGIEVAL_SINGLE = PostProcessor(_stated_letter, _one_letter(_stated_letter), _INSIDE_WORDS)
AGIEVAL_SEVERAL = PostProcessor(_every_letter, _several_letters(_every_letter, "ABCDEF"), _INSIDE_WORDS)
