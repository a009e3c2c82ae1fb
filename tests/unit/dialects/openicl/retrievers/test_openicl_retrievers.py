"""Properties of every retriever: no row is its own example, and rows do not affect each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.core.ids import digest
from assay.dialects.openicl.retrievers.corpus import Corpus, Trial
from assay.dialects.openicl.retrievers.registry import make_retriever
from assay.dialects.openicl.retrievers.retriever import Retriever
from fakes.openicl_corpus import corpus, rows

RETRIEVERS: list[Retriever] = [
    make_retriever("FixKRetriever", {"fix_id_list": [3, 0, 1]}),
    make_retriever("RandomRetriever", {"ice_num": 3}),
    make_retriever("BM25Retriever", {"ice_num": 3}),
    make_retriever("TopkRetriever", {"ice_num": 3}),
    make_retriever("MDLRetriever", {"ice_num": 3, "candidate_num": 4, "labels": ["x", "y"]}),
    make_retriever("DPPRetriever", {"ice_num": 3, "candidate_num": 4}),
    make_retriever("VotekRetriever", {"ice_num": 3}),
    make_retriever("SlidingWindowRetriever", {"k": 3}),
]
NAMES = [type(one).__name__ for one in RETRIEVERS]
each = pytest.mark.parametrize("retriever", RETRIEVERS, ids=NAMES)

texts = st.lists(st.text("abc .", max_size=6), min_size=4, max_size=9)


def by_hash(made: Corpus) -> Any:
    def losses(trials: Sequence[Trial], labels: Sequence[Any]) -> list[list[float]]:
        """Answer for each trial by its texts, whatever else is asked."""
        asked = [(made.test[row], [made.train[at] for at in shots]) for row, shots in trials]
        return [[int(digest([one, label])[:4], 16) / 9999 for label in labels] for one in asked]

    return losses


def picked(retriever: Retriever, *args: Any, is_faithful: bool = False, **more: Any) -> list[tuple[int, ...]]:
    plain = corpus(*args, **more)
    made = corpus(*args, **more, losses=by_hash(plain))
    return list(retriever.pick(made, is_faithful=is_faithful))


@each
@settings(max_examples=50)
@given(train=texts)
def test_a_row_is_never_its_own_example(retriever: Retriever, train: list[str]) -> None:
    every = rows(*train)
    same = corpus(every, every).same
    for row, shown in enumerate(picked(retriever, every, every)):
        assert len(set(shown)) == len(shown)
        assert same[row].isdisjoint(shown)
        if retriever.count and type(retriever).__name__ != "FixKRetriever":
            assert len(shown) == min(3, len(every) - len(same[row]))


@each
@settings(max_examples=50)
@given(train=texts, test=texts, data=st.data())
def test_order_and_number_of_rows_change_nothing(
    retriever: Retriever, train: list[str], test: list[str], data: st.DataObject
) -> None:
    only = data.draw(st.lists(st.sampled_from(range(len(test))), unique=True))
    whole = picked(retriever, rows(*train), rows(*test))
    assert picked(retriever, rows(*train), rows(*test), only=only) == [whole[place] for place in only]


@pytest.mark.parametrize("name", ["RandomRetriever", "MDLRetriever", "TopkRetriever", "BM25Retriever"])
def test_the_original_too_gives_a_row_of_a_part_what_it_has_in_the_whole(name: str) -> None:
    retriever = RETRIEVERS[NAMES.index(name)]
    train, test = rows(*"abcdefgh"), rows(*"stuvwxyz")
    whole = picked(retriever, train, test, is_faithful=True)
    assert picked(retriever, train, test, is_faithful=True, only=[6, 2]) == [whole[6], whole[2]]


@each
def test_too_few_rows_are_an_error_that_names_the_split(retriever: Retriever) -> None:
    with pytest.raises(AuthorError, match=r"OPENICL-030 .*the split 'dev' has"):
        picked(retriever, rows("a", "b"), rows("c"), train_split="dev", labels=["x", "y"])


@each
@pytest.mark.parametrize("is_faithful", [False, True])
def test_an_empty_split_is_an_error(retriever: Retriever, is_faithful: bool) -> None:
    with pytest.raises(AuthorError, match="OPENICL-030"):
        picked(retriever, [], rows("c"), is_faithful=is_faithful, labels=["x", "y"])


@pytest.mark.parametrize("is_faithful", [False, True])
def test_none_is_none(is_faithful: bool) -> None:
    assert picked(make_retriever("ZeroRetriever", {}), [], rows("a", "b"), is_faithful=is_faithful) == [
        (),
        (),
    ]
    assert picked(make_retriever("RandomRetriever", {"ice_num": 0}), [], rows("a")) == [()]


@pytest.mark.parametrize("name", ["FixKRetriever", "RandomRetriever", "BM25Retriever", "TopkRetriever"])
def test_the_original_shows_a_row_itself(name: str) -> None:
    train = rows("rivers run a", "lakes lie b", "seas swell c", "ponds pause d")
    retriever = RETRIEVERS[NAMES.index(name)]
    shown = picked(retriever, train, train, is_faithful=True)
    assert any(row in one for row, one in enumerate(shown))
