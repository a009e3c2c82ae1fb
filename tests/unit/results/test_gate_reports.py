"""Reports of a gate: hostile texts must not break XML, workflow commands or Markdown."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.score import Score
from assay.results.comparison import Flip, Flips, MetricComparison, RunComparison, Side
from assay.results.gate import Gate, GateRule, decide
from assay.results.gate_reports import build_annotations, render_junit
from assay.results.gate_words import describe_gate, quote_code, render_gate
from assay.results.paired import compare_shares
from fakes.scored_folders import score

HOSTILE = (
    "a | b `code` <script>alert(1)</script> @team %0A::error::x\r\n"
    "::set-output\x1b[31m \x00 ]]> & \ud800 \u202e"
)


def answered(value: float, answer: str) -> Score:
    return score("id|1`", value, task=HOSTILE, answer=answer, target=HOSTILE)


def compared(task: str, *, is_worse: bool) -> RunComparison:
    a, b = np.ones(40), np.concatenate([np.zeros(20), np.ones(20)])
    result = compare_shares(a, b if is_worse else a)
    one = MetricComparison(
        task, "gen", "accuracy", 0, 1, result,
        is_headline=True, is_share=True, is_factor=False, higher_is_better=True,
    )  # fmt: skip
    sides = (Side(HOSTILE, "r", "base", "m", None), Side("new", "r", "new", "m", None))
    return RunComparison(sides, (one,), (HOSTILE,))


def failing(task: str = HOSTILE) -> tuple[Gate, RunComparison, tuple[Flips, ...]]:
    comparison = compared(task, is_worse=True)
    flip = Flip("id|1`", HOSTILE, answered(1.0, HOSTILE), answered(0.0, "```"))
    return (
        decide(comparison, GateRule()),
        comparison,
        (Flips(task, "gen", "accuracy", (0, 1), (flip,), (flip,)),),
    )


def test_junit_is_xml_with_one_case_for_each_check() -> None:
    root = ElementTree.fromstring(render_junit(*failing()))
    (case,) = root.iter("testcase")
    (failure,) = case.iter("failure")
    assert failure.attrib["type"] == "worse"
    assert "right before, wrong now" in (failure.text or "")
    assert root.attrib["failures"] == "1"
    comparison = compared("fine", is_worse=False)
    root = ElementTree.fromstring(render_junit(decide(comparison, GateRule()), comparison, ()))
    assert root.attrib["failures"] == "0"
    assert not list(root.iter("failure"))


@given(st.text())
def test_any_text_is_valid_in_junit(text: str) -> None:
    ElementTree.fromstring(render_junit(*failing(text)))


def test_annotations_are_one_line_each() -> None:
    (line,) = build_annotations(failing()[0])
    assert line.startswith("::error title=Assay gate%3A a | b")
    assert "\n" not in line
    assert "\r" not in line
    assert line.count("::") >= 2
    title = line.removeprefix("::error title=").partition("::")[0]
    assert ":" not in title
    assert "," not in title
    assert "%250A" in title
    passed = decide(compared("t", is_worse=False), GateRule())
    assert build_annotations(passed) == [f"::notice title=Assay gate::{describe_gate(passed)}"]


def test_texts_in_markdown_are_code() -> None:
    text = render_gate(*failing())
    assert "\x1b" not in text
    assert "\u202e" not in text
    rows = [line for line in text.splitlines() if line.startswith("| `` id")]
    assert len(rows) == 2
    for row in rows:
        # Bars outside escapes separate cells.
        assert row.replace("\\|", "").count("|") == 6
    assert text.startswith("## Gate failed: `new` against ``a | b `code`")
    assert "Right before, wrong now" in text
    assert "Wrong before, right now" in text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a", "`a`"),
        ("a`b", "``a`b``"),
        ("`", "`` ` ``"),
        ("``x", "``` ``x ```"),
        ("a\nb\t c", "`a b c`"),
        ("", ""),
    ],
)
def test_a_code_span_is_longer_than_any_backticks_in_it(text: str, code: str) -> None:
    assert quote_code(text) == code
