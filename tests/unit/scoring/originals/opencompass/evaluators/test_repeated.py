"""Several answers per question: means over runs and metrics over k answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import PlanError
from assay.core.prompt import Message, Prompt
from assay.scoring.originals.opencompass.evaluators import (
    AuthorEvaluator,
    EvaluatedRow,
    Evaluator,
    RepeatedEvaluator,
    make_evaluator,
)
from assay.scoring.originals.opencompass.evaluators.judged import JudgedEvaluator
from fakes.judges import ScriptedJudge


def rows(golds: Sequence[Any]) -> list[EvaluatedRow]:
    return [EvaluatedRow(gold, {}) for gold in golds]


def accuracy(*, is_faithful: bool = False) -> Evaluator:
    return make_evaluator("AccEvaluator", {}, is_faithful=is_faithful)


@st.composite
def answered(draw: st.DrawFn) -> tuple[list[tuple[str, ...]], int, int]:
    n = draw(st.integers(2, 5))
    answer = st.sampled_from("AB")
    return draw(st.lists(st.tuples(*[answer] * n), min_size=1, max_size=5)), n, draw(st.integers(2, n))


def share(drawn: Sequence[bool], least: float) -> bool:
    return sum(drawn) >= max(1, math.ceil(least - 1e-9))


@given(answered())
def test_what_k_answers_do_is_what_all_choices_of_k_answers_do(
    case: tuple[list[tuple[str, ...]], int, int],
) -> None:
    answers, n, k = case
    metric = RepeatedEvaluator(accuracy(), n, [k])
    values = metric(answers, rows("A" * len(answers)))
    right = [[one == "A" for one in row] for row in answers]
    every = [list(combinations(row, k)) for row in right]

    def over(name: str, holds: Any) -> None:
        by_row = [sum(map(holds, choices)) / len(choices) for choices in every]
        assert metric.last_score_lists[name] == pytest.approx(by_row)
        assert values[name] == pytest.approx(100 * sum(by_row) / len(by_row))

    over(f"pass@{k}", any)
    over(f"cons@{k}", lambda drawn: sum(drawn) > k / 2)
    for threshold in (0.0, 0.25, 0.5, 0.75, 1.0):
        over(f"G-Pass@{k}_{threshold}", lambda drawn, t=threshold: share(drawn, t * k))
    levels = range(math.ceil(k / 2) + 1, k + 1)
    many = [sum(sum(drawn) >= i for drawn in choices for i in levels) / len(choices) for choices in every]
    assert values[f"mG-Pass@{k}"] == pytest.approx(100 * sum(2 / k * one for one in many) / len(many))
    mean = 100 * sum(map(sum, right)) / (n * len(right))
    assert values[f"accuracy ({n} runs average)"] == pytest.approx(mean)
    assert values[f"avg@{n}"] == pytest.approx(mean)


def test_questions_half_of_which_are_always_right_pass_by_half() -> None:
    # The case on which AISBench reports 100.
    answers = [("A" if question % 2 else "B",) * 5 for question in range(30)]
    assert RepeatedEvaluator(accuracy(), 5, [5])(answers, rows("A" * 30))["pass@5"] == 50.0
    gsm = make_evaluator("Gsm8kEvaluator", {}, is_faithful=True)
    original = RepeatedEvaluator(gsm, 5, [5], is_faithful=True, system="aisbench")
    numbers = [("1" if question % 2 else "2",) * 5 for question in range(30)]
    assert original(numbers, rows(["1"] * 30))["pass@5"] == 100.0


def test_the_original_knows_the_last_run_alone_where_rows_have_no_verdict() -> None:
    answers = [("A", "A", "A", "B"), ("A", "B", "A", "B")]
    assert RepeatedEvaluator(accuracy(), 4, [4])(answers, rows("AA"))["accuracy (4 runs average)"] == 62.5
    faithful = RepeatedEvaluator(accuracy(is_faithful=True), 4, [4], is_faithful=True)
    assert faithful(answers, rows("AA")) == {"accuracy": 0.0}


def test_names_of_each_original() -> None:
    gsm = make_evaluator("Gsm8kEvaluator", {}, is_faithful=True)
    answers = [("1", "2"), ("1", "1")]
    opencompass = RepeatedEvaluator(gsm, 2, [2], is_faithful=True)(answers, rows("11"))
    assert list(opencompass) == [
        "accuracy (2 runs average)",
        *(f"G-Pass@2_{threshold}" for threshold in (0.0, 0.25, 0.5, 0.75, 1.0)),
        "mG-Pass@2",
    ]
    aisbench = RepeatedEvaluator(gsm, 2, [2], is_faithful=True, system="aisbench")(answers, rows("11"))
    assert list(aisbench) == ["accuracy (2 runs average)", "avg@2", "pass@2", "cons@2"]


def test_without_a_k_above_one_there_are_means_alone() -> None:
    assert list(RepeatedEvaluator(accuracy(), 4, [1])([("A",) * 4], rows("A"))) == [
        "accuracy (4 runs average)"
    ]


def test_a_corpus_value_is_the_mean_of_the_runs() -> None:
    bleu = make_evaluator("BleuEvaluator", {}, is_faithful=False)
    golds = ["the cat sat on the mat today", "a dog ran in the park at noon"]
    first, second = golds, ["the cat sat on a mat today", "one dog ran in the park at night"]
    runs = [bleu(first, rows(golds))["score"], bleu(second, rows(golds))["score"]]
    metric = RepeatedEvaluator(bleu, 2, [1])
    values = metric(list(zip(first, second, strict=True)), rows(golds))
    assert values == {"score (2 runs average)": pytest.approx(sum(runs) / 2)}
    low, high = metric.last_intervals["score (2 runs average)"]
    assert low < sum(runs) / 2 < high


def test_a_row_counts_with_the_answers_that_came_and_fails_with_fewer_than_k() -> None:
    metric = RepeatedEvaluator(accuracy(), 4, [2])
    values = metric([("A", "A", "B"), ("B",), ("B", "B", "B", "B")], rows("AAA"))
    assert metric.last_score_lists["pass@2"][0] == 1.0
    assert math.isnan(metric.last_score_lists["pass@2"][1])
    assert math.isnan(metric.last_score_lists["accuracy (4 runs average)"][1])
    assert values["pass@2"] == 50.0
    assert values["avg@4"] == pytest.approx(100 * (2 / 3 + 0) / 2)


def test_ratios_are_summed_over_the_runs_of_a_row() -> None:
    evaluator = make_evaluator("AverageInferencePPLEvaluator", {}, is_faithful=False)
    metric = RepeatedEvaluator(evaluator, 2, [1])
    first, second = {"ppl": 2.0, "token_len": 1}, {"ppl": 4.0, "token_len": 3}
    assert metric([(first, second)], rows([None])) == {"average_ppl (2 runs average)": 1.5}
    assert metric.last_ratios == {"average_ppl (2 runs average)": [(6.0, 4.0)]}
    assert not metric.higher_is_better


def test_a_k_that_cannot_be_estimated_is_rejected_before_the_run() -> None:
    with pytest.raises(PlanError, match=r"CODE-004.*pass@8"):
        RepeatedEvaluator(accuracy(), 4, [1, 8])
    with pytest.raises(PlanError, match="CODE-004"):
        RepeatedEvaluator(accuracy(), 4, [4]).check_plan(2)
    with pytest.raises(ValueError, match="of at least 1"):
        RepeatedEvaluator(accuracy(), 4, [0])


def test_a_judge_inside_is_bound_and_there_is_no_bind_without_one() -> None:
    class Judged(Evaluator):
        judge: Any = None

        def bind(self, judge: Any) -> None:
            self.judge = judge

    inner = Judged()
    RepeatedEvaluator(inner, 2, [1]).bind("a judge")
    assert inner.judge == "a judge"
    assert not hasattr(RepeatedEvaluator(accuracy(), 2, [1]), "bind")


def test_a_judges_replies_about_all_answers_of_a_row_are_kept() -> None:
    def render(row: EvaluatedRow, prediction: str) -> Prompt:
        return (Message("user", prediction),)

    metric = RepeatedEvaluator(JudgedEvaluator(render), 2, [1])
    metric.bind(ScriptedJudge(lambda text: "A" if text == "yes" else "B"))
    metric([("yes", "no"), ("no",)], rows("AA"))
    assert [[(one.about, one.label) for one in row] for row in metric.last_replies] == [
        [("answer 1, answer", "right"), ("answer 2, answer", "wrong")],
        [("answer 1, answer", "wrong")],
    ]
    single = RepeatedEvaluator(JudgedEvaluator(render), 1, [1])
    single.bind(ScriptedJudge(lambda text: "A"))
    single([("yes",)], rows("A"))
    assert [[one.prompt for one in row] for row in single.last_replies] == [[(Message("user", "yes"),)]]


def test_answers_that_a_judge_could_not_judge_do_not_count() -> None:
    class Judged(Evaluator):
        scale = 100.0

        def __call__(
            self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]
        ) -> dict[str, float]:
            known = [float(one) for one in predictions if one is not None]
            self.last_score_lists = {"accuracy": [math.nan if one is None else one for one in predictions]}
            return {"accuracy": self.scale * sum(known) / len(known)}

    metric = RepeatedEvaluator(Judged(), 3, [2])
    values = metric([(1, None, 0), (None, 0, None)], rows("AA"))
    assert metric.last_score_lists["avg@3"][0] == 0.5
    assert math.isnan(metric.last_score_lists["avg@3"][1])
    assert values["pass@2"] == 100.0


@pytest.mark.parametrize("last", [True, False])
def test_a_run_without_a_right_answer_does_not_tell_the_scale(last: bool) -> None:
    class Fraction:
        def score(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            right = sum(one == gold for one, gold in zip(predictions, references, strict=True))
            return {"accuracy": right / len(predictions)}

    metric = RepeatedEvaluator(AuthorEvaluator(Fraction()), 2, [1])
    answers = [("A", "-"), ("A", "-"), ("-", "-")]
    values = metric([one if last else one[::-1] for one in answers], rows("AAA"))
    (name,) = values
    assert values[name] / metric.units[name].scale == pytest.approx(1 / 3)
