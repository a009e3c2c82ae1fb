"""Which rows are the same in both splits, and what the labels are."""

from __future__ import annotations

import pytest

from assay.dialects.openicl.retrievers.corpus import build_corpus, build_text_joiner
from fakes.openicl_corpus import corpus, rows


def test_inputs_are_the_columns_with_spaces_between() -> None:
    made = build_corpus(
        [{"a": "one", "b": 2, "gold": "x"}],
        [],
        text=build_text_joiner(["a", "b"]),
        output_column="gold",
        sample_ids=[],
        task="quiz",
        seed=0,
    )
    assert made.train == ["one 2"]


def test_a_row_is_found_by_its_content_wherever_it_is() -> None:
    train = rows("a1", "b2", "c3", " A1 ", "b2")
    made = corpus(train, rows("b2", "z9", "a1"))
    assert made.same == {0: {1, 4}, 2: {0, 3}}
    assert made.find_equal_rows(1) == frozenset()


def test_another_answer_to_the_same_words_is_another_row() -> None:
    train = [{"q": "Which is right?", "a": "A"}, {"q": "Which is right?", "a": "B"}]
    assert corpus(train, [{"q": "which is  right?", "a": "b"}]).same == {0: {1}}


@pytest.mark.parametrize("hidden", [None, ""])
def test_an_answer_that_is_hidden_is_not_given_away(hidden: str | None) -> None:
    train = [{"q": "Which?", "a": "A"}, {"q": "Which?", "a": "B"}, {"q": "Who?", "a": "A"}]
    assert corpus(train, [{"q": "Which?", "a": hidden}]).same == {0: {0, 1}}


def test_labels_are_those_said_or_the_answers_of_the_train_split() -> None:
    train = [{"q": at, "a": answer} for at, answer in zip("abcd", ("no", "yes", "no", None), strict=True)]
    test = [{"q": "e", "a": "maybe"}]
    assert corpus(train, test).labels == ("no", "yes")
    assert corpus(train, test, labels=["A", "B"]).labels == ("A", "B")


def test_several_answers_are_no_label() -> None:
    assert corpus([{"q": "a", "a": ["x", "y"]}], []).labels == ()
