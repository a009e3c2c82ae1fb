"""KATE: the examples of a row are those with the most similar questions.

Based on Liu et al. 2022, "What Makes Good In-Context Examples for GPT-3?". Compares rendered questions
without their answers, with an encoder that is passed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.dialects.shared.similarity import Vectors, compute_similarity, rank_best


class NearestExamples:
    """A selection of examples by similarity."""

    def __init__(
        self, pool: Sequence[str], rows: Sequence[str], vectors: Vectors, *, nearest_first: bool
    ) -> None:
        """Take the questions of the pool and of the rows; computes nothing yet."""
        self._pool_texts = pool
        self._row_texts = rows
        self._vectors = vectors
        self.is_reversed = not nearest_first
        # If a prompt is too long, drop the least similar examples.
        self.drops_last = nearest_first

    def rank_pool(self, number: int) -> Iterable[int]:
        """Return the pool by similarity to a row; of equally similar ones the earlier first."""
        return rank_best(compute_similarity(self._pool, self._rows[number]), len(self._pool))

    @cached_property
    def _pool(self) -> NDArray[np.float64]:
        return self._vectors.of(self._pool_texts)

    @cached_property
    def _rows(self) -> NDArray[np.float64]:
        return self._vectors.of(self._row_texts)
