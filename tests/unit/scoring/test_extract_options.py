from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.scoring.extract import extract_number, extract_option, extract_text
from assay.scoring.extract.options import OPTION_RULES
from benchmarks.replies import read_corpus

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "corpus_options.jsonl").read_text(encoding="utf-8").splitlines()
]
TYPICAL: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "typical_replies.jsonl").read_text(encoding="utf-8").splitlines()
]
CHOICES = [row for row in read_corpus(is_held_out=False) if row.kind == "choice"]
PLANETS = ("Mercury", "Venus", "Earth", "Mars")
LETTERS = ("A", "B", "C", "D")
NUMBERS = ("2632", "2635", "26", "2700")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['note']}: {row['text'][:30]!r}")
def test_corpus(row: dict[str, Any]) -> None:
    found = extract_option(row["text"], tuple(row["labels"]), tuple(row["choices"]))
    assert found.answer == row["answer"], found


@pytest.mark.parametrize("row", TYPICAL, ids=lambda row: repr(row["text"][:40]))
def test_typical_reply(row: dict[str, Any]) -> None:
    """`answer` is what a careful person reads; `unanswered` marks replies that the rules leave open."""
    found = extract_option(row["text"], LETTERS, PLANETS)
    assert found.answer == (None if row.get("unanswered") else row["answer"]), found
    explained = extract_option(row["text"], LETTERS, PLANETS, explain=True)
    assert (explained.answer, explained.rule) == (found.answer, found.rule)


def test_typical_replies_are_many_and_few_are_left_open() -> None:
    assert len(TYPICAL) == len({row["text"] for row in TYPICAL}) >= 900
    assert sum(row.get("unanswered", False) for row in TYPICAL) <= 2


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("B is correct.", "B", "stated_label"),
        ("B is correct?", None, None),
        ("B is correct? Yes, it is Venus.", "B", "contained_choice"),
        ("A is correct? It is Venus.", "B", "contained_choice"),
        ("B 正确吗？", None, None),
    ],
)
def test_question_about_an_option_is_no_statement(text: str, answer: str | None, rule: str | None) -> None:
    found = extract_option(text, LETTERS, PLANETS)
    assert (found.answer, found.rule) == (answer, rule)


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        # All the labels repeat the task, and what follows decides.
        ("Choose A, B, C or D. It is Venus.", "B", "contained_choice"),
        ("The answer must be A, B, C or D. It is Venus.", "B", "contained_choice"),
        # Some of them are an answer that names several.
        ("The answer is A, C or D. It is Venus.", None, "stated_label"),
        ("The answer is A or B. It is Venus.", None, "stated_label"),
        ("I choose A, B, C. It is Venus.", "B", "contained_choice"),
    ],
)
def test_list_of_all_labels_repeats_the_task(text: str, answer: str | None, rule: str | None) -> None:
    found = extract_option(text, LETTERS, PLANETS)
    assert (found.answer, found.rule) == (answer, rule)


def test_both_of_two_labels_are_an_answer_that_names_several() -> None:
    found = extract_option("The answer is A or B. It is Venus.", ("A", "B"), ("Mercury", "Venus"))
    assert (found.answer, found.rule) == (None, "stated_label")


def test_corpus_is_large_and_half_of_it_has_no_answer() -> None:
    assert len(ROWS) >= 170
    assert sum(row["answer"] is None for row in ROWS) * 2 >= len(ROWS)
    assert len({(row["text"], *row["labels"]) for row in ROWS}) == len(ROWS)


def test_explaining_does_not_change_the_finding() -> None:
    # The quick paths are skipped when explaining, so this also holds them to the rules.
    for row in ROWS:
        labels, choices = tuple(row["labels"]), tuple(row["choices"])
        quick = extract_option(row["text"], labels, choices)
        slow = extract_option(row["text"], labels, choices, explain=True)
        assert (quick.answer, quick.rule) == (slow.answer, slow.rule), row["text"]
        assert quick.attempts == ()


def test_every_rule_is_needed_by_the_corpus() -> None:
    used = {extract_option(row["text"], tuple(row["labels"]), tuple(row["choices"])).rule for row in ROWS}
    used |= {extract_option(row["text"], LETTERS, PLANETS).rule for row in TYPICAL}
    used |= {extract_option(row.reply, row.labels, row.options).rule for row in CHOICES}
    assert used >= {rule.name for rule in OPTION_RULES}


