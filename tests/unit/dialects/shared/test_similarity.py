"""The best of many scores, against sorting all of them; vectors are computed once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.core.model import ModelIdentity
from assay.dialects.shared.similarity import Vectors, compute_similarity, rank_best


@given(st.lists(st.integers(-3, 3), max_size=30), st.integers(0, 35))
def test_the_best_are_those_of_a_full_sort(scores: list[int], n: int) -> None:
    expected = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:n]
    assert rank_best(np.array(scores, dtype=np.float64), n) == expected


def test_what_differs_by_rounding_alone_is_equally_near() -> None:
    pool = np.array([[1.0, 0.0], [1.0 + 1e-9, 0.0], [0.0, 1.0]])
    assert compute_similarity(pool, np.array([1.0, 0.0])).tolist() == [1.0, 1.0, 0.0]


class Counting:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def identity(self) -> ModelIdentity:
        return ModelIdentity("embedding", "counting")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([[len(text), 0] for text in texts], dtype=np.float32)


def test_each_text_is_computed_once() -> None:
    encoder = Counting()
    vectors = Vectors(encoder)
    assert vectors.of(["a", "bb", "a"]).tolist() == [[1, 0], [2, 0], [1, 0]]
    assert vectors.of(["bb", "ccc"]).tolist() == [[2, 0], [3, 0]]
    assert encoder.asked == ["a", "bb", "ccc"]
