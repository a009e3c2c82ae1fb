from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.judges.reading import read_verdict
from assay.scoring.originals.opencompass.evaluators.verdicts import (
    NOT_ATTEMPTED,
    RIGHT,
    WRONG,
    Tags,
    verdict_rules,
)

RULES = verdict_rules(Tags())

READ = [
    ("A", RIGHT, "opening"),
    (" **B**. ", WRONG, "opening"),
    ("a", RIGHT, "opening"),
    ("A: CORRECT", RIGHT, "opening"),
    ("B (INCORRECT)", WRONG, "opening"),
    ("C: NOT_ATTEMPTED", NOT_ATTEMPTED, "opening"),
    ("CORRECT", RIGHT, "opening"),
    ("INCORRECT", WRONG, "opening"),
    ("Incorrect. It says CORRECT nowhere", WRONG, "opening"),
    ("Yes.", RIGHT, "opening"),
    ("No, they differ", WRONG, "opening"),
    ("Answer: yes", RIGHT, "opening"),
    ("A because both say 7", RIGHT, "opening"),
    ("B\n\nThe correct answer is A, the candidate said C.", WRONG, "opening"),
    ("<think>It looks like B</think>A", RIGHT, "opening"),
    ("错误", WRONG, "opening"),
    ("不正确。", WRONG, "opening"),
    (r"\boxed{A}", RIGHT, "opening"),
    ("All in all [[B]]", WRONG, "brackets"),
    ("[[A]]? No: [[B]] it is", WRONG, "brackets"),
    (r"So we have \boxed{\text{A}} here", RIGHT, "brackets"),
    ("It is well said. <verdict>B</verdict> Done", WRONG, "brackets"),
    ("Verdict: A", RIGHT, "opening"),
    ("It matches.\n\n**Final Verdict:** B", WRONG, "labelled"),
    ("I grade this as A, since it matches", RIGHT, "labelled"),
    ("The candidate's final answer is B. So is the target. The verdict is A.", RIGHT, "labelled"),
    ("Verdict: A. On reflection, my verdict is B.", WRONG, "labelled"),
    ("判断：B", WRONG, "opening"),
    ("The answer is B", WRONG, "last_clause"),
    ("The Answer is B", WRONG, "last_clause"),
    ("After review: B", WRONG, "last_clause"),
    ("Based on the criteria above, A", RIGHT, "last_clause"),
    ("The predicted answer matches the gold target, so A.", RIGHT, "last_clause"),
    ("The target is B.\nThe candidate says B.\nA", RIGHT, "last_clause"),
    ("No errors were found, so the answer is correct", RIGHT, "last_clause"),
    ("The answer is B because they differ", WRONG, "statements"),
    ("The prediction is not correct, since 7 is not 8", WRONG, "statements"),
    ("I say INCORRECT to this one", WRONG, "statements"),
    ("答案是正确的", RIGHT, "statements"),
]
UNREAD = [
    ("", None),
    ("I cannot tell.", None),
    ("A careful look at both is needed.", None),
    ("Because of this", None),
    ("Vitamin A", None),
    ("The answer is A good match", None),
    ("The candidate's answer is A", None),
    ("The candidate's final answer is B.", None),
    ("The correct answer is B.", None),
    ("Reply with A, B or C", None),
    ("A or B? Hard to say", None),
    ("Are there errors? no.", None),
    ("If the answer is A then we are done", None),
    ("<think>A", None),
    ("A: INCORRECT", "opening"),
    ("A\n\nVerdict: B", "opening"),
    ("either CORRECT or INCORRECT", "statements"),
    ("The answer is A. The answer is B.", "last_clause"),
    ("The method of the answer is correct but the result is incorrect in the end", "statements"),
]


@pytest.mark.parametrize(("text", "verdict", "rule"), READ)
def test_a_verdict_that_is_stated_is_found(text: str, verdict: str, rule: str) -> None:
    found = read_verdict(text, RULES, is_whole=True)
    assert (found.answer, found.rule) == (verdict, rule)


@pytest.mark.parametrize(("text", "rule"), UNREAD)
def test_no_verdict_is_made_up(text: str, rule: str | None) -> None:
    found = read_verdict(text, RULES, is_whole=True)
    assert (found.answer, found.rule) == (None, rule)


def test_of_a_reply_that_was_cut_off_the_opening_counts() -> None:
    assert read_verdict("B\n\nThe candidate", RULES, is_whole=False).answer == WRONG
    assert read_verdict("The answer is B", RULES, is_whole=False).answer is None


def test_tags_of_a_config_are_read_in_place_of_the_letters() -> None:
    rules = verdict_rules(Tags("PASS", "FAIL", None))
    assert read_verdict("Verdict: PASS", rules, is_whole=True).answer == RIGHT
    assert read_verdict("All in all, FAIL", rules, is_whole=True).answer == WRONG
    assert read_verdict("A", rules, is_whole=True).answer is None
    swapped = verdict_rules(Tags("B", "A", "C"))
    assert read_verdict("The grade is A", swapped, is_whole=True).answer == WRONG
    # A tag that holds another is read whole.
    held = verdict_rules(Tags("CORRECT", "INCORRECT", None))
    assert read_verdict("INCORRECT", held, is_whole=True).answer == WRONG


LETTERS = {"A": RIGHT, "B": WRONG, "C": NOT_ATTEMPTED}
PIECES = ["The candidate ", "Because ", "Answer ", "Clearly ", "a b c ", "\n", "Based on ", "(", "1. "]


@given(st.sampled_from("ABC"), st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_a_labelled_last_line_decides_whatever_is_before(letter: str, before: str) -> None:
    found = read_verdict(f"{before}\nVerdict: {letter}", RULES, is_whole=True)
    assert found.answer == LETTERS[letter]


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert read_verdict(text, RULES, is_whole=True).answer in (None, *LETTERS.values())


FILLERS = [
    "\n",
    " ",
    "*",
    "A ",
    "the answer is ",
    "verdict ",
    "\\text{",
    "(A",
    "A, ",
    "The candidate's answer is A. ",
]


@pytest.mark.parametrize("filler", FILLERS)
def test_long_replies_are_read_quickly(filler: str) -> None:
    """Time grows with the length, and not with its square: the test would not end."""
    read_verdict(filler * 20_000, RULES, is_whole=True)
