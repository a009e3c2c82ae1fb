"""Evaluators that judge rows by themselves: corrected and as the original, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.scoring.originals.opencompass.evaluators import EvaluatedRow, make_evaluator
from assay.scoring.originals.opencompass.evaluators.boxes import compute_resized_size, overlap

BOX = {"bbox": [0, 0, 100, 100], "image_width": 100, "image_height": 100}
OPTIONS = {"A": "Paris", "B": "London", "C": "Rome", "D": None}


@pytest.mark.parametrize(
    ("name", "arguments", "prediction", "gold", "corrected", "original"),
    [
        ("AccEvaluator", {}, "1", 1, 1, 1),
        ("AccEvaluator", {}, "1", 1.0, 1, 0),
        ("AccEvaluator", {}, " A", "A", 1, 0),
        ("AccEvaluator", {}, None, "None", 0, 1),
        ("AccEvaluator", {"pred_postprocessor": {"type": "first-capital"}}, "so B", "B", 1, 1),
        ("AccwithDetailsEvaluator", {}, "A", "A", 1, 1),
        ("EDAccEvaluator", {}, "yess", {"candidates": [["no"], ["yes", "yep"]], "label": 1}, 1, 1),
        ("EDAccEvaluator", {}, "", {"candidates": ["no", "yes"], "label": 0}, 0, 1),
        ("BBHEvaluator", {}, "the answer is **Yes**.", "yes", 1, 1),
        ("EMEvaluator", {}, "3.14", ["3.5"], 0, 1),
        ("EMEvaluator", {}, "The Seine.", ["seine", "Seine"], 1, 1),
        ("EMEvaluator", {}, "Rome", "Rome", 1, 0),
        ("LEvalEMEvaluator", {}, "it is 10", "1", 0, 1),
        ("LEvalEMEvaluator", {}, "it is 10", "10", 1, 1),
        ("TriviaQAEvaluator", {}, "So the answer is Paris\nIndeed", ["paris", "x"], 1, 1),
        ("TriviaQAEvaluator", {}, "Data: Rome", ["data"], 1, 0),
        ("TriviaQAEvaluator", {}, "concatenate", ["cat"], 0, 1),
        ("TriviaQAEvaluator", {}, "Rome", ["."], 0, 1),
        ("NQEvaluator", {}, "\n the answer is New York, USA", ["New York"], 1, 1),
        ("SQuAD20Evaluator", {}, "\nParis", ["Paris"], 1, 0),
        ("SQuAD20Evaluator", {}, "Paris France", ["Paris"], 0, 0),
        ("DropOpenAIEvaluator", {}, "Answer: 1", "10|12", 0, 1),
        ("DropOpenAIEvaluator", {}, "so\nanswer: the 10 yards", "10|12", 1, 1),
        ("LambadaEvaluator", {}, " Mary, who", "mary", 0, 0),
        ("LambadaEvaluator", {}, ' "Mary" said', "Mary", 1, 0),
        ("SquadEvaluator", {}, "\nthe long river", "river Seine", 0.5, 0),
        ("Gsm8kEvaluator", {}, "1234.0", "1234", 1, 1),
        ("Gsm8kEvaluator", {}, "1,234", "1234", 1, 0),
        ("Gsm8kEvaluator", {}, "2.5", "2.50", 1, 0),
        ("Gsm8kEvaluator", {}, "", "", 0, 1),
        ("MATHEvaluator", {}, r"\frac12", "0.5", 1, 1),
        ("MATHEvaluator", {}, "18.0", "18", 1, 0),
        ("MATHEvaluator", {"version": "v2"}, r"x \in [1,2]", "[1,2]", 1, 1),
        ("MATHEvaluator", {"version": "v2"}, "10\\text{ cm}.", "10", 1, 1),
        ("MATHEvaluator", {}, "3", "4", 0, 0),
        ("MATHEvaluator", {}, "dollars", "units", 0, 1),
        ("BBoxIoUEvaluator", {}, [0, 0, 1000, 500], BOX, 1, 1),
        ("BBoxIoUEvaluator", {}, "[0, 0, 1000, 499]", BOX, 0, 0),
        ("BBoxIoUEvaluator", {"smart_resize_cfg": {"factor": 32}}, [0, 0, 600, 600], BOX, 0, 1),
        ("BBoxIoUEvaluator", {}, [1, 2], BOX, 0, 0),
    ],
)
def test_one_row(
    name: str, arguments: dict[str, Any], prediction: Any, gold: Any, corrected: float, original: float
) -> None:
    for is_faithful, expected in ((False, corrected), (True, original)):
        metric = make_evaluator(name, arguments, is_faithful=is_faithful)
        (value,) = metric([prediction], [EvaluatedRow(gold, {})]).values()
        assert value == pytest.approx(100 * expected), is_faithful


@pytest.mark.parametrize(
    ("reply", "corrected", "original"),
    [
        ("B", "B", "B"),
        ("b", "B", "A"),
        ("", None, "A"),
        ("xyz", None, "A"),
        ("None of them", None, "B"),
        ("It must be London.", "B", "B"),
        ("The answer is C", "C", "C"),
    ],
)
def test_a_reply_that_names_no_option_is_no_guess(reply: str, corrected: str | None, original: str) -> None:
    for is_faithful, expected in ((False, corrected), (True, original)):
        metric = make_evaluator("OptionSimAccEvaluator", {"options": list("ABCD")}, is_faithful=is_faithful)
        right = [letter for letter in "ABCD" if metric([reply], [EvaluatedRow(letter, OPTIONS)])["accuracy"]]
        assert right == ([] if expected is None else [expected])
        assert bool(metric.notes()) is (expected is None)


def test_values_that_can_never_be_equal_are_an_error_and_not_zero() -> None:
    metric = make_evaluator("AccwithDetailsEvaluator", {}, is_faithful=False)
    with pytest.raises(AuthorError, match="METRIC-002"):
        metric(["B"], [EvaluatedRow(1, {})])
    assert make_evaluator("AccwithDetailsEvaluator", {}, is_faithful=True)(["B"], [EvaluatedRow(1, {})]) == {
        "accuracy": 0.0
    }


@pytest.mark.parametrize("name", ["AccEvaluator", "EMEvaluator", "MATHEvaluator", "BBoxIoUEvaluator"])
def test_a_row_without_a_right_answer_is_an_error(name: str) -> None:
    with pytest.raises(AuthorError, match="METRIC-002"):
        make_evaluator(name, {}, is_faithful=False)(["x"], [EvaluatedRow(None, {})])


def test_contamination_parts_the_rows() -> None:
    metric = make_evaluator("AccContaminationEvaluator", {}, is_faithful=False)
    kinds = ["clean", "clean", "input contamination"]
    rows = [EvaluatedRow("A", {"is_clean": kind}) for kind in kinds]
    assert metric(["A", "B", "A"], rows) == {"accuracy - clean": 50.0, "accuracy - input contaminated": 100.0}
    assert metric.last_ratios["accuracy - clean"] == [(1.0, 1.0), (0.0, 1.0), (0.0, 0.0)]
    with pytest.raises(AuthorError, match="is_clean is 'dirty'"):
        metric(["A"], [EvaluatedRow("A", {"is_clean": "dirty"})])


def test_rouge_and_bleu_of_equal_texts_are_whole_and_chinese_has_words() -> None:
    row = [EvaluatedRow("the cat sat on the mat", {})]
    rouge = make_evaluator("RougeEvaluator", {}, is_faithful=False)
    assert set(rouge([row[0].gold], row).values()) == {100.0}
    assert make_evaluator("BleuEvaluator", {}, is_faithful=False)([row[0].gold], row)[
        "score"
    ] == pytest.approx(100)
    chinese = [EvaluatedRow("今天天气很好", {})]
    assert rouge(["今天天气很好"], chinese)["rouge1"] == 100.0
    assert make_evaluator("RougeEvaluator", {}, is_faithful=True)(["今天天气很好"], chinese)["rouge1"] == 0.0


def test_jieba_rouge() -> None:
    pytest.importorskip("jieba")
    metric = make_evaluator("JiebaRougeEvaluator", {}, is_faithful=False)
    values = metric(["今天 天气 好", ""], [EvaluatedRow("今天 天气 好", {}), EvaluatedRow("天气", {})])
    assert values["rouge1"] == pytest.approx(50, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "recorded", "value"),
    [
        ("AveragePPLEvaluator", [{"ppl": 2.0}, {"ppl": 4.0}], {"average_ppl": 3.0}),
        ("AveragePPLEvaluator", [2.0, 4.0], {"average_ppl": 3.0}),
        ("AverageMinKEvaluator", [{"mink": 1.0}, {"mink": 2.0}], {"average_mink": 1.5}),
        (
            "AverageInferencePPLEvaluator",
            [{"ppl": 2.0, "token_len": 1}, {"ppl": 4.0, "token_len": 3}],
            {"average_ppl": 1.5},
        ),
        (
            "BPCEvaluator",
            [
                {"loss": 0.6931471805599453, "total_chr_num": 4},
                {"loss": 0.6931471805599453, "total_chr_num": 4},
            ],
            {"bpc": pytest.approx(0.5)},
        ),
    ],
)
def test_values_of_likelihoods(name: str, recorded: list[Any], value: dict[str, float]) -> None:
    metric = make_evaluator(name, {}, is_faithful=False)
    assert metric(recorded, [EvaluatedRow(None, {})] * 2) == value
    with pytest.raises(AuthorError, match="METRIC-002"):
        metric([{"x": 1}, recorded[0]], [EvaluatedRow(None, {})] * 2)


def test_instructions_are_read_strictly_and_loosely() -> None:
    pytest.importorskip("langdetect")
    rows = [
        EvaluatedRow({"instruction_id_list": ids, "kwargs": [{"num_words": None}] * len(ids)}, {})
        for ids in (["punctuation:no_comma"], ["change_case:english_lowercase", "punctuation:no_comma"])
    ]
    metric = make_evaluator("IFEvaluator", {}, is_faithful=False)
    values = metric(["no comma here", "Sure, here:\nall small letters in this reply"], rows)
    assert values == {
        "Prompt-level-strict-accuracy": 50.0,
        "Inst-level-strict-accuracy": pytest.approx(100 / 3),
        "Prompt-level-loose-accuracy": 100.0,
        "Inst-level-loose-accuracy": 100.0,
    }
    assert metric.last_correct == [1.0, 0.0]
    assert metric.last_ratios["Inst-level-strict-accuracy"] == [(1.0, 1.0), (0.0, 2.0)]


def test_boxes() -> None:
    assert overlap((0, 0, 2, 2), (1, 1, 3, 3)) == pytest.approx(1 / 7)
    assert overlap((0, 0, 1, 1), (2, 2, 3, 3)) == 0
    assert compute_resized_size(1000, 500, factor=32, min_pixels=1, max_pixels=10**9) == (992, 512)
    assert compute_resized_size(10, 4000, factor=32, min_pixels=1, max_pixels=10**9) is None
    width, height = compute_resized_size(5000, 3000, factor=32, min_pixels=1, max_pixels=10**6) or (0, 0)
    assert width * height <= 10**6
