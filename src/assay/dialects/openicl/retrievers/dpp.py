"""Examples that are similar to a row and different from each other: a determinantal point process.

After Ye et al. 2023, "Compositional Exemplars for In-context Learning". With s(x, y) = (cos(x, y) + 1) / 2,
the relevance of a candidate c to the row q is r(c) = exp((s(q, c) - max s) / (2 a)), and the matrix over the
candidates is L(c, d) = r(c) s(c, d) r(d). Examples are chosen greedily: each one maximises the determinant of
the chosen part of L.
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
"""A smaller growth of the determinant means that rows are equal up to rounding."""


class DPPRetriever(CandidateRetriever, frozen=True, kw_only=True):
    """Examples by relevance and diversity, the most relevant first."""

    scale_factor: Annotated[float, msgspec.Meta(gt=0)] = 0.1
    """Weight of diversity relative to relevance."""

    def _pick_rows(self, corpus: Corpus) -> PickedRows:
        encoded = EncodedCorpus(corpus)
        picked = []
        for row, vector in enumerate(encoded.test):
            near = encoded.find_nearest_others(row, self.candidate_num)
            candidates = encoded.train[list(near)]
            alike = (compute_similarity(candidates, vector) + 1) / 2
            relevance = np.exp((alike - alike.max(initial=0)) / (2 * self.scale_factor))
            kernel = relevance[:, None] * ((candidates @ candidates.T + 1) / 2) * relevance
            chosen = greedy_map(kernel, relevance, self.ice_num)
            # The candidates are already sorted by relevance.
            picked.append(tuple(near[at] for at in sorted(chosen)))
        return picked


def greedy_map(kernel: NDArray[np.float64], relevance: NDArray[np.float64], n: int) -> list[int]:
    """Return up to n items with a large determinant, chosen greedily.

    The determinant grows by the part of an item's own entry that the chosen items do not explain: one step of
    a Cholesky factorisation per item. If it cannot grow any more, as with copies, the most relevant items
    follow.
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
