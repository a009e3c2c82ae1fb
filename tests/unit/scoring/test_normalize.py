from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.normalize import (
    contains,
    format_exact,
    normalize,
    numbers_equal,
    parse_number,
    read_number,
    words,
)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  Paris. ", "paris"),
        ("ＰＡＲＩＳ", "paris"),
        ("New\n York", "new york"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ('"The Hague"', "the hague"),
        ("don't", "don't"),
        ("50%", "50%"),
        ("-5", "-5"),
        ("「北京」。", "北京"),
        ("１２％", "12%"),
        ("서울입니다.", "서울"),
        ("'서울'이에요!", "서울"),
        ("사이다", "사이다"),
        ("입니다", "입니다"),
        ("\u1109\u1165\u110b\u116e\u11af", "서울"),
        ("?!", "?!"),
    ],
)
def test_normalize(text: str, normal: str) -> None:
    assert normalize(text) == normal


def test_articles_only_on_request() -> None:
    assert normalize("the Hague") == "the hague"
    assert normalize("the Hague", drops_articles=True) == "hague"
    assert normalize("theatre", drops_articles=True) == "theatre"


@given(st.text(max_size=60))
def test_normalize_is_stable(text: str) -> None:
    once = normalize(text)
    assert normalize(f"  {once} ") == normalize(once)
    assert normalize(text.upper().lower()) == normalize(text.lower().upper().lower())


def test_words() -> None:
    assert words("The cat, a dog!") == ["cat", "dog"]
    assert words("北京市") == ["北", "京", "市"]
    assert words("서울 시") == ["서울", "시"]
    assert words("서울 시입니다.") == ["서울", "시"]
    # Digits and Latin letters before Chinese ones are words of their own; a middle dot is none.
    assert words("2008年iPhone手机") == ["2008", "年", "iphone", "手", "机"]
    assert words("ハリー・ポッター") == list("ハリーポッター")
    assert words("𠮷野家") == ["𠮷", "野", "家"]


@pytest.mark.parametrize(
    ("reply", "target", "expected"),
    [
        ("It is Paris, of course.", "paris", True),
        ("Parisian", "Paris", False),
        ("I know", "no", False),
        ("서울입니다", "서울", True),
        ("about 18 eggs", "18", True),
        ("about 180 eggs", "18", False),
        ("about 3.18 eggs", "18", False),
        ("anything", "", False),
        ("xx paris and Paris", "Paris", True),
    ],
)
def test_contains(reply: str, target: str, expected: bool) -> None:
    assert contains(reply, target) is expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("18", "18.0", True),
        ("18", "18.00", True),
        ("$1,234.50", "1234.5", True),
        ("0.1", "0.10000000000000001", False),
        ("1/2", "0.5", True),
        ("50%", "50", True),
        ("1e3", "1000", True),
        ("−5", "-5", True),
        ("18", "19", False),
        ("18", "eighteen", False),
        ("x", "x", False),
        ("", "", False),
    ],
)
def test_numbers_equal(left: str, right: str, expected: bool) -> None:
    assert numbers_equal(left, right) is expected
    assert numbers_equal(right, left) is expected


@pytest.mark.parametrize(("text", "value"), [("1 1/2", "3/2"), ("-1 1/2", "-3/2"), ("−2 3/4", "-11/4")])
def test_the_sign_of_a_mixed_number_is_that_of_both_parts(text: str, value: str) -> None:
    assert parse_number(text) == Fraction(value)


def test_parse_number_wants_nothing_but_the_number() -> None:
    assert parse_number(" 18% ") == 18
    assert parse_number("18 eggs and 3 hens") is None
    assert parse_number("A 18") is None
    assert parse_number("1/0") is None
    assert read_number("9" * 10_000) is None


@given(st.integers(-(10**9), 10**9), st.integers(1, 1000))
def test_canonical_is_exact(top: int, bottom: int) -> None:
    value = Fraction(top, bottom)
    assert Fraction(format_exact(value)) == value


def test_canonical_is_shortest() -> None:
    spelled = [format_exact(Fraction(text)) for text in ("18.00", "0.50", "-0.05", "1e3", "1/3", "-2/4")]
    assert spelled == ["18", "0.5", "-0.05", "1000", "1/3", "-0.5"]
