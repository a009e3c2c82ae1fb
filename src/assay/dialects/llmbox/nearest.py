"""KATE: the examples of a row are those whose questions lie nearest to its own.

After Liu et al. 2022, "What Makes Good In-Context Examples for GPT-3?". Questions are compared as they are
rendered, without their answers; an encoder that is handed in says what is near.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.core.ports import Embedder

_DIGITS = 6
"""Similarities are compared to so many digits: what lies beyond is the encoder's rounding, not a meaning."""


class Vectors:
    """The vectors of texts, each computed once for all methods and subsets of a dataset."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts])


class Nearest:
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

    def preferred(self, number: int) -> Iterable[int]:
        """Return the pool by similarity to a row; of equally near ones the earlier first."""
        similarity = (self._pool @ self._rows[number].astype(np.float64)).round(_DIGITS)
        return [int(at) for at in np.argsort(-similarity, kind="stable")]

    @cached_property
    def _pool(self) -> NDArray[np.float64]:
        return self._vectors.of(self._pool_texts).astype(np.float64)

    @cached_property
    def _rows(self) -> NDArray[np.float32]:
        return self._vectors.of(self._row_texts)
