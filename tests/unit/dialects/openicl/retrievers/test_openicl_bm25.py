"""BM25 against its formula written out, and against numbers of the library that the original uses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.dialects.openicl.retrievers.bm25 import Okapi
from assay.dialects.openicl.retrievers.registry import make_retriever
from fakes.openicl_corpus import corpus, rows

words = st.lists(st.sampled_from("abcdefg"), max_size=8)


def written_out(documents: list[list[str]], query: list[str]) -> list[float]:
    """Return Okapi's scores, one document and one word at a time."""
    n = len(documents)
    mean = sum(map(len, documents)) / n
    vocabulary = {word for document in documents for word in document}
    having = {word: sum(word in document for document in documents) for word in vocabulary}
    raw = {word: math.log((n - having[word] + 0.5) / (having[word] + 0.5)) for word in vocabulary}
    # Rarity that is nought in truth may come out either side of it: such words are left to the other test.
    least = 0.25 * sum(raw.values()) / max(len(raw), 1)
    rarity = {word: least if value < -1e-12 else value for word, value in raw.items()}

    def one(document: list[str], word: str) -> float:
        count = document.count(word)
        room = 1.5 * (1 - 0.75 + 0.75 * len(document) / mean) if mean else 1.0
        return rarity.get(word, 0.0) * count * 2.5 / (count + room)

    return [sum(one(document, word) for word in query) for document in documents]


@given(st.lists(words, min_size=1, max_size=9), words)
def test_scores_are_those_of_the_formula(documents: list[list[str]], query: list[str]) -> None:
    assert Okapi(documents).scores(query) == pytest.approx(written_out(documents, query))


def test_scores_are_those_of_rank_bm25() -> None:
    documents = [
        "the river runs to the sea",
        "the sea is salt",
        "a mountain stands over the river",
        "salt and salt and salt",
        "",
    ]
    # Written by rank-bm25 0.2.2: BM25Okapi(documents).get_scores(query). 'the' is in more than half of them.
    expected = [1.3412317974817292, 1.4343972429148568, 0.6125760241041662, 0.5352967400792024, 0.0]
    query = "the salt of the river sea sea"
    scores = Okapi([document.split() for document in documents]).scores(query.split())
    assert np.array_equal(scores, expected)


def test_the_best_comes_first_and_of_equal_ones_the_earlier() -> None:
    train = rows("cats sleep a lot", "dogs bark", "rivers run", "big dogs bark at cats", "lakes lie")
    made = corpus(train, rows("do dogs bark at night", "nothing in common"))
    retriever = make_retriever("BM25Retriever", {"ice_num": 3})
    assert retriever.pick(made) == [(3, 1, 0), (0, 1, 2)]
    assert retriever.pick(made, is_faithful=True) == [(3, 1, 4), (4, 3, 2)]


def test_a_script_without_spaces_has_words_too() -> None:
    train = rows("今天天气很好", "我喜欢吃苹果", "河流很长", "猫在睡觉", "狗在叫")
    made = corpus(train, rows("苹果好吃吗"))
    retriever = make_retriever("BM25Retriever", {"ice_num": 1})
    assert retriever.pick(made) == [(1,)]
    # To the original all scores are nought, and the last row comes first.
    assert retriever.pick(made, is_faithful=True) == [(4,)]


def test_the_original_shows_fewer_where_there_are_fewer() -> None:
    retriever = make_retriever("BM25Retriever", {"ice_num": 5})
    assert retriever.pick(corpus(rows("a b", "c d"), rows("c")), is_faithful=True) == [(1, 0)]
