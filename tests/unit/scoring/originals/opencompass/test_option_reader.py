"""The reader of `--fidelity faithful`. Expected values were read off OpenCompass 0.5.4 and AISBench 3.1."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assay.scoring.originals.opencompass.option_reader import (
    CUSHION_PHRASES,
    PHRASES,
    infer_option,
    read_phrase,
)

CHOICES = ("red", "green", "blue", "yellow")

PHRASE_ROWS = [
    # Chinese statements
    ("答案是 B，不是 A", "B", "zh_answer"),
    ("本题答案：C，因为", "C", "zh_answer_wide_colon"),
    ("本题答案是:C，因为", "C", "zh_answer_colon"),
    ("答案选项应该是B，因为", "B", "zh_answer_option_is"),
    ("答案选项应为B，因为", "B", "zh_answer_option_equals"),
    ("答案应该是D，因为", "D", "zh_answer_should_be"),
    ("答案应选D，因为", "D", "zh_answer_should_choose"),
    ("答案选项：D，因为", "D", "zh_answer_option_wide_colon"),
    ("答案选项 (**D**)，因为", "D", "zh_answer_option_marked"),
    ("答案选项: D，因为", "D", "zh_answer_option_colon"),
    ("答案为 D，因为", "D", "zh_answer_equals"),
    ("答案选 D，因为", "D", "zh_answer_choose"),
    ("我选择 C 吧", "C", "zh_choose"),
    ("故C只有B对吧", "C", "zh_therefore_only"),
    ("只有选项C是错的", "C", "zh_only_wrong"),
    ("只有 C 错误吧", "C", "zh_only_wrong"),
    ("只有C不正确吧", "C", "zh_only_correct"),
    ("说法不对的是B吧", "B", "zh_statement_right"),
    ("说法正确的是B吧", "B", "zh_statement_correct"),
    ("说法错误选项的是B吧", "B", "zh_statement_wrong"),
    ("我想B是正确的吧", "B", "zh_is_correct"),
    ("我想B 是正确答案吧", "B", "zh_is_correct_answer"),
    ("我想选项 B正确吧", "B", "zh_option_correct"),
    ("所以答B吧", "B", "zh_so_answer"),
    ("答案是《D》。因为", "D", "zh_answer_text"),
    ("答案应该是（D）。因为", "D", "zh_answer_should_be_text"),
    ("答案为“D”。因为", "D", "zh_answer_equals_text"),
    ("选项B不对", "B", "opening_zh_option"),
    ("B选项不对", "B", "opening_letter_zh_option"),
    # the end of a reply
    ("所以B$", "B", "closing_so"),
    ("所有 B", "B", "closing_so"),
    ("I would go with B", "B", "closing_letter"),
    ("The answer should be B.", "B", "closing_letter"),
    ("Is it A? No,C,", "C", "closing_letter"),
    ("因为红，故C。", "C", "closing_therefore"),
    ("我觉得是C.", "C", "closing_zh_link"),
    ("显然C", "C", "closing_zh_link"),
    # English
    ("ANSWER : C (blue)", "C", "answer_colon"),
    ("The answer is: (C) blue", "C", "answer_is"),
    ("the answer is Cold", "C", "answer_is"),
    ("The answer is **C** here", "C", "answer_is_marked"),
    ("The answer is option (C) here", "C", "answer_is_option"),
    ("The correct answer is C here", "C", "correct_answer_is"),
    ("The correct answer is option: C here", "C", "correct_answer_is_option"),
    ("The correct answer is thus\n$\\boxed{C}$", "C", "correct_answer_boxed"),
    ("The correct option is $\\boxed{C}$", "C", "correct_option_boxed"),
    ("The correct answer option is $\\boxed{C}$", "C", "correct_answer_option_boxed"),
    ("The answer to the question is C here", "C", "answer_to_the_question_is"),
    ("C. blue", "C", "opening_letter"),
    ("C$ blue", "C", "opening_letter"),
    ("So 1. Dogs or Cats", "C", "numbered_text"),
    ("x 1A", "A", "numbered_text"),
    ("1. BC", "B", "numbered_text"),
]


@pytest.mark.parametrize(("text", "label", "rule"), PHRASE_ROWS)
def test_phrase_names_an_option(text: str, label: str, rule: str) -> None:
    found = read_phrase(text, "ABCD", cushion=False)
    assert (found.answer, found.rule) == (label, rule)


def test_every_phrase_has_an_example() -> None:
    assert {rule for _, _, rule in PHRASE_ROWS} == {phrase.name for phrase in PHRASES}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("The answer is A. 答案是 B.", "B"),  # Chinese comes first
        ("Answer: A\nThe answer is B\nso, C", "C"),  # the end comes before English
        ("The answer is A ... the answer is B ...", "A"),  # the first match of a phrase decides
        ("The answer is **A**, I mean the answer is B!", "B"),
        ("Answer: because. Answer: B!", ""),  # the first match names no option, and there is no second try
        ("answer: b!", ""),
        ("\\boxed{B}", ""),
        ("Option B is right, not C!", ""),
        ("I say (B)", ""),
        ("red 1", ""),
        ("", ""),
    ],
)
def test_order_of_phrases_decides_not_the_place(text: str, label: str) -> None:
    assert (read_phrase(text, "ABCD", cushion=False).answer or "") == label


@pytest.mark.parametrize(
    ("text", "label", "rule"),
    [
        ("\\boxed{B}", "B", "first_letter"),
        ("Apple", "A", "first_letter"),
        ("Dogs or (C): blue", "D", "first_letter"),
        ("no Cats, B: blue", "B", "letter_before_colon"),
        ("nothing", None, None),
    ],
)
def test_cushion_takes_any_letter(text: str, label: str | None, rule: str | None) -> None:
    found = read_phrase(text, "ABCD", cushion=True)
    assert (found.answer, found.rule) == (label, rule)
    assert rule is None or rule in {phrase.name for phrase in CUSHION_PHRASES}


@pytest.mark.parametrize(
    ("text", "label", "rule"),
    [
        (" C ", "C", "letter"),
        ("  The answer is B!", "B", "phrase: answer_is"),
        ("surely GREEN", "B", "only_choice_inside"),
        ("red or blue", "C", "edit_distance"),
        ("blux", "C", "edit_distance"),
        ("\\boxed{B}", "A", "edit_distance"),
        ("AB", "A", "edit_distance"),
        ("b", "A", "edit_distance"),
        ("", "A", "edit_distance"),
        ("   red, green   ", "B", "edit_distance"),  # spaces at the ends do not count
    ],
)
def test_evaluator_gives_every_reply_an_option(text: str, label: str, rule: str) -> None:
    found = infer_option(text, "ABCD", CHOICES)
    assert (found.answer, found.rule) == (label, rule)


def test_equal_distances_give_the_first_letter_of_the_alphabet() -> None:
    assert infer_option("?", "BA", ("x", "x")).answer == "A"


@pytest.mark.parametrize(
    ("choices", "label"),
    [
        (("red", None, "blue"), "C"),
        (("red", "", "blue"), "B"),  # an empty text is inside every reply
        ((None, None, None), None),
    ],
)
def test_missing_and_empty_options(choices: Sequence[str | None], label: str | None) -> None:
    assert infer_option("xblux", "ABC", choices).answer == label


def test_span_points_into_the_reply_with_its_spaces() -> None:
    text = "\n  The answer is B!"
    found = infer_option(text, "ABCD", CHOICES)
    assert found.span is not None
    assert text[slice(*found.span)] == "The answer is B"


def test_labels_of_several_characters_are_read_whole() -> None:
    labels = ("opt1", "opt10")
    assert read_phrase("The answer is opt10!", labels, cushion=False).answer == "opt10"
    assert read_phrase("The answer is opt1!", labels, cushion=False).answer == "opt1"
