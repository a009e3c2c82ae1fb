"""Metrics of the `evaluate` library and filters of lm-eval; expected values are computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import PlanError
from assay.scoring.originals.lm_eval.filters import FILTERS
from assay.scoring.originals.lm_eval.library_metrics import load_metric


@pytest.mark.parametrize(
    ("name", "predictions", "references", "arguments", "expected"),
    [
        ("accuracy", [1, 0, 1, 1], [1, 1, 1, 0], {}, {"accuracy": 0.5}),
        ("f1", [1, 0, 1, 1], [1, 1, 1, 0], {}, {"f1": 2 / 3}),
        ("f1", ["a", "b", "b"], ["a", "b", "a"], {"average": "macro"}, {"f1": (2 / 3 + 2 / 3) / 2}),
        ("f1", ["a", "b", "c"], ["a", "b", "a"], {"average": "weighted"}, {"f1": (2 * 2 / 3 + 1) / 3}),
        ("f1", ["a", "b", "c"], ["a", "b", "a"], {"average": "micro"}, {"f1": 2 / 3}),
        ("precision", [1, 1, 1, 0], [1, 0, 0, 1], {}, {"precision": 1 / 3}),
        ("recall", [1, 1, 1, 0], [1, 0, 0, 1], {}, {"recall": 0.5}),
        ("rouge", ["the cat sat"], ["the cat"], {"rouge_types": ["rouge1"]}, {"rouge1": 0.8}),
        ("matthews_correlation", [1, 0, 1], [1, 0, 0], {}, {"matthews_correlation": 0.5}),
    ],
)
def test_a_metric_has_the_value_of_the_library(
    name: str,
    predictions: list[Any],
    references: list[Any],
    arguments: dict[str, Any],
    expected: dict[str, float],
) -> None:
    values = load_metric(name).compute(predictions=predictions, references=references, **arguments)
    assert values == pytest.approx(expected)


def test_bleu_of_a_short_text_is_cut_by_the_brevity_penalty() -> None:
    text = "the quick brown fox jumps"
    values = load_metric("bleu").compute(predictions=[text], references=[[f"{text} over it"]])
    assert values["precisions"] == [1.0, 1.0, 1.0, 1.0]
    assert values["bleu"] == values["brevity_penalty"] == pytest.approx(2.718281828459045 ** (1 - 7 / 5))


def test_error_rates_count_edits_per_word_and_per_character() -> None:
    assert load_metric("wer").compute(predictions=["a b d"], references=["a b c e"]) == 0.5
    assert load_metric("cer").compute(predictions=["abd"], references=["abc"]) == pytest.approx(1 / 3)


def test_squad_2_separates_questions_without_an_answer() -> None:
    predictions = [
        {"id": "1", "prediction_text": "The Paris", "no_answer_probability": 0.1},
        {"id": "2", "prediction_text": "Oslo", "no_answer_probability": 0.9},
        {"id": "3", "prediction_text": "", "no_answer_probability": 0.9},
    ]
    references = [
        {"id": "1", "answers": {"text": ["Paris"], "answer_start": [0]}},
        {"id": "2", "answers": {"text": [], "answer_start": []}},
        {"id": "3", "answers": {"text": [], "answer_start": []}},
    ]
    values = load_metric("squad_v2").compute(predictions=predictions, references=references)
    assert values["exact"] == pytest.approx(200 / 3)
    assert (values["HasAns_exact"], values["NoAns_exact"], values["NoAns_total"]) == (100, 50, 2)
    # Below a doubt of 0.9 the first is right, and the two others count as not answered.
    assert (values["best_exact"], values["best_exact_thresh"]) == (100, 0.1)


def test_pass_at_k_counts_the_programs_that_run_with_their_test() -> None:
    programs = [["def f():\n    return 1", "def f():\n    return 2"]]
    rates, results = load_metric("code_eval").compute(
        references=["assert f() == 1"], predictions=programs, k=[1, 2, 3]
    )
    assert rates == {"pass@1": 0.5, "pass@2": 1.0}
    assert [(number, one["passed"]) for number, one in results[0]] == [(0, True), (1, False)]


def test_a_metric_that_is_not_ours_needs_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "evaluate", None)
    with pytest.raises(PlanError, match="pip install evaluate"):
        load_metric("bertscore")


@pytest.mark.parametrize(
    ("name", "reply", "expected"),
    [
        ("format_span", "Person: Ann, none $$ Place: x\nDATE: 1 May$$", "per: ann $ date: 1 may"),
        ("format_span", "LOC: Oslo, Rome", "loc: oslo $ loc: rome"),
        ("regex_pos", "[('cats', 'NOUN'), ('sleep', 'VERB')]", ["NOUN", "VERB"]),
        ("regex_pos", "no tags", ["invalid"]),
    ],
)
def test_filters_for_tagged_texts(name: str, reply: str, expected: Any) -> None:
    assert list(FILTERS[name]().apply([[reply]], [{}])) == [[expected]]
