"""Pairing the samples of runs of different programs."""

from __future__ import annotations

import pytest

from assay.results.sample_join import JoinedBy, TaskKeys, join_samples, normalize_text


def keys(*samples: tuple[str, str]) -> TaskKeys:
    """Return the keys of samples with an id and a question."""
    found = TaskKeys()
    for row, (id_, text) in enumerate(samples):
        found.ids.append(id_)
        found.rows.append(row)
        found.add_texts(normalize_text(text), "", "")
    return found


def test_questions_are_found_in_the_prompts_of_a_log_without_records() -> None:
    """The last question of a prompt is asked; those before it are solved examples."""
    questions = [f"where does the river {n} end" for n in range(4)]
    theirs = TaskKeys()
    for row, question in enumerate(reversed(questions)):
        theirs.ids.append(str(row))
        theirs.rows.append(row)
        prompt = f"Q: {questions[0]}? A: sea. Q: {question}? A:"
        theirs.add_texts("", "", normalize_text(prompt))
    join = join_samples(keys(*[(f"a{n}", one) for n, one in enumerate(questions)]), theirs)
    assert join.by is JoinedBy.QUESTION
    assert join.b.tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("one", "other"), [("What is  it?", "what is it"), ("“Ａ”, b", '"a" B'), ("a\n\tb.", "A b"), ("∑", "∑")]
)
def test_texts_that_differ_only_in_form_are_equal(one: str, other: str) -> None:
    assert normalize_text(one) == normalize_text(other) != ""


def test_equal_ids_pair_if_the_questions_agree() -> None:
    join = join_samples(keys(("0", "x"), ("1", "y")), keys(("1", "Y"), ("0", "X")))
    assert join.by is JoinedBy.ID
    assert (join.a.tolist(), join.b.tolist()) == ([0, 1], [1, 0])


def test_equal_ids_of_other_questions_do_not_pair() -> None:
    """Row numbers of a shuffled dataset."""
    join = join_samples(keys(("0", "x"), ("1", "y"), ("2", "z")), keys(("0", "z"), ("1", "x"), ("2", "y")))
    assert join.by is JoinedBy.QUESTION
    assert join.b.tolist() == [1, 2, 0]


def test_ids_alone_pair_if_there_are_no_texts() -> None:
    join = join_samples(keys(("0", ""), ("1", "")), keys(("0", ""), ("1", "")))
    assert (join.by, join.share) == (JoinedBy.ID, 1.0)


def test_a_repeated_text_pairs_in_order_if_it_is_equally_frequent() -> None:
    join = join_samples(keys(("a", "x"), ("b", "x"), ("c", "y")), keys(("d", "y"), ("e", "x"), ("f", "x")))
    assert (join.a.tolist(), join.b.tolist(), join.n_ambiguous) == ([0, 1, 2], [1, 2, 0], 0)


def test_a_text_that_is_repeated_unequally_is_left_out_and_counted() -> None:
    join = join_samples(keys(("a", "x"), ("b", "x"), ("c", "y")), keys(("d", "y"), ("e", "x")))
    assert (join.a.tolist(), join.b.tolist(), join.n_ambiguous) == ([2], [0], 1)
    assert not join.is_enough
    assert "1 of 2 samples paired" in join.describe_refusal()
    assert "1 with a text that occurs unequally often" in join.describe_refusal()


def test_the_bar_is_95_percent_of_the_smaller_run() -> None:
    first = keys(*[(f"a{n}", f"question {n}") for n in range(100)])
    enough = keys(*[(f"b{n}", f"question {n}") for n in range(5, 100)], *[("z", "z")] * 5)
    few = keys(*[(f"b{n}", f"question {n}") for n in range(6, 100)], *[("z", "z")] * 6)
    assert join_samples(first, enough).is_enough
    assert not join_samples(first, few).is_enough
    assert join_samples(first, keys(("q", "Question 7"))).is_enough
