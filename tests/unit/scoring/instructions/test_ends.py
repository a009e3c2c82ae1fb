from __future__ import annotations

import pytest

from assay.scoring.instructions.kinds import EndPhrase, Quotation


@pytest.mark.parametrize(
    ("response", "is_followed"),
    [
        ("So. Any questions?", True),
        ("So. ANY QUESTIONS? \n", True),
        ('"So. Any questions?"', True),
        ("Any questions? No.", False),
        ("So. Any questions?*", False),
        ("questions?", False),
    ],
)
def test_end_phrase(response: str, is_followed: bool) -> None:
    assert EndPhrase(" Any questions? ").is_followed(response) is is_followed


@pytest.mark.parametrize(
    ("response", "is_followed"),
    [
        ('"yes"', True),
        ('\n "yes" \n', True),
        ('"a" and "b"', True),
        ('""', True),
        ('"', False),
        ('"yes".', False),
        ("“yes”", False),
        ("'yes'", False),
    ],
)
def test_quotation(response: str, is_followed: bool) -> None:
    assert Quotation().is_followed(response) is is_followed
