from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.instructions.kinds import NthParagraphFirstWord, ParagraphCount, SentenceCount, WordCount


@pytest.mark.parametrize(
    ("relation", "wanted", "is_followed"),
    [("at least", 3, True), ("at least", 4, False), ("less than", 4, True), ("less than", 3, False)],
)
def test_counts_at_the_limit(
    relation: Literal["at least", "less than"], wanted: int, is_followed: bool
) -> None:
    assert WordCount(wanted, relation).is_followed("one two three") is is_followed
    assert SentenceCount(wanted, relation).is_followed("One. Two. Three.") is is_followed


@pytest.mark.parametrize(
    ("response", "count"),
    [
        ("one", 1),
        ("one\n***\ntwo", 2),
        ("one***two", 2),
        ("***\none\n***\ntwo\n***", 2),
        ("one\n***\n", 1),
        ("one\n\ntwo", 1),
        ("one\n***\ntwo * three\n***\n**four**", 3),
    ],
)
def test_paragraphs_between_dividers(response: str, count: int) -> None:
    followed = [n for n in range(6) if ParagraphCount(n).is_followed(response)]
    assert followed == [count]


def test_an_empty_paragraph_in_the_middle_is_never_right() -> None:
    assert not any(ParagraphCount(n).is_followed("one\n***\n \n***\ntwo") for n in range(5))


@given(st.lists(st.sampled_from(["a", "b c", "d\n\ne"]), min_size=1, max_size=6))
def test_joined_paragraphs_are_counted(paragraphs: list[str]) -> None:
    response = "\n***\n".join(paragraphs)
    assert ParagraphCount(len(paragraphs)).is_followed(response)
    assert not ParagraphCount(len(paragraphs) + 1).is_followed(response)


@pytest.mark.parametrize(
    ("response", "is_followed"),
    [
        ("one\n\nElm trees", True),
        ("one\n\n'elm' trees", True),
        ('one\n\n"Elm" trees', True),
        ("one\n\nelm's trees", True),
        ("one\n\nELM!", True),
        ("one\n\nelms", False),
        ("one\n\n**Elm** trees", False),
        ("one\nElm trees", False),
        ("one\n\nElm\n\nthree", False),
        ("Elm\n\ntwo", False),
        ("one\n\nElm\n\n", True),  # the empty last paragraph is not counted
        ("one\n\n\n\nElm", False),  # but an empty one in the middle takes the second place
        ("elm", False),
    ],
)
def test_first_word_of_a_paragraph(response: str, is_followed: bool) -> None:
    instruction = NthParagraphFirstWord(num_paragraphs=2, nth_paragraph=2, first_word="elm")
    assert instruction.is_followed(response) is is_followed


def test_the_wanted_first_word_may_be_written_large() -> None:
    assert NthParagraphFirstWord(num_paragraphs=1, nth_paragraph=1, first_word="Elm").is_followed("elm")


def test_a_paragraph_beyond_the_wanted_number_cannot_be_right() -> None:
    assert not NthParagraphFirstWord(num_paragraphs=1, nth_paragraph=2, first_word="elm").is_followed("elm")
