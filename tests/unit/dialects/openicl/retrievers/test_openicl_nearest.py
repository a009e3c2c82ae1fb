"""The nearest rows, against all cosines sorted."""

from __future__ import annotations

import pytest

from assay.dialects.openicl.retrievers.registry import make_retriever
from fakes.openicl_corpus import corpus, rows, vectors

TRAIN = [f"train {n}" for n in range(40)]
TEST = [*(f"test {n}" for n in range(25)), "train 7", "TRAIN 7"]


@pytest.mark.parametrize("is_faithful", [False, True])
def test_they_are_those_with_the_greatest_cosine(is_faithful: bool) -> None:
    made = corpus(rows(*TRAIN), rows(*TEST))
    shown = make_retriever("TopkRetriever", {"ice_num": 6}).pick(made, is_faithful=is_faithful)
    for row, text in enumerate(TEST):
        cosines = vectors(TRAIN) @ vectors([text])[0]
        kept = [at for at in range(40) if is_faithful or text.lower() != TRAIN[at]]
        assert list(shown[row]) == sorted(kept, key=lambda at: -cosines[at])[:6]


def test_the_original_repeats_the_last_row_where_there_are_too_few() -> None:
    made = corpus(rows(*TRAIN[:3]), rows("x"))
    (shown,) = make_retriever("TopkRetriever", {"ice_num": 5}).pick(made, is_faithful=True)
    assert sorted(shown[:3]) == [0, 1, 2]
    assert shown[3:] == (2, 2)


def test_of_copies_the_earlier_comes_first_and_in_the_original_the_later() -> None:
    made = corpus(rows("a", "b", "a", "b"), rows("x"))
    retriever = make_retriever("TopkRetriever", {"ice_num": 4})
    assert set(retriever.pick(made)) <= {(0, 2, 1, 3), (1, 3, 0, 2)}
    assert set(retriever.pick(made, is_faithful=True)) <= {(2, 0, 3, 1), (3, 1, 2, 0)}


def test_the_encoder_is_the_one_that_the_config_names() -> None:
    named = {"sentence_transformers_model_name": "encoders/mpnet"}
    assert make_retriever("TopkRetriever", named).encoder == "encoders/mpnet"
    assert make_retriever("TopkRetriever", {}).encoder is None
    assert make_retriever("BM25Retriever", {}).encoder is None


def test_more_examples_are_chosen_among_more_candidates() -> None:
    retriever = make_retriever("DPPRetriever", {"ice_num": 2, "candidate_num": 4})
    assert retriever.with_count(9) == make_retriever("DPPRetriever", {"ice_num": 9, "candidate_num": 9})
    assert retriever.with_count(3) == make_retriever("DPPRetriever", {"ice_num": 3, "candidate_num": 4})
