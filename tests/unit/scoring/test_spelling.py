from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.extract import extract_option
from assay.scoring.extract.spelling import (
    compose_reply,
    simplify_letters,
    simplify_number_reply,
    simplify_reply,
)

ALPHABET = "Ａ２（）①ⓑ서울정답은北京é. \u1112\u1161\u11ab\u0301B3"
TEXTS = st.text(st.sampled_from(ALPHABET) | st.characters(exclude_categories=["Cs"]), max_size=30)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Ａｂ３", "Ab3"),
        ("（Ｂ）：", "（B）："),
        ("②", "2"),
        ("⑴❷➂Ⓓⓔ", "123De"),
        ("②12명", "②12명"),
        ("⑩", "⑩"),
        ("서울 北京", "서울 北京"),
    ],
)
def test_plain(text: str, read: str) -> None:
    assert simplify_letters(text) == read


@given(TEXTS)
def test_what_is_made_plain_keeps_its_place(text: str) -> None:
    assert len(simplify_letters(text)) == len(text)
    for was, now in zip(text, simplify_letters(text), strict=True):
        # Every change is one that Unicode itself calls a variant of the same character.
        assert was == now or now in unicodedata.normalize("NFKC", was)


@given(TEXTS)
def test_places_in_a_composed_text_are_places_in_the_original(text: str) -> None:
    spelled = compose_reply(text)
    assert unicodedata.normalize("NFD", spelled.text) == unicodedata.normalize("NFD", text)
    for start in range(len(spelled.text)):
        begin, _ = spelled.span(start, start + 1)
        assert 0 <= begin < len(text)
    assert spelled.span(0, len(spelled.text)) == (0, len(text))
    assert len(simplify_number_reply(text).text) == len(spelled.text)


@given(st.text(st.sampled_from("한국어 정답은서울부산123é"), max_size=20))
def test_a_decomposed_span_holds_the_same_letters(text: str) -> None:
    parted = unicodedata.normalize("NFD", text)
    spelled = simplify_reply(parted)
    assert spelled.text == text
    for start in range(len(text)):
        for end in range(start, len(text) + 1):
            begin, stop = spelled.span(start, end)
            assert unicodedata.normalize("NFC", parted[begin:stop]) == text[start:end]


@given(
    st.sampled_from("ABCD"), st.sampled_from(["{}", "({})", "答案是：{}", "정답: {}", "정답은 {}번입니다."])
)
def test_full_width_labels_are_read_as_plain_ones(label: str, form: str) -> None:
    wide = chr(ord(label) + 0xFEE0)
    for reply in (form.format(wide), unicodedata.normalize("NFD", form.format(wide))):
        found = extract_option(reply, tuple("ABCD"), ("서울", "부산", "대구", "인천"))
        assert found.answer == label
        assert found.span is not None
        assert wide in reply[slice(*found.span)]
