"""Cascades: a rule first and a judge for the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.core.prompt import Message, Prompt
from assay.core.response import Failure
from assay.core.score import Verdict
from assay.scoring.judges.binding import bind_judge, needs_judge
from assay.scoring.metrics.list_metric import ListMetric
from assay.scoring.originals.opencompass.evaluators.cascade import Cascade
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator
from assay.scoring.originals.opencompass.evaluators.judged import JudgedEvaluator
from fakes.author_lists import scored
from fakes.judges import ScriptedJudge


class Equal(Evaluator):
    """The share of rows equal to their gold."""

    scale: ClassVar[float] = 100.0

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        return self._mean(
            "accuracy",
            [float(one == row.gold) for one, row in zip(predictions, references, strict=True)],
        )


class Silent(Equal):
    """The same, without a word of single rows."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        values = super().__call__(predictions, references)
        self.last_score_lists = {}
        return values


class Halves(Evaluator):
    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        return self._mean("overlap", [0.5 for _ in predictions])


def render(row: EvaluatedRow, prediction: str) -> Prompt:
    return (Message("user", prediction),)


def says(text: str) -> str | Failure:
    """Reply with the text after the bar."""
    message = text.partition("|")[2]
    return Failure("timeout", "slow") if message == "gone" else message


def cascade(
    predictions: Sequence[str], golds: Sequence[str], rule: Evaluator | None = None, **options: Any
) -> tuple[Cascade, dict[str, float], ScriptedJudge]:
    made = Cascade(rule or Equal(), JudgedEvaluator(render), **options)
    judge = ScriptedJudge(says)
    made.bind(judge)
    return made, made(predictions, [EvaluatedRow(gold, {}) for gold in golds]), judge


ROWS = ["1|B", "2|A", "3|B", "4|gone", "5|hm"]
GOLDS = ["1|B", "x", "x", "x", "x"]


def test_the_judge_is_asked_about_what_the_rule_rejects() -> None:
    made, values, judge = cascade(ROWS, GOLDS, parallel=False)
    assert judge.users == ROWS[1:]
    assert judge.n_calls == 1
    assert [one.value for one in made.last_verdicts] == [1, 1, 0, None, None]
    assert [one.verdict for one in made.last_verdicts[3:]] == [Verdict.FAILED, Verdict.UNANSWERED]
    assert values == {
        "accuracy": pytest.approx(200 / 3),
        "rule_accuracy": pytest.approx(100 / 3),
        "decided_by_judge": pytest.approx(200 / 3),
        "llm_accuracy": 50.0,
        "llm_evaluated": 2,
        "llm_correct": 1,
    }
    assert made.last_score_lists["decided_by_judge"][:3] == [0, 1, 1]
    assert made.notes()[0] == "the rule decided 1 rows, the judge 4"


def test_in_parallel_all_are_asked_and_either_is_enough() -> None:
    made, values, judge = cascade(["1|B", "2|A", "3|gone"], ["1|B", "x", "3|gone"], parallel=True)
    assert len(judge.users) == 3
    # The judge says no to the first and fails on the third; the rule accepts both.
    assert [one.value for one in made.last_verdicts] == [1, 1, 1]
    assert values["accuracy"] == 100.0
    assert (values["llm_accuracy"], values["llm_evaluated"]) == (50.0, 2)


