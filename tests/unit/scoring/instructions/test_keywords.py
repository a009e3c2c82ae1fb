from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.instructions.kinds import (
    ForbiddenWords,
    KeywordFrequency,
    KeywordsExist,
    LetterFrequency,
)


@pytest.mark.parametrize(
    ("response", "is_followed"),
    [
        ("a cat and a dog", True),
        ("CAT Dog", True),
        ("concatenate dogma", True),
        ("a cat", False),
        ("c a t d o g", False),
    ],
)
def test_all_keywords_must_be_there(response: str, is_followed: bool) -> None:
    assert KeywordsExist(("cat", "dog")).is_followed(response) is is_followed


@pytest.mark.parametrize(
    ("response", "count"), [("", 0), ("Go go gone", 3), ("gogogo", 3), ("cargo", 1), ("g o", 0)]
)
def test_keyword_frequency(response: str, count: int) -> None:
    assert KeywordFrequency("go", count, "at least").is_followed(response)
    assert not KeywordFrequency("go", count + 1, "at least").is_followed(response)
    assert KeywordFrequency("go", count + 1, "less than").is_followed(response)
    assert not KeywordFrequency("go", count, "less than").is_followed(response)


def test_occurrences_do_not_overlap() -> None:
    assert not KeywordFrequency("aa", 2, "at least").is_followed("aaa")


@pytest.mark.parametrize(
    ("response", "is_followed"),
    [
        ("I will run", False),
        ("RUN!", False),
        ("run-down", False),
        ("running", True),
        ("outrun", True),
        ("run_1", True),
        ("walk", True),
    ],
)
def test_forbidden_words_are_whole_words(response: str, is_followed: bool) -> None:
    assert ForbiddenWords(("walked", "run")).is_followed(response) is is_followed


def test_words_are_not_patterns() -> None:
    assert KeywordsExist(("C++",)).is_followed("I like c++.")
    assert not KeywordsExist(("a.c",)).is_followed("abc")
    assert KeywordFrequency("(x)", 2, "at least").is_followed("(x) (X)")
    assert not ForbiddenWords(("C++",)).is_followed("I like C++.")
    assert ForbiddenWords(("a.c",)).is_followed("abc")


@given(st.text(alphabet="aAbB!# ", max_size=30), st.sampled_from("aAbB!#"), st.integers(0, 10))
def test_letters_are_counted_one_by_one(response: str, letter: str, wanted: int) -> None:
    count = sum(1 for character in response if character.lower() == letter.lower())
    assert LetterFrequency(letter, wanted, "at least").is_followed(response) is (count >= wanted)
    assert LetterFrequency(letter, wanted, "less than").is_followed(response) is (count < wanted)
