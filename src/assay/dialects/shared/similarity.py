"""Similarity of texts by the vectors of a given encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.core.ports import Embedder

_DIGITS = 6
"""Digits to which similarities are compared; further digits are rounding errors of the encoder."""


class Vectors:
    """The vectors of texts, each computed only once."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    def of(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return one row for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts]).astype(np.float64)


def compute_similarity(pool: NDArray[np.float64], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine similarity of each pool vector to one vector; all have length 1."""
    products: NDArray[np.float64] = (pool @ vector).round(_DIGITS)
    return products


def rank_best(scores: NDArray[np.float64], n: int) -> list[int]:
    """Return the positions of the n highest scores, highest first; of equal scores the earlier first."""
    if n <= 0:
        return []
    kept = np.arange(len(scores))
    if n < len(scores):
        least = np.partition(scores, -n)[-n]
        kept = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[kept], kind="stable")[:n]
    return [int(at) for at in kept[order]]
