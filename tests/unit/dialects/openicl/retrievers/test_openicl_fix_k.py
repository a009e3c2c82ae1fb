"""Fixed example rows: shown in the listed order, and only if they exist."""

from __future__ import annotations

import pytest

from assay.core.errors import AuthorError
from assay.dialects.openicl.retrievers.registry import make_retriever
from fakes.openicl_corpus import corpus, rows


def test_all_rows_are_shown_the_list_but_never_themselves() -> None:
    train = rows("a", "b", "c", "d")
    fixed = make_retriever("FixKRetriever", {"fix_id_list": [2, 0, 3], "ice_num": 1})
    made = corpus(train, rows("x", "c", "d"))
    assert fixed.pick(made) == [(2, 0, 3), (0, 3), (2, 0)]
    assert fixed.pick(made, is_faithful=True) == [(2, 0, 3)] * 3


@pytest.mark.parametrize("is_faithful", [False, True])
@pytest.mark.parametrize(("listed", "named"), [([0, 4, 1, 9], "'4', '9'"), ([-1], "'-1'")])
def test_an_index_outside_names_the_split(listed: list[int], named: str, is_faithful: bool) -> None:
    fixed = make_retriever("FixKRetriever", {"fix_id_list": listed})
    made = corpus(rows("a", "b", "c", "d"), rows("x"), train_split="dev")
    with pytest.raises(
        AuthorError, match=f"OPENICL-030 fix_id_list contains {named}, .*'dev' has rows 0 to 3"
    ):
        fixed.pick(made, is_faithful=is_faithful)


def test_a_row_may_be_listed_twice() -> None:
    fixed = make_retriever("FixKRetriever", {"fix_id_list": [0, 0, 0]})
    assert fixed.pick(corpus(rows("a"), rows("x"))) == [(0, 0, 0)]
