"""The examples of a row are those that stand just before it."""

from __future__ import annotations

import msgspec

from assay.dialects.openicl.retrievers.corpus import Corpus
from assay.dialects.openicl.retrievers.retriever import (
    AtLeastOne,
    Count,
    PickedRows,
    Retriever,
    pick_others,
)


class SlidingWindowRetriever(Retriever, frozen=True, kw_only=True):
    """The k train rows before a row's own place; before the first comes the last."""

    k: AtLeastOne
    ice_num: Count = 1
    """Without effect: `k` are shown."""

    @property
    def count(self) -> int:
        """`k`."""
        return self.k

    def _counting(self, n: int) -> Retriever:
        return msgspec.structs.replace(self, k=n)

    def _picked(self, corpus: Corpus) -> PickedRows:
        n = len(corpus.train)
        picked = []
        for row, place in enumerate(corpus.places):
            back = ((place - step) % n for step in range(1, n + 1))
            picked.append(pick_others(corpus, row, back, self.k)[::-1])
        return picked

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        n = len(corpus.train)
        picked = []
        for place in corpus.places:
            window = tuple(range(place - self.k, place))
            # Before the first row come the last ones of the train split; behind its end comes nothing.
            wrapped = tuple(n + at if at < 0 else at for at in window)
            if min(wrapped) < 0 or max(wrapped) >= n:
                raise corpus.lacks(
                    f"row {place} of the test split is shown the train rows {window[0]} to {window[-1]}, "
                    f"and the split {corpus.train_split!r} has {n}",
                    "leave --fidelity faithful away, or use splits of one length",
                )
            picked.append(wrapped)
        return picked
