"""Reading a value of --thinking."""

from __future__ import annotations

import pytest

from assay.core.thinking import Thinking, read_thinking


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("on", Thinking(True)),
        ("OFF", Thinking(False)),
        (" low ", Thinking(True, effort="low")),
        ("1024", Thinking(True, budget=1024)),
    ],
)
def test_values(written: str, expected: Thinking) -> None:
    assert read_thinking(written) == expected
    assert read_thinking(expected.written) == expected


@pytest.mark.parametrize("written", ["", "yes", "0", "-1", "1.5", "1e3", "٣", "99999999"])
def test_anything_else_is_an_error_that_lists_the_values(written: str) -> None:
    with pytest.raises(ValueError, match="on, off, minimal, low, medium, high"):
        read_thinking(written)
