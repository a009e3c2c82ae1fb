"""Reading a budget."""

from __future__ import annotations

import pytest

from assay.core.budget import Budget, format_minutes, parse_budget


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5usd", Budget(usd=5.0)),
        ("$0.5", Budget(usd=0.5)),
        ("2M-tokens", Budget(tokens=2_000_000)),
        ("1.5ktokens", Budget(tokens=1500)),
        ("30min", Budget(seconds=1800.0)),
        ("2h", Budget(seconds=7200.0)),
        ("5usd,2M-tokens,90s", Budget(5.0, 2_000_000, 90.0)),
        ("5usd|1min", Budget(usd=5.0, seconds=60.0)),
    ],
)
def test_amounts(text: str, expected: Budget) -> None:
    assert parse_budget(text) == expected


@pytest.mark.parametrize("text", ["", "5", "x", "0usd", "-1usd", "3m", "3kmin", "5usd,3usd", "5 bananas"])
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"unit|amount|second time|more than 0"):
        parse_budget(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(45, "45 s"), (90, "1.5 min"), (1800, "30 min"), (5400, "1 h 30 min"), (7200, "2 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_minutes(seconds) == text