def test_attempts_name_every_rule_in_order_with_what_it_saw() -> None:
    found = extract_option("The answer is B. 2635", LETTERS, NUMBERS, explain=True)
    assert [attempt.rule for attempt in found.attempts] == [rule.name for rule in OPTION_RULES]
    by_rule = {attempt.rule: attempt for attempt in found.attempts}
    assert by_rule["whole_reply"].found is None
    assert by_rule["stated_label"].found == "B"
    assert by_rule["contained_choice"].found == "B"
    assert by_rule["stated_label"].end is not None


def test_attempts_say_that_the_thought_was_not_finished() -> None:
    found = extract_option("<think>The answer is B", LETTERS, NUMBERS, explain=True)
    assert [attempt.rule for attempt in found.attempts] == ["unfinished_reasoning"]


def test_attempts_say_which_part_was_searched() -> None:
    text = "<think>A</think>B"
    found = extract_option(text, LETTERS, NUMBERS, explain=True)
    assert found.attempts[0].rule == "searched_part"
    assert text[found.attempts[0].start : found.attempts[0].end] == "B"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  B ", "B"),
        ("I say: the answer is B.", "answer is B"),
        ("<think>no</think>\nB. 2635", "B"),
        ("It must be 2635!", "2635"),
    ],
)
def test_span_points_into_the_whole_reply(text: str, shown: str) -> None:
    found = extract_option(text, LETTERS, NUMBERS)
    assert found.answer == "B"
    assert found.span is not None
    assert text[found.span[0] : found.span[1]] == shown


def test_a_statement_of_two_options_is_known_as_such() -> None:
    found = extract_option("Answer: A or B. Surely 2635.", LETTERS, NUMBERS)
    assert (found.answer, found.rule) == (None, "stated_label")


def test_identical_option_texts_cannot_be_distinguished() -> None:
    assert extract_option("red", ("A", "B", "C"), ("red", "red", "blue")).answer is None
    assert extract_option("blue", ("A", "B", "C"), ("red", "red", "blue")).answer == "C"


def test_labels_without_choices() -> None:
    assert extract_option("Answer: B", LETTERS).answer == "B"
    assert extract_option("2635", LETTERS).answer is None


def test_labels_that_differ_only_by_case_are_kept_apart() -> None:
    assert extract_option("a", ("A", "a")).answer == "a"
    assert extract_option("The answer is A.", ("A", "a")).answer == "A"


@given(st.text(alphabet=string.printable + "答案是정답은—“”<>\\{}é", max_size=200))
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_label_or_none_and_a_true_span(text: str) -> None:
    found = extract_option(text, LETTERS, NUMBERS)
    assert found.answer is None or found.answer in LETTERS
    if found.span is not None:
        start, end = found.span
        assert 0 <= start < end <= len(text)
    assert (found.answer is None) or (found.rule is not None and found.span is not None)


@given(
    st.sampled_from(LETTERS), st.sampled_from(["{}", "({})", "Answer: {}", "The answer is **{}**.", "{}. x"])
)
def test_plain_forms_name_any_label(label: str, form: str) -> None:
    assert extract_option(form.format(label), LETTERS, NUMBERS).answer == label


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("A " * 30_000, None),
        ("the answer " * 8_000, None),
        ("the answer is " * 1_000, None),
        ("B. " * 30_000, "B"),
        ("(" * 60_000, None),
        ("\\boxed{" * 8_000, None),
        ("is " * 30_000, None),
        ("A\n" * 30_000, "A"),
        ("A\nB\n" * 30_000, None),
        ("A? No. " * 10_000, None),
        ("not A, " * 10_000, None),
        ("the second option " * 5_000, "B"),
        ("if you would choose A, " * 4_000, None),
        ("wait, " * 15_000, None),
        ("because, since, so " * 5_000, None),
    ],
)
def test_degenerate_replies_end(text: str, answer: str | None) -> None:
    # Work that grows with the square of a reply's length would keep this from ending.
    assert extract_option(text, LETTERS, NUMBERS).answer == answer
    assert extract_number(text).answer is None
    assert extract_text(text).rule in ("first_line", "stated_text", "framed", None)
