"""Relevant and diverse examples, against determinants of all choices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.dialects.openicl.retrievers.dpp import greedy_map
from assay.dialects.openicl.retrievers.registry import make_retriever
from fakes.openicl_corpus import corpus, rows, vectors

TRAIN = [f"train {n}" for n in range(30)]
TEST = [f"test {n}" for n in range(12)]


def kernel_of(texts: list[str], question: str, scale: float) -> tuple[NDArray[np.float64], list[float]]:
    """Return the matrix of the paper, one entry at a time, and the relevances."""
    alike = [(float(vectors([text])[0] @ vectors([question])[0]) + 1) / 2 for text in texts]
    relevance = [float(np.exp((one - max(alike)) / (2 * scale))) for one in alike]
    near = [[(float(vectors([one])[0] @ vectors([other])[0]) + 1) / 2 for other in texts] for one in texts]
    entries = [
        [relevance[i] * near[i][j] * relevance[j] for j in range(len(texts))] for i in range(len(texts))
    ]
    return np.array(entries), relevance


def greedy_by_determinants(kernel: NDArray[np.float64], n: int) -> list[int]:
    chosen: list[int] = []
    while len(chosen) < n:
        others = [at for at in range(len(kernel)) if at not in chosen]
        chosen.append(
            max(others, key=lambda at: float(np.linalg.det(kernel[np.ix_([*chosen, at], [*chosen, at])])))
        )
    return chosen


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_each_is_the_one_that_makes_the_determinant_greatest(scale: float) -> None:
    arguments = {"ice_num": 4, "candidate_num": 10, "scale_factor": scale}
    shown = make_retriever("DPPRetriever", arguments).pick(corpus(rows(*TRAIN), rows(*TEST)))
    for row, question in enumerate(TEST):
        cosines = vectors(TRAIN) @ vectors([question])[0]
        near = sorted(range(30), key=lambda at: -cosines[at])[:10]
        kernel, relevance = kernel_of([TRAIN[at] for at in near], question, scale)
        chosen = greedy_by_determinants(kernel, 4)
        assert shown[row] == tuple(near[at] for at in sorted(chosen, key=lambda at: -relevance[at]))


def test_greater_scales_make_examples_less_like_each_other() -> None:
    def mean_cosine(scale: float) -> float:
        arguments = {"ice_num": 4, "candidate_num": 20, "scale_factor": scale}
        shown = make_retriever("DPPRetriever", arguments).pick(corpus(rows(*TRAIN), rows(*TEST)))
        chosen = [vectors([TRAIN[at] for at in one]) for one in shown]
        return float(np.mean([(one @ one.T)[np.triu_indices(4, 1)].mean() for one in chosen]))

    assert mean_cosine(1.0) < mean_cosine(0.02)


def test_copies_are_not_chosen_twice_and_the_most_relevant_fill_up() -> None:
    relevance = np.array([0.5, 1.0, 1.0, 0.9])
    kernel = np.outer(relevance, relevance)
    assert greedy_map(kernel, relevance, 3) == [1, 2, 3]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 9))
def test_so_many_are_chosen_as_there_are(n: int, size: int, seed: int) -> None:
    points = np.random.RandomState(seed).normal(size=(size, 3))
    chosen = greedy_map(points @ points.T, np.ones(size), n)
    assert len(set(chosen)) == len(chosen) == min(n, size)
