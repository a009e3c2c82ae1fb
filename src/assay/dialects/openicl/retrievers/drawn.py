"""Examples drawn at random for each row, and the original's drawing method."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numpy.random import RandomState

from assay.core.ids import make_random
from assay.dialects.openicl.retrievers.corpus import Corpus
from assay.dialects.openicl.retrievers.retriever import CountingRetriever, PickedRows, pick_others

_Drawn = TypeVar("_Drawn")


class RandomRetriever(CountingRetriever, frozen=True, kw_only=True):
    """Each row gets its own random examples, in drawing order."""

    seed: int = 43

    def _pick_rows(self, corpus: Corpus) -> PickedRows:
        n = len(corpus.train)
        picked = []
        for row, sample_id in enumerate(corpus.sample_ids):
            generator = make_random(corpus.seed, corpus.task, sample_id, f"random {self.seed}")
            # Draw enough extra rows to replace the row itself.
            wanted = min(n, self.ice_num + len(corpus.find_equal_rows(row)))
            picked.append(pick_others(corpus, row, generator.sample(range(n), wanted), self.ice_num))
        return picked

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        n = len(corpus.train)

        def one(generator: RandomState) -> tuple[int, ...]:
            return tuple(generator.choice(n, self.ice_num, replace=False).tolist())

        return draw_in_turn(corpus, self.seed, one)


def draw_in_turn(corpus: Corpus, seed: int, one: Callable[[RandomState], _Drawn]) -> list[_Drawn]:
    """Return the original's draw for each test row, where one generator serves all rows of a split in turn.

    Rows of the split that are not in the corpus also use the generator.
    """
    generator = RandomState(seed)
    drawn = [one(generator) for _ in range(max(corpus.places, default=-1) + 1)]
    return [drawn[place] for place in corpus.places]
