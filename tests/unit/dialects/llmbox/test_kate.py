"""KATE: each row is shown the examples nearest to it, against a ranking written out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.core.model import ModelIdentity
from assay.dialects.llmbox.nearest import NearestExamples
from assay.dialects.shared.similarity import Vectors
from fakes.classes import compile_one, free_class, list_asks

QUESTIONS = free_class("Words")


class LetterCounts:
    """An encoder that is easy to check by eye: the number of times each letter occurs in a text."""

    def __init__(self) -> None:
        self.n_embedded = 0

    def identity(self) -> ModelIdentity:
        return ModelIdentity("embedding", "letters")

    def embed(self, texts: Any) -> NDArray[np.float32]:
        self.n_embedded += len(texts)
        counts = np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], dtype=np.float32)
        unit: NDArray[np.float32] = counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)
        return unit


def row(q: str, a: str = "x") -> dict[str, str]:
    return {"q": q, "a": a}


def prompts(folder: Path, rows: list[str], pool: list[str], shots: int, **more: Any) -> list[list[str]]:
    """Return for each row the examples it is shown, in order."""
    settings = {"shots": shots, **more.pop("settings", {})}
    examples = [row(q) for q in pool]
    one = compile_one(
        folder,
        QUESTIONS,
        [row(q) for q in rows],
        examples=examples,
        settings=settings,
        embedder_at_hand=LetterCounts(),
        kate="true",
        **more,
    )
    texts = [list_asks(one, number)[0]["source"] for number in range(len(rows))]
    return [[part.removesuffix(" x") for part in text.split("\n\n")[:-1]] for text in texts]


def test_the_nearest_is_next_to_the_question(tmp_path: Path) -> None:
    first, second = prompts(tmp_path, ["aaab", "ggggh"], ["hhh", "ab", "aa", "gg"], 2)
    assert first == ["ab", "aa"]
    assert second == ["hhh", "gg"]


def test_or_first_where_asked(tmp_path: Path) -> None:
    (shown,) = prompts(tmp_path, ["aaab"], ["hhh", "ab", "aa"], 3, kate_order="nearest_first")
    assert shown == ["aa", "ab", "hhh"]


def test_a_row_and_its_like_are_left_out(tmp_path: Path) -> None:
    (shown,) = prompts(tmp_path, ["aab"], ["aab", " AAB", "ab", "c"], 2)
    assert shown == ["c", "ab"]


def test_the_original_shows_a_row_to_itself_nearest_first(tmp_path: Path) -> None:
    (shown,) = prompts(tmp_path, ["aab"], ["c", "ab", "aab"], 2, settings={"is_faithful": True})
    assert shown == ["aab", "ab"]


def test_a_prompt_too_long_loses_the_least_alike(tmp_path: Path) -> None:
    (shown,) = prompts(tmp_path, ["aaab"], ["hhh", "ab", "aa"], 3, max_example_tokens="3")
    assert shown == ["ab", "aa"]


@pytest.mark.parametrize(("order", "kept"), [("nearest_last", "aa"), ("nearest_first", "aa")])
def test_so_does_one_that_the_model_cannot_read(tmp_path: Path, order: str, kept: str) -> None:
    one = compile_one(
        tmp_path,
        QUESTIONS,
        [row("aaab")],
        examples=[row("hhh"), row("ab"), row("aa")],
        settings={"shots": 3},
        embedder_at_hand=LetterCounts(),
        kate="true",
        kate_order=order,
    )
    (sample,) = one.task.samples()
    (request,) = one.task.requests(sample, shots=1)
    assert request.ask.prompt == f"{kept} x\n\naaab"


def test_the_encoder_is_part_of_the_settings(tmp_path: Path) -> None:
    one = compile_one(
        tmp_path,
        QUESTIONS,
        [row("a")],
        examples=[row("b")],
        settings={"shots": 1},
        embedder_at_hand=LetterCounts(),
        kate="true",
    )
    recorded = one.task.spec.settings["kate"]
    assert recorded == {"order": "nearest_last", "embedder": {"backend": "embedding", "name": "letters"}}
    assert "kate" in {difference.name for difference in one.task.spec.differences}


def test_nothing_is_embedded_twice(tmp_path: Path) -> None:
    encoder = LetterCounts()
    one = compile_one(
        tmp_path,
        QUESTIONS,
        [row(q) for q in ("a", "b", "a")],
        examples=[row(q) for q in ("a", "c", "c")],
        settings={"shots": 2},
        embedder_at_hand=encoder,
        kate="true",
    )
    assert encoder.n_embedded == 0
    for _ in range(2):
        for number in range(3):
            list_asks(one, number)
    assert encoder.n_embedded == 3


@pytest.mark.parametrize(
    ("args", "settings", "what"),
    [
        ({"kate": "true"}, {}, "kate needs at least 1 examples, not 0"),
        ({"kate": "true", "globale": "true"}, {"shots": 2}, "one order for all rows"),
        ({"kate_order": "nearest_first"}, {"shots": 2}, "kate_order has no effect without kate"),
        ({"embedder": "folder"}, {"shots": 2}, "embedder has no effect without kate"),
        ({"ape_rows": "3"}, {}, "ape_rows has no effect without ape"),
        ({"kate": "perhaps"}, {"shots": 2}, "kate"),
        ({"kate": "true", "kate_order": "far"}, {"shots": 2}, "kate_order"),
        ({"globale": "true", "globale_orders": "1"}, {"shots": 2}, "globale_orders"),
    ],
)
def test_wishes_that_make_no_sense(tmp_path: Path, args: Any, settings: Any, what: str) -> None:
    with pytest.raises(UsageError, match=rf"USAGE-007.*{what}"):
        compile_one(
            tmp_path,
            QUESTIONS,
            [row("a")],
            examples=[row("b"), row("c")],
            settings=settings,
            embedder_at_hand=LetterCounts(),
            **args,
        )


TEXTS = st.lists(st.text(alphabet="abcdefgh", min_size=1, max_size=8), min_size=1, max_size=12)


@given(pool=TEXTS, rows=TEXTS, is_first=st.booleans())
def test_by_cosine_ties_in_the_order_of_the_pool(pool: list[str], rows: list[str], is_first: bool) -> None:
    choice = NearestExamples(pool, rows, Vectors(LetterCounts()), nearest_first=is_first)

    def cosine(one: str, other: str) -> float:
        pairs = [(one.count(letter), other.count(letter)) for letter in "abcdefgh"]
        product = sum(a * b for a, b in pairs)
        return product / math.sqrt(sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs))

    for number, text in enumerate(rows):
        found = list(choice.rank_pool(number))
        assert sorted(found) == list(range(len(pool)))
        similar = [cosine(text, pool[at]) for at in found]
        for place in range(len(found) - 1):
            assert similar[place] >= similar[place + 1] - 2e-6
            if pool[found[place]] == pool[found[place + 1]]:
                assert found[place] < found[place + 1]
