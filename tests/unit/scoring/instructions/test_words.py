from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.instructions.language import count_capital_words, count_words


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("...", 0),
        ("one", 1),
        ("don't", 2),
        ("well-known", 2),
        ("snake_case 3.5", 3),
        ("привет мир", 2),
    ],
)
def test_count_words(text: str, count: int) -> None:
    assert count_words(text) == count


# What the Treebank's manner of parting words makes of each.
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("none here", 0),
        ("I am", 1),
        ("I'm", 1),
        ("I'M HERE", 3),
        ("DON'T", 2),
        ("WON'T.", 2),
        ("NASA's plan", 1),
        ("NASA'S PLAN", 3),
        ("O'CLOCK", 1),
        ("CANNOT", 2),
        ("X-RAY AND/OR", 2),
        ("A--B A—B", 4),
        ("A,B C,1", 3),
        ("U.S. IS", 2),
        ("THE END. NEXT", 3),
        ("WAIT...NOW", 2),
        ("**BOLD** <<TITLE>> (OK)", 3),
        ("#TAG @ME", 2),
        ("IT’S", 2),
        ("3D 2nd 42", 1),
        ("Mixed cAPS", 0),
    ],
)
def test_count_capital_words(text: str, count: int) -> None:
    assert count_capital_words(text) == count


@given(st.lists(st.sampled_from(["YES", "No", "maybe", "NASA", "42", "!"])))
def test_capital_words_among_others(words: list[str]) -> None:
    assert count_capital_words(" ".join(words)) == words.count("YES") + words.count("NASA")
