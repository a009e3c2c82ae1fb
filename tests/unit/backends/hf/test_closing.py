"""A closed model frees its weights and can be opened again."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.request import Generate, Sampling, Span, make_request
from assay.core.response import Completion, Likelihood

ASKS = [
    make_request("t", "1", "ppl", "option", 0, Span("one two three", 4)),
    make_request("t", "1", "gen", "answer", 0, Generate("one two", Sampling(max_tokens=2))),
]


@pytest.mark.parametrize("args", [{}, {"plain": "true"}], ids=["packed", "plain"])
def test_a_closed_model_lets_go_of_its_weights(make_model: Callable[..., Path], args: dict[str, str]) -> None:
    backend: Any = open_backend(f"hf:{make_model()}", args)
    before = [response.outcome for response in backend.run(ASKS)]
    assert {type(outcome) for outcome in before} == {Likelihood, Completion}
    weights = weakref.ref(next(backend._loaded.model.parameters()))
    backend.close()
    assert weights() is None
    assert [response.outcome for response in backend.run(ASKS)] == before
    backend.close()
