from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.judges.reading import CHOICE_RULES, GRADE_RULES, read_verdict

GRADES = [
    ("Good work.\nGrade: [[7]]", "7", "double_brackets"),
    ("[[3]] at first sight, but no: [[8]]", "8", "double_brackets"),
    ("Rating: [[8.5]]", "8.5", "double_brackets"),
    ("Rating: [[ 9/10 ]]", "9", "double_brackets"),
    ("[4] ... [[6]] ... [2]", "6", "double_brackets"),
    ("Rating: [6]", "6", "brackets"),
    ("It gets 7/10.", "7", "out_of_ten"),
    ("Of 3 claims 2 hold: 5 out of 10", "5", "out_of_ten"),
    ("7", "7", "lone_number"),
    ("**Grade:** 10.", "10", "lone_number"),
    ("<think>maybe [[2]]</think>The grade is 9", "9", "lone_number"),
    ("Question 1: weak.\nQuestion 2: strong.\n[[8]]", "8", "double_brackets"),
]
NO_GRADES = [
    ("", None),
    ("A fine answer.", None),
    ("Grade: [[number]]", None),
    ("Rating: [[0]]", "double_brackets"),
    ("Rating: [[11]]", "double_brackets"),
    ("Rating: [[-5]]", "double_brackets"),
    ("[[7]] no, rather [[70]]", "double_brackets"),
    ("85", "lone_number"),
    ("It gets -3", "lone_number"),
    ("On a scale of 1-10 it is great", None),
    ("Between 6 and 8", None),
    ("As good as GPT-4 would write it", None),
    ("Worth 7%", None),
    ("<think>[[8]]", None),
]


@pytest.mark.parametrize(("text", "grade", "rule"), GRADES)
def test_a_grade_is_found(text: str, grade: str, rule: str) -> None:
    found = read_verdict(text, GRADE_RULES, is_whole=True)
    assert (found.answer, found.rule) == (grade, rule)
    assert found.span is not None
    assert grade in text[slice(*found.span)]


@pytest.mark.parametrize(("text", "rule"), NO_GRADES)
def test_no_grade_is_made_up(text: str, rule: str | None) -> None:
    found = read_verdict(text, GRADE_RULES, is_whole=True)
    assert (found.answer, found.rule) == (None, rule)


def test_in_a_reply_that_was_cut_off_only_the_asked_form_counts() -> None:
    assert read_verdict("Of the 3", GRADE_RULES, is_whole=False).answer is None
    assert read_verdict("[2] shows", GRADE_RULES, is_whole=False).answer is None
    assert read_verdict("[[6]] because", GRADE_RULES, is_whole=False).answer == "6"


CHOICES = [
    ("A is longer. [[B]]", "B", "double_brackets"),
    ("[[A]]? On reflection [[C]]", "C", "double_brackets"),
    ("Verdict: [A]", "A", "brackets"),
    (" **B**. ", "B", "whole_reply"),
    ("A good answer was given by both", None, None),
    ("[[letter]]", None, None),
    ("Assistant A is better", None, None),
    ("[[D]]", None, None),
]


@pytest.mark.parametrize(("text", "choice", "rule"), CHOICES)
def test_choices(text: str, choice: str | None, rule: str | None) -> None:
    found = read_verdict(text, CHOICE_RULES, is_whole=True)
    assert (found.answer, found.rule) == (choice, rule)


prose = st.text(alphabet="abcdefgh .,:\n*()-/[]0123456789", max_size=60)


@given(prose)
def test_a_grade_is_on_the_scale_and_is_in_the_text(text: str) -> None:
    found = read_verdict(text, GRADE_RULES, is_whole=True)
    if found.answer is None:
        return
    assert 1 <= float(found.answer) <= 10
    assert float(found.answer) in [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


@given(prose, st.integers(1, 10), st.text(alphabet="abc .,\n", max_size=20))
def test_the_asked_form_is_found_behind_anything(before: str, grade: int, after: str) -> None:
    found = read_verdict(f"{before}\nGrade: [[{grade}]]{after}", GRADE_RULES, is_whole=True)
    assert (found.answer, found.rule) == (str(grade), "double_brackets")


@given(st.text(alphabet="abcdefgh .,:\n*()[]", max_size=60))
def test_without_a_digit_there_is_no_grade(text: str) -> None:
    assert read_verdict(text, GRADE_RULES, is_whole=True).answer is None
