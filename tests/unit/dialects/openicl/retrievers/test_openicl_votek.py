"""Votes of neighbours, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from assay.dialects.openicl.retrievers.registry import make_retriever
from assay.dialects.openicl.retrievers.votek import elect_rows
from fakes.openicl_corpus import corpus, rows, vectors

TRAIN = [f"train {n}" for n in range(30)]


def test_who_has_the_same_voters_as_another_is_not_elected() -> None:
    assert list(elect_rows([[2, 3], [2, 3], [0], [0, 4]])) == [2, 0]
    assert list(elect_rows([[1], [0], [0, 1], [4, 0], [1]])) == [1, 0]
    assert list(elect_rows([[], []])) == []


def by_votes(k: int) -> list[int]:
    """Return the rows that stand for voters of their own, as the paper's code counts them."""
    cosines = vectors(TRAIN) @ vectors(TRAIN).T
    np.fill_diagonal(cosines, -2)
    voters: dict[int, list[int]] = {}
    for voter in range(30):
        # The nearest votes are cast last by the paper's code, or first; that decides only between equals.
        for one in np.argsort(-cosines[voter])[:k].tolist():
            voters.setdefault(one, []).append(voter)
    order = sorted(voters, key=lambda one: len(voters[one]), reverse=True)
    return [
        one
        for place, one in enumerate(order)
        if all(set(voters[one]) - set(voters[before]) for before in order[:place])
    ]


@pytest.mark.parametrize("k", [1, 3, 5])
def test_all_rows_are_shown_those_with_the_most_votes(k: int) -> None:
    made = corpus(rows(*TRAIN), rows("x", "y"))
    shown = make_retriever("VotekRetriever", {"ice_num": 4, "votek_k": k}).pick(made)
    assert shown == [tuple(by_votes(k)[:4])] * 2


def test_a_row_that_is_one_of_them_is_shown_the_next() -> None:
    first = by_votes(3)
    made = corpus(rows(*TRAIN), rows("x", TRAIN[first[1]]))
    shown = make_retriever("VotekRetriever", {"ice_num": 3}).pick(made)
    assert shown == [tuple(first[:3]), (first[0], first[2], first[3])]


def test_where_votes_do_not_suffice_others_are_drawn_by_the_seed() -> None:
    retriever = make_retriever("VotekRetriever", {"ice_num": 30})
    (one,), (other,) = (retriever.pick(corpus(rows(*TRAIN), rows("x"), seed=seed)) for seed in (0, 1))
    n = len(by_votes(3))
    assert n < 30
    assert one[:n] == other[:n] == tuple(by_votes(3))
    assert sorted(one) == sorted(other) == list(range(30))
    assert one != other


@pytest.mark.parametrize("number", range(8))
def test_the_original_takes_the_last_neighbour_for_the_row_itself(number: int) -> None:
    train = [f"{number} {letter}" for letter in "abcabcdeab"]
    cosines = (vectors(train) @ vectors(train).T).round(6)
    ballots = [[one for one in np.argsort(cosines[at]).tolist()[-4:-1] if one != at] for at in range(10)]
    assert any(len(ballot) < 3 for ballot in ballots)
    expected = tuple(elect_rows(ballots))
    made = corpus(rows(*train), rows("x"))
    retriever = make_retriever("VotekRetriever", {"ice_num": len(expected)})
    assert retriever.pick(made, is_faithful=True) == [expected]
