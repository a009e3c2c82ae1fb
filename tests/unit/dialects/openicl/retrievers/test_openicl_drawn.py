"""Random examples: by seed, task and row, or by one generator for all as in the original."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from assay.core.errors import AuthorError
from assay.dialects.openicl.retrievers.registry import make_retriever
from fakes.openicl_corpus import corpus, rows

TRAIN = rows(*(f"train {n}" for n in range(20)))
TEST = rows(*(f"test {n}" for n in range(300)))


def test_every_row_has_its_own_and_all_are_drawn_alike_often() -> None:
    shown = make_retriever("RandomRetriever", {"ice_num": 4}).pick(corpus(TRAIN, TEST))
    assert len(set(shown)) > 290
    times = Counter(at for one in shown for at in one)
    # Each of 20 is expected 60 times, with a standard deviation of about 7.
    assert set(times) == set(range(20))
    assert max(times.values()) < 95
    assert min(times.values()) > 25


@pytest.mark.parametrize("other", [{"seed": 1}, {"of_retriever": 44}])
def test_either_seed_makes_other_draws(other: dict[str, int]) -> None:
    def drawn(seed: int = 0, of_retriever: int = 43) -> object:
        retriever = make_retriever("RandomRetriever", {"ice_num": 3, "seed": of_retriever})
        return retriever.pick(corpus(TRAIN, TEST, seed=seed))

    assert drawn() == drawn()
    assert drawn() != drawn(**other)


def test_the_original_draws_for_one_row_after_the_other() -> None:
    state = np.random.get_state()
    np.random.seed(43)
    expected = [tuple(np.random.choice(20, 5, replace=False).tolist()) for _ in TEST]
    np.random.set_state(state)
    drawn = make_retriever("RandomRetriever", {"ice_num": 5}).pick(corpus(TRAIN, TEST), is_faithful=True)
    assert list(drawn) == expected


def test_the_original_cannot_draw_more_than_there_are() -> None:
    with pytest.raises(AuthorError, match="OPENICL-030"):
        make_retriever("RandomRetriever", {"ice_num": 21}).pick(corpus(TRAIN, TEST), is_faithful=True)
