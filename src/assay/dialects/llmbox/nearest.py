"""KATE: the examples of a row are those whose questions lie nearest to its own.

After Liu et al. 2022, "What Makes Good In-Context Examples for GPT-3?". Questions are compared as they are
rendered, without their answers; an encoder that is handed in says what is near.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.dialects.shared.similarity import Vectors, compute_similarity, rank_best


class NearestExamples:
    """A choice of examples by similarity."""

    def __init__(
        self, pool: Sequence[str], rows: Sequence[str], vectors: Vectors, *, nearest_first: bool
    ) -> None:
        """Take the questions of the pool and of the rows; nothing is computed yet."""
        self._pool_texts = pool
        self._row_texts = rows
        self._vectors = vectors
        self.is_reversed = not nearest_first
        # Of a prompt that is too long, the examples least alike go.
        self.drops_last = nearest_first

    def rank_pool(self, number: int) -> Iterable[int]:
        """Return the pool by similarity to a row; of equally near ones the earlier first."""
        return rank_best(compute_similarity(self._pool, self._rows[number]), len(self._pool))

    @cached_property
    def _pool(self) -> NDArray[np.float64]:
        return self._vectors.of(self._pool_texts)

    @cached_property
    def _rows(self) -> NDArray[np.float64]:
        return self._vectors.of(self._row_texts)
