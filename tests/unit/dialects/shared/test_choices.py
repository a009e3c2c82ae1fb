from __future__ import annotations

import pytest

from assay.dialects.shared.choices import (
    AnswerForm,
    AnswerFormCounts,
    Options,
    build_labels,
    find_option_columns,
    read_answer,
)

ABCD = Options(("A", "B", "C", "D"), ("1", "2", "3", "4"))
WORDS = Options(("A", "B", "C"), ("red", "green", "blue"))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["question", "A", "B", "C", "answer"], ("A", "B", "C")),
        (["A", "B", "D"], ("A", "B")),
        (["a", "b"], ()),
        (["A", "question"], ()),
        (["choice0", "choice1", "choice2"], ("choice0", "choice1", "choice2")),
        (["option2", "option1"], ("option1", "option2")),
        (["option1", "option3"], ()),
        ([chr(65 + i) for i in range(26)] + ["AA", "AB"], (*(chr(65 + i) for i in range(26)), "AA", "AB")),
    ],
)
def test_option_columns(columns: list[str], expected: tuple[str, ...]) -> None:
    assert find_option_columns(columns) == expected


def test_labels_have_no_limit() -> None:
    assert build_labels(28)[-3:] == ("Z", "AA", "AB")


@pytest.mark.parametrize(
    ("value", "form", "gold"),
    [
        ("B", "label", (1,)),
        (" B ", "label", (1,)),
        ("E", "label", None),
        ("b", "label", (1,)),
        ("(C)", "label", (2,)),
        ("Option D", "label", (3,)),
        ("B. 2", "label", (1,)),
        ("B. 3", "label", None),
        ("A,C", "label", (0, 2)),
        ("AC", "label", (0, 2)),
        ("1.0", "index1", (0,)),
        ("2", "text", (1,)),
        ("2", "index0", (2,)),
        (2, "index0", (2,)),
        ("2", "index1", (1,)),
        ("0", "index1", None),
        ("4", "index0", None),
        (True, "index0", None),
        (["A", "C"], "label", (0, 2)),
        (["A", "Z"], "label", None),
        ([], "label", None),
    ],
)
def test_read_answer(value: object, form: AnswerForm, gold: tuple[int, ...] | None) -> None:
    assert read_answer(value, ABCD, form) == gold


def test_two_options_of_one_text_cannot_be_distinguished_by_it() -> None:
    assert read_answer("x", Options(("A", "B"), ("x", "x")), "text") is None


def forms(values: list[object], options: Options = WORDS) -> AnswerFormCounts:
    counted = AnswerFormCounts()
    for value in values:
        counted.add(value, options)
    return counted


@pytest.mark.parametrize(
    ("values", "best"),
    [
        (["A", "B", "C"], "label"),
        (["red", "blue"], "text"),
        (["0", "2"], "index0"),
        (["1", "3"], "index1"),
    ],
)
def test_one_reading_fits_all_rows(values: list[object], best: AnswerForm) -> None:
    counted = forms(values)
    assert counted.best() == best
    assert counted.find_rivals(best) == ()


def test_an_index_that_could_count_from_0_or_1_is_in_doubt() -> None:
    counted = forms(["1", "2"])
    assert counted.find_rivals(counted.best()) == ("index1",)


def test_a_number_that_is_a_text_and_an_index_is_in_doubt() -> None:
    counted = forms(["1", "2"], ABCD)
    assert counted.best() == "text"
    assert "index0" in counted.find_rivals("text")


def test_a_label_is_never_in_doubt() -> None:
    counted = forms(["1", "2"], Options(("1", "2", "3"), ("2", "3", "1")))
    assert counted.best() == "label"
    assert counted.find_rivals("label") == ()


def test_answers_in_other_spellings_of_the_same() -> None:
    decomposed = "\u1107\u116e\u1109\u1161\u11ab"
    assert read_answer("Ｂ", ABCD, "label") == (1,)
    assert read_answer("②", ABCD, "index1") == (1,)
    assert read_answer("２", ABCD, "index0") == (2,)
    assert read_answer("부산", Options(("A", "B"), ("서울", decomposed)), "text") == (1,)
    # Labels that are written so themselves are taken as they are.
    assert read_answer("②", Options(("①", "②"), ("x", "y")), "label") == (1,)
