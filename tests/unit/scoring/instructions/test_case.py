from __future__ import annotations

import pytest

from assay.scoring.instructions.kinds import AllCapitals, AllLowercase, CapitalWordFrequency

ENGLISH = "this is a plain english sentence about the weather in the north of the country"
GERMAN = "dies ist ein einfacher deutscher satz, der vom wetter im norden des landes handelt"


def test_capital_word_frequency() -> None:
    response = "I saw NASA today"
    assert CapitalWordFrequency(2, "at least").is_followed(response)
    assert not CapitalWordFrequency(3, "at least").is_followed(response)
    assert CapitalWordFrequency(3, "less than").is_followed(response)
    assert not CapitalWordFrequency(2, "less than").is_followed(response)


@pytest.mark.parametrize(
    ("response", "in_capitals", "in_small"),
    [
        (ENGLISH, False, True),
        (ENGLISH.upper(), True, False),
        (ENGLISH.capitalize(), False, False),
        (GERMAN, False, False),
        (GERMAN.upper(), False, False),
        ("12345", False, False),
    ],
)
def test_one_case_and_english(response: str, in_capitals: bool, in_small: bool) -> None:
    assert AllCapitals().is_followed(response) is in_capitals
    assert AllLowercase().is_followed(response) is in_small
