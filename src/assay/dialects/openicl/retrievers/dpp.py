"""Examples that are near a row and unlike each other: a determinantal point process over the nearest.

After Ye et al. 2023, "Compositional Exemplars for In-context Learning". With s(x, y) = (cos(x, y) + 1) / 2,
the relevance of a candidate c to the row q is r(c) = exp((s(q, c) - max s) / (2 a)), and the matrix over the
candidates is L(c, d) = r(c) s(c, d) r(d). The examples are taken one by one, each time the one that makes the
determinant of their part of L the greatest.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.dialects.openicl.retrievers.corpus import Corpus
from assay.dialects.openicl.retrievers.nearest import CandidateRetriever, EncodedCorpus
from assay.dialects.openicl.retrievers.retriever import PickedRows
from assay.dialects.shared.similarity import compute_similarity, rank_best

_NOTHING = 1e-10
"""A determinant that grows by less is one of rows that are alike but for rounding."""


class DPPRetriever(CandidateRetriever, frozen=True, kw_only=True):
    """Examples by relevance and diversity, the most relevant first."""

    scale_factor: Annotated[float, msgspec.Meta(gt=0)] = 0.1
    """How much diversity counts beside relevance: more where it is greater."""

    def _picked(self, corpus: Corpus) -> PickedRows:
        encoded = EncodedCorpus(corpus)
        picked = []
        for row, vector in enumerate(encoded.test):
            near = encoded.find_nearest_others(row, self.candidate_num)
            candidates = encoded.train[list(near)]
            alike = (compute_similarity(candidates, vector) + 1) / 2
            relevance = np.exp((alike - alike.max(initial=0)) / (2 * self.scale_factor))
            kernel = relevance[:, None] * ((candidates @ candidates.T + 1) / 2) * relevance
            chosen = greedy_map(kernel, relevance, self.ice_num)
            # The candidates stand by relevance already.
            picked.append(tuple(near[at] for at in sorted(chosen)))
        return picked


def greedy_map(kernel: NDArray[np.float64], relevance: NDArray[np.float64], n: int) -> list[int]:
    """Return up to n items with a great determinant, each the best beside those before it.

    The determinant grows by what is left of an item's own entry once the part that the chosen ones explain
    is taken away: one step of a Cholesky factorisation for each item. Where nothing would grow any more, as
    among copies, the most relevant follow.
    """
    left = np.diag(kernel).copy()
    factors = np.zeros((min(n, len(kernel)), len(kernel)))
    chosen: list[int] = []
    while len(chosen) < len(factors):
        open_ = np.setdiff1d(np.arange(len(kernel)), chosen)
        at = int(open_[np.argmax(left[open_])])
        if left[at] <= _NOTHING:
            ranked = (int(open_[one]) for one in rank_best(relevance[open_], len(factors) - len(chosen)))
            return [*chosen, *ranked]
        step = len(chosen)
        explained = factors[:step, at] @ factors[:step]
        factors[step] = (kernel[at] - explained) / np.sqrt(left[at])
        left -= factors[step] ** 2
        chosen.append(at)
    return chosen