def test_when_the_rule_accepts_all_nobody_is_asked() -> None:
    _, values, judge = cascade(["1"], ["1"], parallel=False)
    assert judge.n_calls == 0
    assert values["accuracy"] == 100.0
    assert math.isnan(values["llm_accuracy"])


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from(["A", "B", "gone"])), min_size=1, max_size=10),
    st.booleans(),
)
def test_a_row_is_right_when_the_rule_or_else_the_judge_says_so(
    rows: list[tuple[bool, str]], parallel: bool
) -> None:
    predictions = [f"{number}|{message}" for number, (_, message) in enumerate(rows)]
    golds = [text if is_right else "x" for text, (is_right, _) in zip(predictions, rows, strict=True)]
    made, values, judge = cascade(predictions, golds, parallel=parallel)
    expected = [
        1.0 if is_right else {"A": 1.0, "B": 0.0, "gone": None}[message] for is_right, message in rows
    ]
    assert [one.value for one in made.last_verdicts] == expected
    known = [one for one in expected if one is not None]
    assert values["accuracy"] == pytest.approx(
        100 * sum(known) / len(known) if known else math.nan, nan_ok=True
    )
    n_rejected = sum(not is_right for is_right, _ in rows)
    assert len(judge.seen) == (len(rows) if parallel else n_rejected)


def test_a_rule_without_values_of_rows_is_asked_about_each_alone() -> None:
    _, with_rows, _ = cascade(ROWS, GOLDS, parallel=False)
    _, without, _ = cascade(ROWS, GOLDS, Silent(), parallel=False)
    assert without == with_rows


def test_the_rule_has_its_own_post_processor() -> None:
    made, _, judge = cascade(
        ["1|B", "2|A"], ["1", "x"], parallel=False, rule_reads=lambda text: text.partition("|")[0]
    )
    assert judge.users == ["2|A"]
    assert made.last_score_lists["rule_accuracy"] == [1, 0]


def test_a_rule_that_says_neither_right_nor_wrong_is_an_error() -> None:
    with pytest.raises(AuthorError, match=r"Halves returns overlap = 0\.5") as caught:
        cascade(["1"], ["1"], Halves())
    assert caught.value.problems[0].code == "METRIC-004"


def test_faithful_reads_the_judge_as_the_originals_cascade() -> None:
    replies = ["1|A.", "2|A", "3|correct, yes", "4|hm"]
    faithful, values, _ = cascade(replies, ["x"] * 4, parallel=False, is_faithful=True)
    assert [one.value for one in faithful.last_verdicts] == [0, 1, 1, 0]
    assert values["accuracy"] == 50.0
    corrected, _, _ = cascade(replies, ["x"] * 4, parallel=False)
    assert [one.value for one in corrected.last_verdicts] == [1, 1, 1, None]


def test_in_a_run_a_silent_judge_fails_the_rows_that_it_had_to_decide() -> None:
    made = Cascade(Equal(), JudgedEvaluator(render), parallel=False)
    judge = ScriptedJudge(says)
    made.bind(judge)
    references = [EvaluatedRow(gold, {}) for gold in GOLDS]
    evaluation, metrics = scored([made], ROWS, references, groups=list("xxyyy"))
    assert [one.verdict for one in evaluation.scores] == [
        *[Verdict.SCORED] * 3,
        *[Verdict.FAILED] * 2,
    ]
    assert [one.also.get("decided_by_judge") for one in evaluation.scores] == [0, 1, 1, None, None]
    assert judge.n_calls == 1
    assert metrics["accuracy", None].value == pytest.approx(2 / 3)
    assert metrics["llm_accuracy", None].value == 0.5
    assert (metrics["llm_evaluated", None].value, metrics["llm_evaluated", "x"].value) == (2, 1)
    assert not metrics["llm_evaluated", None].is_share


class Wrapped(ListMetric):
    """A metric that holds another, as a mean over repeats does."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @property
    def needs_judge(self) -> bool:
        return needs_judge(self.inner)

    def bind(self, judge: Any) -> None:
        bind_judge([self.inner], judge)


def test_a_metric_that_may_hold_another_needs_a_judge_when_that_one_does() -> None:
    inner = JudgedEvaluator(render)
    assert needs_judge(Wrapped(inner))
    assert needs_judge(Wrapped(Wrapped(Cascade(Equal(), inner))))
    assert not needs_judge(Wrapped(Equal()))
    bind_judge([Wrapped(Equal()), Wrapped(inner)], ScriptedJudge(says))
    assert inner(["1|A"], [EvaluatedRow("x", {})])["accuracy"] == 100.0
