"""Examples whose inputs are similar to a row's input, by the vectors of a sentence encoder."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.dialects.openicl.retrievers.corpus import Corpus
from assay.dialects.openicl.retrievers.retriever import (
    AtLeastOne,
    CountingRetriever,
    PickedRows,
    pick_others,
)
from assay.dialects.shared.similarity import Vectors, compute_similarity, rank_best

_Self = TypeVar("_Self", bound="CandidateRetriever")


class EncodingRetriever(CountingRetriever, frozen=True, kw_only=True):
    """The base class of retrievers that compare vectors."""

    sentence_transformers_model_name: str | None = None
    """The encoder of the config, or None."""
    tokenizer_name: str | None = None
    """No effect: the encoder has its own tokenizer."""
    batch_size: AtLeastOne = 1
    """No effect: vectors do not depend on the batch."""

    needs_embedder: ClassVar[bool] = True

    @property
    def encoder(self) -> str | None:
        """`sentence_transformers_model_name`."""
        return self.sentence_transformers_model_name


class TopkRetriever(EncodingRetriever, frozen=True, kw_only=True):
    """The nearest train rows, the nearest first."""

    original_runs_short: ClassVar[bool] = True

    def _pick_rows(self, corpus: Corpus) -> PickedRows:
        encoded = EncodedCorpus(corpus)
        return [encoded.find_nearest_others(row, self.ice_num) for row in range(len(corpus.test))]

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        encoded = EncodedCorpus(corpus)
        # With too few rows, the original's index returns -1, which selects the last row.
        n = len(corpus.train)
        padding = (n - 1,) * max(0, self.ice_num - n)
        return [encoded.find_originals(row, self.ice_num) + padding for row in range(len(corpus.test))]


class CandidateRetriever(EncodingRetriever, frozen=True, kw_only=True):
    """A retriever that chooses among the nearest train rows."""

    candidate_num: AtLeastOne = 1
    """Number of nearest rows to choose from."""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.candidate_num < self.ice_num:
            raise ValueError(
                f"candidate_num is {self.candidate_num}, fewer than the {self.ice_num} examples (ice_num) "
                "to choose from them"
            )

    def _with_count(self: _Self, n: int) -> _Self:
        return msgspec.structs.replace(self, ice_num=n, candidate_num=max(n, self.candidate_num))


class EncodedCorpus:
    """The splits of a corpus as vectors of length 1."""

    def __init__(self, corpus: Corpus) -> None:
        if corpus.embedder is None:
            raise ValueError("this retriever compares vectors, so the corpus needs an embedder")
        self._corpus = corpus
        self._vectors = Vectors(corpus.embedder)

    @cached_property
    def train(self) -> NDArray[np.float64]:
        """One vector for each train row."""
        return self._vectors.of(self._corpus.train)

    @cached_property
    def test(self) -> NDArray[np.float64]:
        """One vector for each test row."""
        return self._vectors.of(self._corpus.test)

    def find_nearest_others(self, row: int, n: int) -> tuple[int, ...]:
        """Return the n train rows nearest to a test row, the nearest first, never the row itself."""
        ranked = rank_best(
            compute_similarity(self.train, self.test[row]), n + len(self._corpus.find_equal_rows(row))
        )
        return pick_others(self._corpus, row, ranked, n)

    def find_originals(self, row: int, n: int) -> tuple[int, ...]:
        """Return the n nearest rows as in the original: including the row itself, the later of equals first.

        Which equally near rows are among the n depends on the original's index and is not reproduced.
        """
        backwards = rank_best(compute_similarity(self.train, self.test[row])[::-1], n)
        return tuple(len(self.train) - 1 - at for at in backwards)

    def find_neighbours(self, at: int, n: int) -> list[int]:
        """Return the n other train rows nearest to a train row, the nearest first."""
        ranked = rank_best(compute_similarity(self.train, self.train[at]), n + 1)
        return [one for one in ranked if one != at][:n]
