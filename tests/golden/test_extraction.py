"""Strings of known traps, one of each kind. The large corpora are in tests/unit/scoring."""

from __future__ import annotations

import pytest

from assay.core.origin import Origin
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Completion, Finish, Output, Response
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest
from assay.scoring.extract import extract_number, extract_option
from assay.scoring.normalize import normalize
from assay.scoring.scorers.generated import GeneratedAnswer, GeneratedOption

LABELS, COLOURS = ("A", "B", "C", "D"), ("red", "green", "blue", "black")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("18 eggs...", "18"),
        ("It is 1,000 or so...", "1000"),
        ("...", None),
        ("He has 5 left.\n#### 5\n\nQuestion: Tom has 3?\nAnswer: #### 99", "5"),
        ("The example said #### 5. Now ours: 3+4=7.\n#### 7", "7"),
        ("It costs \\$18.", "18"),
        ("1\\,000", "1000"),
        ("Answer: $1{,}234", "1234"),
        ("The total is 50%", "50"),
        ("#### 18.", "18"),
    ],
)
def test_numbers_as_models_write_them(text: str, answer: str | None) -> None:
    """L23: dots are no number, recited and invented questions no answer, signs and units fall away."""
    assert extract_number(text).answer == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Let's see", None),
        ("A colour is needed.", None),
        ("Definitely. Because", None),
        ("I think so", None),
        ("The answer is (C).", "C"),
        ("First I thought the answer is A. But the answer is B.", "B"),
        ("Answer: A or B", None),
        ("the green one", "B"),
    ],
)
def test_letters_that_are_words_are_no_answers(text: str, answer: str | None) -> None:
    """L24: an answer must be stated, the last statement counts, and every finding names its rule."""
    found = extract_option(text, LABELS, COLOURS)
    assert found.answer == answer
    assert answer is None or found.rule is not None


def graded(text: str, finish: Finish = Finish.END, **sample: tuple[str, ...] | tuple[int, ...]) -> Score:
    question = Sample("s", {}, Origin("x"), **sample)  # type: ignore[arg-type]
    requests = make_request("t", "s", "gen", "answer", 0, Generate("q", Sampling()))
    answered = [
        AnsweredRequest(
            requests, Response(requests.id, requests.key, Completion((Output(text, finish, 9),), 3))
        )
    ]
    scorer = GeneratedOption() if question.choices else GeneratedAnswer()
    return scorer.score(question, answered)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>Surely A.</think>\nB", "B"),
        ("Perhaps A or C.</think>\n\nThe answer is B.", "B"),
        ("<think>The answer is B", None),
        ("<think>B</think>", None),
        ("<THINK>A</THINK> B", "B"),
    ],
)
def test_only_what_follows_the_thought_counts(text: str, answer: str | None) -> None:
    """L25: the opening tag may stand in the prompt; a thought that never closes is no answer."""
    found = graded(text, Finish.LENGTH, choices=COLOURS, labels=LABELS, gold=(1,))
    assert found.answer == answer
    assert found.verdict is (Verdict.UNANSWERED if answer is None else Verdict.SCORED)
    assert found.is_truncated


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("ﬁne", "fine"),  # NFKC first: the ligature is two letters before anything looks at them.
        ("ＴＨＥ　ＥＮＤ", "the end"),  # NFKC makes a space of the wide one, then spaces are folded.
        ("İ", "i̇"),  # Folding after NFKC, so that equal letters stay equal.
        (" . Paris . ", "paris"),  # Spaces and marks at the edge fall together, in any mixture.
        ("“ the  end ”", "the end"),
        ("a an the", "a an the"),  # Articles stay: `The A` and `The B` are other answers than `A` and `B`.
        ("end the", "end the"),  # Words keep their order: not a set.
        ("①", "1"),
    ],
)
def test_exact_match_normalises_in_one_fixed_order(text: str, normal: str) -> None:
    """L33: NFKC, case, white space, marks at the edge; a change here changes scores."""
    assert normalize(text) == normal


@pytest.mark.parametrize(
    ("text", "value", "f1"),
    [("red blue", 0.0, 0.8), ("green", 1.0, 1.0), ("yellow", 0.0, 0.0)],
)
def test_several_targets_take_the_best_of_each_metric(text: str, value: float, f1: float) -> None:
    """L12: the maximum by metric: an F1 of 0.8 with one target is 0.8, not 1, and an exact match is exact."""
    found = graded(text, targets=("red blue white", "green"))
    assert found.value == value
    assert found.also["f1"] == pytest.approx(f1)
