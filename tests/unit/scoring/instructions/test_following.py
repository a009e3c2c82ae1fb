from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.instructions.instruction import check_instructions, loose_variants
from assay.scoring.instructions.kinds import ForbiddenWords, JsonFormat, NoComma, ParagraphCount, WordCount


def test_an_introduction_and_a_farewell_are_forgiven() -> None:
    response = 'Sure, here it is:\n{"a": 1}\nHope this helps!'
    assert check_instructions([JsonFormat(), NoComma()], response, "strict") == [False, False]
    assert check_instructions([JsonFormat(), NoComma()], response, "loose") == [True, True]


def test_what_is_in_the_middle_is_not_forgiven() -> None:
    assert check_instructions([NoComma()], "a\nb, c\nd", "loose") == [False]


@pytest.mark.parametrize("response", ["", " ", "\n\n", "\t"])
@pytest.mark.parametrize("reading", ["strict", "loose"])
def test_a_blank_response_follows_nothing(response: str, reading: str) -> None:
    easy = [NoComma(), ForbiddenWords(("a",)), WordCount(9, "less than"), ParagraphCount(0)]
    assert check_instructions(easy, response, "strict" if reading == "strict" else "loose") == [False] * 4


def test_a_response_of_stars_is_blank_without_them_and_follows_as_it_is() -> None:
    assert check_instructions([NoComma()], "***", "loose") == [True]


@given(st.text(alphabet="a*, \n", max_size=20))
def test_variants(response: str) -> None:
    lines = response.split("\n")
    expected = {response, response.replace("*", "")}
    for first, last, stars in product((0, 1), (0, 1), (True, False)):
        if first or last:
            kept = [line for i, line in enumerate(lines) if i >= first and i < len(lines) - last]
            text = "\n".join(kept).strip()
            expected.add(text if stars else "".join(c for c in text if c != "*"))
    variants = loose_variants(response)
    assert variants[0] == response
    assert len(variants) == len(expected) <= 8
    assert set(variants) == expected


@given(st.text(alphabet="ab*, .\n{}[]", max_size=40))
def test_what_follows_strictly_follows_loosely(response: str) -> None:
    instructions = [NoComma(), JsonFormat(), ParagraphCount(2), WordCount(2, "at least")]
    strict, loose = (check_instructions(instructions, response, reading) for reading in ("strict", "loose"))
    assert all(b for a, b in zip(strict, loose, strict=True) if a)
