from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.extract import extract_number, extract_text
from assay.scoring.normalize import numbers_equal

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "corpus_numbers.jsonl").read_text(encoding="utf-8").splitlines()
]
REAL = Path(__file__).parents[4] / "shared" / "data" / "gsm8k" / "example_model_solutions.jsonl"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['note']}: {row['text'][:30]!r}")
def test_number_corpus(row: dict[str, Any]) -> None:
    found = extract_number(row["text"])
    assert found.answer == row["answer"], found
    assert extract_number(row["text"], explain=True).answer == row["answer"]


def test_number_corpus_is_large() -> None:
    assert len(ROWS) >= 60


@pytest.mark.skipif(not REAL.exists(), reason="the real GSM8K model solutions are not at hand")
def test_real_solutions_are_judged_as_their_authors_judged_them() -> None:
    judged = wrong = 0
    for line in REAL.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        gold = row["ground_truth"].rsplit("A: ", 1)[1].strip()
        for solved in row.values():
            if not isinstance(solved, dict):
                continue
            answer = extract_number(solved["solution"]).answer
            judged += 1
            wrong += (answer is not None and numbers_equal(answer, gold)) != solved["is_correct"]
    assert judged == 4 * 1319
    assert wrong == 0


@pytest.mark.skipif(not REAL.exists(), reason="the real GSM8K model solutions are not at hand")
def test_real_solutions_without_their_last_line_still_give_their_number() -> None:
    rows = [json.loads(line) for line in REAL.read_text(encoding="utf-8").splitlines()]
    found = agree = 0
    for row in rows:
        body, _, last = row["ground_truth"].rpartition("\nA: ")
        answer = extract_number(body).answer
        found += answer is not None
        agree += answer is not None and numbers_equal(answer, last)
    assert found > 0.99 * len(rows)
    assert agree > 0.985 * len(rows)


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=4, allow_nan=False))
def test_any_decimal_is_read_back_exactly(value: Decimal) -> None:
    for form in ("{}", "The answer is {}.", "#### {}", "\\boxed{{{}}}", "${:,}"):
        answer = extract_number(form.format(value)).answer
        assert answer is not None
        assert Decimal(answer) == value


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    number, free = extract_number(text), extract_text(text)
    assert (free.answer is None) == (free.span is None)
    for found in (number, free):
        assert found.answer != ""
        assert found.answer is None or (found.span is not None and found.rule is not None)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("１２", "12"),
        ("答案是１２。", "12"),
        ("정답: １２", "12"),
        ("答案：３．５", "3.5"),
        ("－５", "-5"),
        ("３／４", "0.75"),
        ("５０％", "50"),
        ("① 먼저 더한다 ② 정답은 15개", "15"),
        # A circled digit marks a step and is no digit of the number after it.
        ("①12", "12"),
    ],
)
def test_full_width_numbers(text: str, answer: str) -> None:
    found = extract_number(text)
    assert found.answer == answer
    assert found.span is not None
    assert 0 <= found.span[0] < found.span[1] <= len(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("총 1만 2천 원", "12000"),
        ("정답은 1억 2천만 원입니다.", "120000000"),
        ("3.5만 명", "35000"),
        ("答案是3万5千。", "35000"),
        ("共有12万3456人", "123456"),
        ("1,200만 원", "12000000"),
        ("5千克", "5"),
        ("3百米", "3"),
        # Two numbers, not the parts of one.
        ("1만 원과 3만 원", None),
        ("2만 3명", None),
        ("15%", "15"),
    ],
)
def test_numbers_with_korean_and_chinese_units(text: str, answer: str | None) -> None:
    assert extract_number(text).answer == answer


@given(
    st.integers(1, 9_999),
    st.integers(0, 9_999),
    st.integers(0, 9_999),
    st.sampled_from([("억", "만"), ("亿", "万")]),
)
def test_any_number_in_units_is_read_back(top: int, middle: int, low: int, units: tuple[str, str]) -> None:
    large, small = units
    spelled = f"{top}{large}" + (f"{middle}{small}" if middle else "") + (f"{low}" if low else "")
    assert extract_number(spelled).answer == str(top * 10**8 + middle * 10**4 + low)


def test_a_degenerate_run_of_digits_is_no_answer() -> None:
    assert extract_number("9" * 10_000).answer is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("12 " * 30_000, None),
        ("so 12 is 5. " * 8_000, "5"),
        ("".join(f"{number}. a step\n" for number in range(1, 9_000)), None),
        ("**5** " * 15_000, "5"),
        ("Wait, 5. " * 10_000, "5"),
        ("| 5 | 6 |\n" * 10_000, "6"),
        ("because 5 = 3 " * 7_000, "3"),
        ("答案是三十九，" * 10_000, "39"),
        ("twenty-one " * 9_000, None),
        ("5 + " * 25_000, None),
        ("5," * 50_000, None),
        ("the answer is " * 7_000 + "5", "5"),
    ],
)
def test_degenerate_replies_end(text: str, answer: str | None) -> None:
    # Work that grows with the square of a reply's length would keep this from ending.
    assert extract_number(text).answer == answer


def test_number_attempts_list_every_rule() -> None:
    found = extract_number("The answer is 5. Check: 7", explain=True)
    assert [(attempt.rule, attempt.found) for attempt in found.attempts] == [
        ("hash_marks", None),
        ("boxed", None),
        ("stated_number", "5"),
        ("bold_number", None),
        ("last_number", "5"),
    ]


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("Paris", "Paris", "first_line"),
        ("  Paris. \n", "Paris", "first_line"),
        ("Paris\nIt is in France.", "Paris", "first_line"),
        ("\n\n**Paris**\nmore", "Paris", "first_line"),
        ("Answer: Paris", "Paris", "stated_text"),
        ("The capital is old. The answer is Paris. It is big.", "Paris", "stated_text"),
        ("The answer is St. Louis.", "St. Louis", "stated_text"),
        ("Answer: J. R. R. Tolkien", "J. R. R. Tolkien", "stated_text"),
        ("Answer: London\nWait.\nAnswer: Paris", "Paris", "stated_text"),
        ("Final answer:\n\nParis", "Paris", "stated_text"),
        ("정답은 서울", "서울", "stated_text"),
        ("答案：北京。", "北京", "stated_text"),
        ("\u110c\u1165\u11bc\u1103\u1161\u11b8: 서울", "서울", "stated_text"),
        ("So $\\boxed{\\text{Paris}}$.", "Paris", "framed"),
        ("<answer>Paris</answer> ok", "Paris", "framed"),
        ("<think>London</think>Paris", "Paris", "first_line"),
        ("Paris\n\nQuestion: Where is Rome?\nAnswer: Italy", "Paris", "first_line"),
        ("", None, None),
        ("<think>Paris", None, None),
        ("  \n ", None, None),
    ],
)
def test_free_text(text: str, answer: str | None, rule: str | None) -> None:
    found = extract_text(text)
    assert (found.answer, found.rule) == (answer, rule)
