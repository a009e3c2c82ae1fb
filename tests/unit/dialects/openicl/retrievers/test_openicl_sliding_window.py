"""The rows just before a row's own place."""

from __future__ import annotations

import pytest

from assay.core.errors import AuthorError
from assay.dialects.openicl.retrievers.registry import make_retriever
from fakes.openicl_corpus import corpus, rows

WINDOW = make_retriever("SlidingWindowRetriever", {"k": 3})
TRAIN = rows(*"abcde")


@pytest.mark.parametrize("is_faithful", [False, True])
def test_before_the_first_row_come_the_last(is_faithful: bool) -> None:
    expected = [(2, 3, 4), (3, 4, 0), (4, 0, 1), (0, 1, 2), (1, 2, 3)]
    assert WINDOW.pick(corpus(TRAIN, rows(*"vwxyz")), is_faithful=is_faithful) == expected


def test_behind_the_last_row_comes_the_first() -> None:
    test = rows(*"stuvwxyz")
    assert WINDOW.pick(corpus(TRAIN, test))[5:] == [(2, 3, 4), (3, 4, 0), (4, 0, 1)]
    with pytest.raises(AuthorError, match="OPENICL-030 row 6 of the test split needs the train rows 3 to 5"):
        WINDOW.pick(corpus(TRAIN, test), is_faithful=True)


def test_a_copy_of_the_row_is_passed_over() -> None:
    assert WINDOW.pick(corpus(TRAIN, rows(*"vwxyc"), only=[4])) == [(0, 1, 3)]


def test_a_window_wider_than_the_split_is_an_error() -> None:
    wide = make_retriever("SlidingWindowRetriever", {"k": 6})
    for is_faithful in (False, True):
        with pytest.raises(AuthorError, match="OPENICL-030"):
            wide.pick(corpus(TRAIN, rows("x")), is_faithful=is_faithful)
