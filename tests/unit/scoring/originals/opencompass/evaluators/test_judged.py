"""Judged answers: prompts, values, rows without a verdict, and their use in a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.mock import MockBackend
from assay.core.errors import PlanError
from assay.core.prompt import Message, Prompt
from assay.core.response import Failure, Finish
from assay.core.score import Verdict
from assay.engine.cache import NoCache
from assay.engine.journal import FileJournal
from assay.engine.judging import BackendJudge
from assay.scoring.judges.judgement import Unaskable
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow
from assay.scoring.originals.opencompass.evaluators.judged import JudgedEvaluator
from assay.scoring.originals.opencompass.evaluators.readings import READINGS, make_reading
from fakes.author_lists import scored
from fakes.judges import Reply, ScriptedJudge, completion

ROW = EvaluatedRow("42", {"question": "6 * 7?"}, "6 * 7?")


def render(row: EvaluatedRow, prediction: str) -> Prompt:
    """Show a row in pieces put side by side, so that nothing in a prediction is filled in."""
    text = "".join((str(row.fields["question"]), "\ngold: ", str(row.gold), "\nanswer: ", prediction))
    return (Message("system", "You grade."), Message("user", text))


def echoing(reply: Callable[[str], Reply] = lambda answer: answer) -> ScriptedJudge:
    """Return a judge that replies by the answer it is shown."""
    return ScriptedJudge(lambda text: reply(text.partition("answer: ")[2]))


def judged(
    predictions: Sequence[Any], name: str = "generic_llmjudge_postprocess", **options: Any
) -> tuple[JudgedEvaluator, dict[str, float], ScriptedJudge]:
    is_faithful = options.pop("is_faithful", False)
    evaluator = JudgedEvaluator(render, make_reading(name, options, is_faithful=is_faithful))
    judge = echoing()
    evaluator.bind(judge)
    return evaluator, evaluator(predictions, [ROW] * len(predictions)), judge


def test_all_rows_go_out_as_one_batch_and_values_have_the_originals_names() -> None:
    evaluator, values, judge = judged(["A", "B", "C", "Based on this, A"])
    assert judge.n_calls == 1
    assert values == {
        "accuracy": 50.0,
        "accuracy_given_attempted": pytest.approx(200 / 3),
        "f1": pytest.approx(400 / 7),
        "attempted_ratio": 75.0,
        "correct_count": 2,
        "incorrect_count": 1,
        "not_attempted_count": 1,
    }
    assert evaluator.last_score_lists["accuracy"] == [1, 0, 0, 1]
    assert [one.replies[0].label for one in evaluator.last_verdicts] == [
        "right",
        "wrong",
        "not attempted",
        "right",
    ]
    assert evaluator.notes() == ["the judge's verdicts were read by these rules: opening 3, last_clause 1"]


def test_what_a_model_writes_is_never_filled_in() -> None:
    answer = "{obj_gold} {gold} {question} {prediction}"
    _, _, judge = judged([answer])
    assert judge.users == [f"6 * 7?\ngold: 42\nanswer: {answer}"]


SAID = {"A": "right", "B": "wrong", "C": "not", "hm": None, "gone": None}


@given(st.lists(st.sampled_from(list(SAID)), min_size=1, max_size=12))
def test_values_are_those_of_the_rows_with_a_verdict(replies: list[str]) -> None:
    evaluator = JudgedEvaluator(render)
    evaluator.bind(echoing(lambda answer: Failure("timeout", "slow") if answer == "gone" else answer))
    values = evaluator(replies, [ROW] * len(replies))
    known = [SAID[reply] for reply in replies if SAID[reply]]
    n, right, wrong = len(known), known.count("right"), known.count("wrong")
    expected = {
        "accuracy": 100 * right / n if n else math.nan,
        "accuracy_given_attempted": 100 * right / (right + wrong) if right + wrong else math.nan,
        "attempted_ratio": 100 * (right + wrong) / n if n else math.nan,
        "correct_count": right,
        "incorrect_count": wrong,
        "not_attempted_count": n - right - wrong,
    }
    precision, recall = expected["accuracy_given_attempted"], expected["accuracy"]
    harmonic = 2 * precision * recall / (precision + recall) if right else 0.0 if n else math.nan
    assert values == pytest.approx({**expected, "f1": harmonic}, nan_ok=True)
    verdicts = [one.verdict for one in evaluator.last_verdicts]
    assert verdicts.count(Verdict.UNANSWERED) == replies.count("hm")
    assert verdicts.count(Verdict.FAILED) == replies.count("gone")


def test_the_originals_reading_takes_the_first_letter_anywhere_and_an_f1_of_one() -> None:
    replies = ["The Answer is B", "Based on this, A", "CORRECT", "<think>B</think>A", "A"]
    evaluator, values, _ = judged(replies, is_faithful=True)
    assert evaluator.last_score_lists["accuracy"] == [1, 0, 0, 0, 1]
    assert values["not_attempted_count"] == 1
    assert values["f1"] == pytest.approx(2 * 0.5 * 0.4 / 0.9)
    _, corrected, _ = judged(replies)
    assert corrected["accuracy"] == 80.0
    assert evaluator.differences


@pytest.mark.parametrize(
    ("name", "replies", "faithful", "corrected"),
    [
        ("get_a_or_b", ["A\n\nIt matches", "It is A", "A.", "B"], [0, 1, 0, 0], [1, 1, 1, 0]),
        ("LLMJudgeCorrectEvaluator", ["B, not A", "A"], [1, 1], [0, 1]),
        ("CascadeEvaluator", ["A.", "a", "correct!", "INCORRECT"], [0, 1, 1, 0], [1, 1, 1, 0]),
        ("medmcqa_llmjudge_postprocess", ["CORRECT", "Answer: B", "A"], [0, 1, 1], [1, 0, 1]),
        ("aa_lcr_llmjudge_postprocess", ["correct", "INCORRECT", "A"], [1, 0, 0], [1, 0, 1]),
        ("AALCRJudgeEvaluator", ["NOT CORRECT", "incorrect", "CORRECT"], [1, 0, 1], [0, 0, 1]),
        ("simpleqa_postprocess", ["CORRECT", "Answer: B", "B"], [0, 1, 0], [1, 0, 0]),
        ("HLEJudgeEvaluator", ['{"correct": "yes"}', "correct: no", "correct: yes"], [1, 0, 0], [1, 0, 1]),
    ],
)
def test_readings_by_name(name: str, replies: list[str], faithful: list[int], corrected: list[int]) -> None:
    for is_faithful, expected in ((True, faithful), (False, corrected)):
        evaluator, values, _ = judged(replies, name, is_faithful=is_faithful)
        assert [one.value for one in evaluator.last_verdicts] == expected
        assert values[evaluator.reading.values[0].name] == pytest.approx(100 * sum(expected) / len(expected))


def test_the_chinese_values_are_shares_of_one_in_the_original() -> None:
    _, values, _ = judged(["A", "C"], "csimpleqa", is_faithful=True)
    assert values["correct"] == 0.5
    _, values, _ = judged(["A", "C"], "csimpleqa_postprocess")
    assert values["correct"] == 50.0
    assert values["given_attempted_accuracy"] == 100.0


def test_every_reading_says_how_it_differs() -> None:
    for name in READINGS:
        assert make_reading(name).differences == make_reading(name, is_faithful=True).differences
        assert make_reading(name).differences


def test_tags_and_the_metrics_name_are_arguments() -> None:
    _, values, _ = judged(["PASS", "So FAIL"], true_tag="PASS", false_tag="FAIL")
    assert values["accuracy"] == 50.0
    _, values, _ = judged(["A"], "generic_llmjudge_academic_postprocess", metric_name="score")
    assert set(values) >= {"score", "score_given_attempted"}
    assert "f1" not in values


@pytest.mark.parametrize(
    ("name", "arguments", "part"),
    [
        ("generic_llmjudge_postproces", {}, "did you mean 'generic_llmjudge_postprocess'"),
        ("generic_llmjudge_postprocess", {"true_tags": "A"}, "did you mean 'true_tag'"),
        ("get_a_or_b", {"true_tag": "A"}, "it accepts none"),
        ("generic_llmjudge_postprocess", {"true_tag": 1}, "true_tag = 1"),
        ("generic_llmjudge_postprocess", {"true_tag": ""}, "true_tag = ''"),
    ],
)
def test_a_wrong_name_or_argument_is_an_error(name: str, arguments: dict[str, Any], part: str) -> None:
    with pytest.raises(PlanError) as caught:
        make_reading(name, arguments)
    assert caught.value.problems[0].code == "JUDGE-005"
    assert part in str(caught.value)


def test_a_judges_own_post_processor_goes_before_the_reading() -> None:
    reading = make_reading("get_a_or_b", is_faithful=True)
    evaluator = JudgedEvaluator(render, reading, clean=lambda text: text.partition("|")[0])
    evaluator.bind(echoing())
    assert evaluator(["A|B", "B|A"], [ROW, ROW]) == {"accuracy": 50.0}
    assert evaluator.last_score_lists == {"accuracy": [1.0, 0.0]}


def test_rows_that_cannot_be_asked_about_fail_alone() -> None:
    def picky(row: EvaluatedRow, prediction: str) -> Prompt:
        if prediction == "no":
            raise Unaskable("the row has no rubric")
        return render(row, prediction)

    evaluator = JudgedEvaluator(picky)
    evaluator.bind(echoing(lambda answer: completion(answer, Finish.LENGTH)))
    values = evaluator(["A", "no", None, "Well, the answer is A"], [ROW] * 4)
    assert values["accuracy"] == 100.0
    assert [one.why for one in evaluator.last_verdicts] == [
        None,
        "the row has no rubric",
        "the prediction is None; expected a text",
        "answer: cut off after 5 tokens, before a verdict",
    ]


def test_without_a_judge_it_is_an_error() -> None:
    with pytest.raises(PlanError, match="JUDGE-001"):
        JudgedEvaluator(render)(["A"], [ROW])


def test_a_runs_scores_have_intervals_counts_and_failed_rows() -> None:
    evaluator = JudgedEvaluator(render)
    judge = echoing()
    evaluator.bind(judge)
    answers = ["A", "B", "hm", "A", "C", None]
    evaluation, metrics = scored([evaluator], answers, [ROW] * 6, groups=["x", "x", "x", "y", "y", "y"])
    assert [one.verdict for one in evaluation.scores] == [
        *[Verdict.SCORED, Verdict.SCORED, Verdict.FAILED],
        *[Verdict.SCORED, Verdict.SCORED, Verdict.FAILED],
    ]
    assert evaluation.scores[2].why == "no verdict from the judge: answer: no verdict in the reply"
    # Asked once: neither groups nor intervals ask again.
    assert judge.n_calls == 1
    accuracy = metrics["accuracy", None]
    assert (accuracy.value, accuracy.n, accuracy.n_scored, accuracy.n_failed) == (0.5, 6, 4, 2)
    assert accuracy.low is not None
    assert metrics["accuracy_given_attempted", None].value == pytest.approx(2 / 3)
    assert metrics["f1", None].value == pytest.approx(4 / 7)
    assert metrics["f1", None].is_share
    counts = {name: metrics[f"{name}_count", None] for name in ("correct", "incorrect", "not_attempted")}
    assert {name: metric.value for name, metric in counts.items()} == {
        **{"correct": 2, "incorrect": 1, "not_attempted": 1}
    }
    assert not any(metric.is_share for metric in counts.values())
    assert metrics["correct_count", "x"].value == 1
    assert metrics["incorrect_count", "y"].value == 0
    assert "the judge gave no verdict on 1 of 5 rows" in evaluation.notes


def test_the_originals_f1_keeps_its_scale_in_a_run() -> None:
    evaluator = JudgedEvaluator(render, make_reading("generic_llmjudge_postprocess", is_faithful=True))
    evaluator.bind(echoing())
    _, metrics = scored([evaluator], ["A", "B"], [ROW] * 2)
    assert (metrics["f1", None].value, metrics["f1", None].is_share) == (0.5, False)
    assert (metrics["accuracy", None].value, metrics["accuracy", None].is_share) == (0.5, True)


def test_with_a_desk_a_second_start_asks_nothing(tmp_path: Path) -> None:
    answers, seen = [f"answer {n}" for n in range(30)], []
    for _ in range(2):
        evaluator = JudgedEvaluator(render)
        backend = MockBackend("judge", {"answer": "Verdict: A", "fail_every": "5", "chat": "true"})
        with closing(FileJournal(tmp_path / "judgements.jsonl")) as journal:
            desk = BackendJudge(backend, journal, NoCache())
            evaluator.bind(desk)
            assert evaluator(answers, [ROW] * 30)["accuracy"] == 100.0
        seen.append(([one.verdict for one in evaluator.last_verdicts], desk.tally.n_sent))
    (first, n_first), (second, n_second) = seen
    assert first == second
    assert set(first) == {Verdict.SCORED, Verdict.FAILED}
    assert (n_first, n_second) == (30, 0)


def test_the_documentation_lists_every_reading() -> None:
    page = (Path(__file__).parents[6] / "docs" / "guides" / "judges.md").read_text(encoding="utf-8")
    section = page.partition("## Right or wrong")[2].partition("\n## ")[0]
    named = {word for line in section.splitlines() for word in line.partition(" | ")[0].split("`")[1::2]}
    assert set(READINGS) <= named
    rules = [rule.name for rule in make_reading("generic_llmjudge_postprocess").rules]
    assert set(rules) <= named
