from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import nearest
from assay.core.names import composed, is_spelled_otherwise

PARTED = unicodedata.normalize("NFD", "한국어")


def test_names_that_look_alike() -> None:
    assert composed(PARTED) == "한국어"
    assert is_spelled_otherwise(PARTED, "한국어")
    assert not is_spelled_otherwise("한국어", "한국어")
    assert not is_spelled_otherwise("한국어", "한국")


def test_a_hint_says_why_two_equal_looking_names_differ() -> None:
    assert "NFC and NFD look alike" in nearest("한국어", ["영어", PARTED])
    assert nearest("한국말", ["한국어말"]) == " (did you mean '한국어말'?)"


@given(st.text())
def test_composing_is_final_and_keeps_the_meaning(name: str) -> None:
    assert composed(composed(name)) == composed(name)
    assert unicodedata.normalize("NFD", composed(name)) == unicodedata.normalize("NFD", name)
