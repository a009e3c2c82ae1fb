from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import suggest_name
from assay.core.names import compose_name, is_same_decomposed

PARTED = unicodedata.normalize("NFD", "한국어")


def test_names_that_look_alike() -> None:
    assert compose_name(PARTED) == "한국어"
    assert is_same_decomposed(PARTED, "한국어")
    assert not is_same_decomposed("한국어", "한국어")
    assert not is_same_decomposed("한국어", "한국")


def test_a_hint_says_why_two_equal_looking_names_differ() -> None:
    assert "NFC and NFD look the same" in suggest_name("한국어", ["영어", PARTED])
    assert suggest_name("한국말", ["한국어말"]) == " (did you mean '한국어말'?)"


@given(st.text())
def test_composing_is_final_and_keeps_the_meaning(name: str) -> None:
    assert compose_name(compose_name(name)) == compose_name(name)
    assert unicodedata.normalize("NFD", compose_name(name)) == unicodedata.normalize("NFD", name)
