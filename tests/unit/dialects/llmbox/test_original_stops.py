"""Stop strings as the original compares them: by tokens, read behind a text of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.app.model_view import model_view
from assay.core.request import Generate
from assay.dialects.llmbox.authoring import ModelView
from assay.dialects.llmbox.sampling import find_stop_tokens
from fakes.classes import compile_one, free_class

ORIGINAL = {
    "\n": (3717,),
    "\n\n": (38028,),
    "Q:": (1606, 42),
    "###": (20749,),
    "Question": (15232,),
}
"""SmolLM2's token sequences in the original, transformers 4.57.6."""
WORDS = {"text": 1, " ": 2, "\n": 3, " \n": 4}


def pieces(*texts: str) -> Any:
    return lambda _: [(WORDS[text], text) for text in texts]


def view(pieces: Any) -> ModelView:
    return ModelView("m", "base", lambda text: [], lambda ids: "", pieces=pieces)


def test_smollm2_reads_a_stop_string_together_with_the_blank_before_it() -> None:
    pytest.importorskip("transformers")
    from assay.backends.hf.embedded_model import SmolLM2Backend

    notes: list[str] = []
    model = model_view(SmolLM2Backend("", {}), is_chat=False)
    assert find_stop_tokens(tuple(ORIGINAL), model, notes) == tuple(ORIGINAL.values())
    assert notes == []


@pytest.mark.parametrize(
    ("texts", "expected"),
    [(("text", " \n"), ((4,),)), (("text", " ", "\n"), ((3,),))],
    ids=["one token for both", "a token of its own"],
)
def test_the_token_that_holds_the_first_character_counts(
    texts: Sequence[str], expected: tuple[tuple[int, ...], ...]
) -> None:
    assert find_stop_tokens(("\n",), view(pieces(*texts)), []) == expected


def test_where_the_tokens_are_not_known_it_is_said() -> None:
    notes: list[str] = []
    assert find_stop_tokens(("\n",), view(None), notes) == ()
    assert "the original compares tokens" in notes[0]
    assert find_stop_tokens((), view(None), []) == ()


def test_a_stop_given_as_one_text_is_its_characters_in_the_original(tmp_path: Path) -> None:
    text = free_class().replace("metrics =", 'extra_model_args = dict(stop="##a")\n    metrics =')
    stops = {}
    for faithful in (True, False):
        one = compile_one(tmp_path, text, [{"q": "x", "a": "y"}], settings={"is_faithful": faithful})
        (request,) = one.task.requests(next(iter(one.task.samples())))
        assert isinstance(request.ask, Generate)
        stops[faithful] = request.ask.sampling.stop
        assert "stop_tokens" in {difference.name for difference in one.task.spec.differences}
    assert stops == {True: ("#", "a"), False: ("##a",)}
