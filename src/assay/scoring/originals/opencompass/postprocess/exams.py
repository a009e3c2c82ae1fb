"""Letters of options in replies to exam questions: HellaSwag, GAOKAO-Bench and AGIEval."""

from __future__ import annotations

import re

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.options import (
    INSIDE_WORDS,
    filter_letters,
    letters_together,
    lower_other_words,
    one_letter,
    several_letters,
)
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor

_ANSWER_MARK = "【答案】"
_PHRASES = ("answer is ", "答案是")
_GAOKAO_TAIL = 10
"""GAOKAO-Bench looks for unmarked answers in so many last characters."""

SEPARATOR = "[SEP]"
"""Parts the marked letters from all letters in an answer to several questions."""


def _original_hellaswag(text: str) -> str:
    found = re.search("[A-D]", text)
    return text if found is None else text[found.start() :]


def _hellaswag(text: str) -> str | None:
    found = re.search("[A-D]", lower_other_words(text, lambda word: len(word) == 1))
    return None if found is None else text[found.start() :]


def _last_letter(text: str) -> str:
    return filter_letters(text, "ABCD")[-1:]


def _find_question_letters(text: str) -> str:
    capitals = "".join(re.findall("[A-Z]", text))
    after_marks = (part.lstrip().lstrip(":：").lstrip() for part in text.split(_ANSWER_MARK)[1:])
    marked = "".join(part[0] for part in after_marks if re.match("[A-Z]", part))
    return marked + SEPARATOR + capitals


def _find_question_letters_or_none(text: str) -> str | None:
    found = _find_question_letters(text)
    return None if found == SEPARATOR else found


def _find_several_original(text: str) -> str:
    dense = "".join(text.split())
    at = dense.find(_ANSWER_MARK)
    return filter_letters(dense[at:] if at > 0 else dense[-_GAOKAO_TAIL:], "ABCD")


def _find_several(text: str) -> str:
    _, mark, tail = text.partition(_ANSWER_MARK)
    if not mark:
        return filter_letters("".join(text.split())[-_GAOKAO_TAIL:], "ABCD")
    return letters_together(tail)


def _find_five_of_seven(text: str) -> str:
    return filter_letters(text, "ABCDEFG")[:5]


def _find_stated_letter(text: str) -> str:
    for phrase in _PHRASES:
        for part in text.split(phrase)[1:]:
            if stated := filter_letters(part.split("\n")[0], "ABCDEFG"):
                return stated[0]
    return filter_letters(text, "ABCDEF")[:1]


def _every_letter(text: str) -> str:
    return filter_letters(text, "ABCDEF")


HELLASWAG = PostProcessor(
    _original_hellaswag,
    _hellaswag,
    Difference(
        f"{INSIDE_WORDS.original}; a text without a letter is an answer as it stands",
        f"{INSIDE_WORDS.here}; a text without a letter is no answer",
    ),
)
GAOKAO_SINGLE = PostProcessor(_last_letter, one_letter(_last_letter), INSIDE_WORDS)
GAOKAO_QUESTIONS = PostProcessor(
    _find_question_letters,
    several_letters(_find_question_letters_or_none, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    INSIDE_WORDS,
)
GAOKAO_SEVERAL = PostProcessor(
    _find_several_original,
    several_letters(_find_several, "ABCD"),
    Difference(
        f"{INSIDE_WORDS.original}; the mark 【答案】 is not seen at the beginning of a text, and all "
        "letters after it belong to the answer, those of an explanation too",
        f"{INSIDE_WORDS.here}; the mark is seen anywhere, and the letters that follow it together are the "
        "answer",
    ),
)
GAOKAO_FIVE_OF_SEVEN = PostProcessor(
    _find_five_of_seven, several_letters(_find_five_of_seven, "ABCDEFG"), INSIDE_WORDS
)
AGIEVAL_SINGLE = PostProcessor(_find_stated_letter, one_letter(_find_stated_letter), INSIDE_WORDS)
AGIEVAL_SEVERAL = PostProcessor(_every_letter, several_letters(_every_letter, "ABCDEF"), INSIDE_WORDS)
