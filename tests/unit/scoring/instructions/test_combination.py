from __future__ import annotations

import pytest

from assay.scoring.instructions.kinds import RepeatPrompt, TwoResponses


@pytest.mark.parametrize(
    ("response", "is_followed"),
    [
        ("one\n******\ntwo", True),
        ("******\none\n******\ntwo\n******", True),
        ("one", False),
        ("one\n******\n", False),
        ("one\n******\n one ", False),
        ("one\n******\n******\ntwo", False),
        ("one\n******\ntwo\n******\nthree", False),
        ("one\n***\ntwo", False),
        ("******", False),
    ],
)
def test_two_responses(response: str, is_followed: bool) -> None:
    assert TwoResponses().is_followed(response) is is_followed


@pytest.mark.parametrize(
    ("response", "is_followed"),
    [
        ("Write a poem. Roses are red.", True),
        ("\n  write A poem.", True),
        ("Sure! Write a poem.", False),
        ("Write a poem", False),
    ],
)
def test_repeat_prompt(response: str, is_followed: bool) -> None:
    assert RepeatPrompt(" Write a poem.\n").is_followed(response) is is_followed
