"""Examples drawn at random for each row, and the original's way of drawing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numpy.random import RandomState

from assay.core.ids import make_random
from assay.dialects.openicl.retrievers.corpus import Corpus
from assay.dialects.openicl.retrievers.retriever import CountingRetriever, PickedRows, pick_others

_Drawn = TypeVar("_Drawn")


class RandomRetriever(CountingRetriever, frozen=True, kw_only=True):
    """Each row is shown examples of its own, in the order in which they are drawn."""

    seed: int = 43

    def _picked(self, corpus: Corpus) -> PickedRows:
        n = len(corpus.train)
        picked = []
        for row, sample_id in enumerate(corpus.sample_ids):
            generator = make_random(corpus.seed, corpus.task, sample_id, f"random {self.seed}")
            # So many more than needed that, after the row itself is dropped, enough are left.
            wanted = min(n, self.ice_num + len(corpus.own(row)))
            picked.append(pick_others(corpus, row, generator.sample(range(n), wanted), self.ice_num))
        return picked

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        n = len(corpus.train)

        def one(generator: RandomState) -> tuple[int, ...]:
            return tuple(generator.choice(n, self.ice_num, replace=False).tolist())

        return draw_in_turn(corpus, self.seed, one)


def draw_in_turn(corpus: Corpus, seed: int, one: Callable[[RandomState], _Drawn]) -> list[_Drawn]:
    """Return what the original draws for each test row: one generator serves all rows of a split in turn.

    The rows of the split that are not in the corpus have their turn too.
    """
    generator = RandomState(seed)
    drawn = [one(generator) for _ in range(max(corpus.places, default=-1) + 1)]
    return [drawn[place] for place in corpus.places]
