"""Rounding for people: half away from zero, without the noise of floating point."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest

from assay.core.rounding import format_decimal, format_number, format_percent, format_seconds


def half_up(exact: Fraction, digits: int) -> str:
    steps = exact * 10**digits
    whole = (steps.numerator * 2 + steps.denominator) // (2 * steps.denominator)
    return f"{Decimal(whole).scaleb(-digits).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)}"


@pytest.mark.parametrize("digits", [0, 1, 2])
def test_every_share_of_up_to_200_rows_is_rounded_as_its_exact_fraction(digits: int) -> None:
    wrong = [
        (k, n)
        for n in range(1, 201)
        for k in range(n + 1)
        if format_percent(k / n, digits) != half_up(Fraction(100 * k, n), digits)
    ]
    assert wrong == []


def test_ties_go_away_from_zero_and_nothing_has_no_sign() -> None:
    assert format_percent(13 / 16) == "81.3"
    assert format_percent(-13 / 16) == "-81.3"
    assert format_percent(0.0002, is_signed=True) == "+0.0"
    assert format_percent(-0.0002) == "0.0"
    assert format_decimal(1234567.25, 1) == "1,234,567.3"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (2.0625, "2.063"),
        (-2.0625, "-2.063"),
        (20.0, "20"),
        (9.99996, "10"),
        (0.00012345, "0.0001235"),
        (0.00001, "1.000e-05"),
        (1234.25, "1,234.3"),
        (-1234.25, "-1,234.3"),
        (2_500_000.0, "2.500e+06"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_plain_numbers_have_four_significant_digits(number: float | None, text: str) -> None:
    assert format_number(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0000123, "12.3 µs"),
        (0.0123, "12.3 ms"),
        (1.235, "1.24 s"),
        (90, "90.0 s"),
        (200, "3.33 min"),
        (7300, "2.03 h"),
        (0, "0 s"),
    ],
)
def test_times_have_the_unit_that_fits(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
