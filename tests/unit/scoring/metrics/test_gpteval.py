from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.mock import MockBackend
from assay.core.errors import PlanError
from assay.core.response import Failure, Finish
from assay.core.score import Verdict
from assay.engine.cache import NoCache
from assay.engine.journal import FileJournal
from assay.engine.judging import BackendJudge
from assay.scoring.judges.prompts import load_prompts
from assay.scoring.judges.questions import JudgingProcedure
from assay.scoring.metrics.gpteval import HIDDEN_ANSWER, GPTEval
from fakes.judges import Reply, ScriptedJudge, completion

NAME = "GPT-Eval"
TWO_TURNS = {"question_1": "Name a prime.", "question_2": "Name a larger one."}


def bound(judge: ScriptedJudge, procedure: JudgingProcedure | None = None, **made: Any) -> GPTEval:
    metric = GPTEval(**made)
    metric.bind(judge, procedure)
    return metric


def test_it_is_made_without_a_judge_and_says_so_when_called() -> None:
    metric = GPTEval()
    with pytest.raises(PlanError) as caught:
        metric(["x"], [{"turns": ["q"]}])
    assert caught.value.problems[0].code == "JUDGE-001"
    assert "--judge MODEL" in str(caught.value)


def test_a_type_that_does_not_exist_is_rejected_when_it_is_made() -> None:
    with pytest.raises(ValueError, match=r"'both'.*'single', 'pairwise'"):
        GPTEval(type="both")  # type: ignore[arg-type]


def test_grades_of_single_answers() -> None:
    """Rows as vicuna_bench has them: `turns`, and a reference answer for some."""
    judge = ScriptedJudge(lambda text: "[[9]]" if "the truth" in text else "Fair. [[5]]")
    metric = bound(judge)
    rows: list[dict[str, Any]] = [{"turns": ["first?"]}, {"turns": ["second?"], "ref_answer_1": "the truth"}]
    assert metric(["an answer", "another"], rows) == {NAME: 7.0}
    assert metric.last_score_lists == {NAME: [5.0, 9.0]}
    assert [(one.verdict, one.value, one.text) for one in metric.last_verdicts] == [
        (Verdict.SCORED, 5.0, "Fair. [[5]]"),
        (Verdict.SCORED, 9.0, "[[9]]"),
    ]
    assert judge.n_calls == 1
    assert "first?" in judge.users[0]
    assert "an answer" in judge.users[0]
    assert "reference" in judge.seen[1][0].content


def test_unparsed_and_failed_are_neither_grades_nor_each_other() -> None:
    replies: dict[str, Reply] = {
        "one": "[[8]]",
        "two": "I would rather not say.",
        "three": Failure("timeout", "no answer in 60 s"),
        "four": "[[0]]",
        "five": completion("Of the 3 claims", Finish.LENGTH),
        "six": "[[4]]",
    }
    judge = ScriptedJudge(lambda text: next(reply for word, reply in replies.items() if word in text))
    metric = bound(judge)
    result = metric(list(replies), [{"turns": ["q"]}] * 6)
    assert result == {NAME: 6.0}
    values = metric.last_score_lists[NAME]
    assert [None if math.isnan(value) else value for value in values] == [8.0, None, None, None, None, 4.0]
    scored, unanswered, failed = Verdict.SCORED, Verdict.UNANSWERED, Verdict.FAILED
    verdicts = [one.verdict for one in metric.last_verdicts]
    assert verdicts == [scored, unanswered, failed, unanswered, unanswered, scored]
    assert [one.why for one in metric.last_verdicts[1:5]] == [
        "turn 1: no verdict in the reply",
        "turn 1: timeout: no answer in 60 s",
        "turn 1: the grade is outside the scale",
        "turn 1: cut off after 4 tokens, before a verdict",
    ]
    assert metric.last_verdicts[1].text == "I would rather not say."


def test_nothing_graded_has_no_mean() -> None:
    metric = bound(ScriptedJudge(lambda text: "?"))
    assert math.isnan(metric(["x"], [{"turns": ["q"]}])[NAME])
    assert [one.verdict for one in metric.last_verdicts] == [Verdict.UNANSWERED]


def test_a_conversation_is_one_question_about_its_last_turn_as_in_the_original() -> None:
    judge = ScriptedJudge(lambda text: "[[6]]")
    metric = bound(judge, multi_turn=True)
    assert metric([("7", "11")], [TWO_TURNS]) == {NAME: 6.0}
    (text,) = judge.users
    places = [text.index(part) for part in ("Name a prime.", "7", "Name a larger one.", "11")]
    assert places == sorted(places)


def test_each_turn_can_be_graded_for_itself() -> None:
    judge = ScriptedJudge(lambda text: "[[4]]" if "larger" in text else "[[9]]")
    metric = bound(judge, JudgingProcedure(turns="each"), multi_turn=True)
    row = TWO_TURNS | {"ref_answer_1": "2", "ref_answer_2": "3"}
    assert metric([("7", "11")], [row]) == {NAME: 6.5}
    assert "11" not in judge.users[0]
    assert [(reply.about, reply.value) for reply in metric.last_verdicts[0].replies] == [
        ("turn 1", 9.0),
        ("turn 2", 4.0),
    ]


def test_a_sample_needs_a_verdict_on_every_turn() -> None:
    replies: Iterator[Reply] = iter(["[[9]]", "?", Failure("timeout", "slow"), "?"])
    metric = bound(ScriptedJudge(lambda text: next(replies)), JudgingProcedure(turns="each"), multi_turn=True)
    assert math.isnan(metric([("7", "11")] * 2, [TWO_TURNS] * 2)[NAME])
    assert [one.verdict for one in metric.last_verdicts] == [Verdict.UNANSWERED, Verdict.FAILED]


def test_the_last_answer_alone_of_a_conversation() -> None:
    """The document's recipe: a multi-turn dataset whose post-processing keeps the last answer."""
    judge = ScriptedJudge(lambda text: "[[6]]")
    metric = bound(judge, multi_turn=False)
    metric.setup_metric(None, None, None, SimpleNamespace(multi_turn=True))
    metric(["11"], [TWO_TURNS])
    places = [judge.users[0].index(part) for part in ("prime", HIDDEN_ANSWER, "larger", "11")]
    assert places == sorted(places)
    metric.setup_metric(None, None, None, SimpleNamespace(multi_turn=False))
    metric(["7"], [{"turns": ["Name a prime.", "Name a larger one."]}])
    assert "larger" not in judge.users[1]


ALPACA = {"instruction": "Say hello.", "output": "Good day."}


def choice(wanted: str) -> ScriptedJudge:
    """A judge that prefers one answer on either side."""

    def script(text: str) -> str:
        return "[[A]]" if text.index(wanted) < text.index("</assistant_a>") else "[[B]]"

    return ScriptedJudge(script)


@pytest.mark.parametrize("both_orders", [True, False])
@pytest.mark.parametrize(("wanted", "value"), [("Hi!", 1.0), ("Good day.", 0.0)])
def test_comparisons_follow_the_answer_and_not_its_place(
    both_orders: bool, wanted: str, value: float
) -> None:
    judge = choice(wanted)
    metric = bound(judge, JudgingProcedure(both_orders=both_orders), type="pairwise")
    assert metric(["Hi!"], [ALPACA]) == {NAME: value}
    assert len(judge.users) == 1 + both_orders
    # The original's order: the rival comes first.
    assert judge.users[0].index("Good day.") < judge.users[0].index("Hi!")


@pytest.mark.parametrize(("letter", "in_one_order"), [("A", 0.0), ("B", 1.0), ("C", 0.5)])
def test_a_judge_that_likes_a_place_gives_a_tie_in_both_orders(letter: str, in_one_order: float) -> None:
    for both_orders, value in ((True, 0.5), (False, in_one_order)):
        judge = ScriptedJudge(lambda text: f"[[{letter}]]")
        metric = bound(judge, JudgingProcedure(both_orders=both_orders), type="pairwise")
        assert metric(["Hi!"], [ALPACA]) == {NAME: value}


def test_one_order_without_a_verdict_leaves_the_sample_without_one() -> None:
    replies = iter(["[[B]]", "both are fine"])
    metric = bound(ScriptedJudge(lambda text: next(replies)), type="pairwise")
    metric(["Hi!"], [ALPACA])
    (judgement,) = metric.last_verdicts
    assert (judgement.verdict, judgement.why) == (
        Verdict.UNANSWERED,
        "rival second: no verdict in the reply",
    )


def test_conversations_are_compared_turn_by_turn() -> None:
    judge = choice("11")
    metric = bound(judge, multi_turn=True, type="pairwise")
    assert metric([("7", "11")], [TWO_TURNS | {"output": ["2", "3"]}]) == {NAME: 1.0}


UNASKABLE: list[tuple[dict[str, Any], Any, dict[str, Any], str]] = [
    ({}, "x", {"question": "q"}, "the row has no question: its keys are 'question'"),
    ({}, ("a", "b"), {"turns": ["q", "r"]}, "has 2 answers"),
    ({}, None, {"turns": ["q"]}, "the prediction is None"),
    ({}, "x", {"turns": 5}, "the row's 'turns' is 5"),
    ({"multi_turn": True}, ("a",), TWO_TURNS, "2 questions, the prediction 1 answers"),
    ({"multi_turn": True}, "a", TWO_TURNS, "2 questions, the prediction 1 answers"),
    ({"type": "pairwise"}, "x", {"instruction": "q"}, "'output' is None"),
    ({"type": "pairwise"}, "x", {"instruction": "q", "output": ["a", "b"]}, "'output' has 2 answers"),
]


@pytest.mark.parametrize(("made", "prediction", "row", "why"), UNASKABLE)
def test_a_row_that_cannot_be_asked_about_fails_alone(
    made: dict[str, Any], prediction: Any, row: dict[str, Any], why: str
) -> None:
    judge = ScriptedJudge(lambda text: "[[C]] [[7]]")
    metric = bound(judge, **made)
    fine = {"question_1": "q", "output": "o"}
    metric([prediction, ("a",)], [row, fine])
    broken, graded = metric.last_verdicts
    assert broken.verdict is Verdict.FAILED
    assert why in (broken.why or "")
    assert graded.verdict is Verdict.SCORED


def test_a_reference_that_a_numbered_prompt_lacks_fails_the_row(shared_data: Path) -> None:
    book = load_prompts(shared_data / "mt_bench" / "judge_prompts.jsonl")
    judge = ScriptedJudge(lambda text: "[[7]]")
    metric = bound(judge, JudgingProcedure(prompts=book), multi_turn=True)
    metric([("7", "11")] * 2, [TWO_TURNS | {"ref_answer_1": "2"}, TWO_TURNS])
    assert [one.verdict for one in metric.last_verdicts] == [Verdict.FAILED, Verdict.SCORED]
    assert "'ref_answer_2'" in (metric.last_verdicts[0].why or "")


@given(st.lists(st.one_of(st.integers(1, 10), st.sampled_from(["none", "failed"])), min_size=1, max_size=12))
def test_the_mean_is_that_of_the_graded_ones(replies: list[int | str]) -> None:
    def script(text: str) -> str | Failure:
        reply = replies[int(text.split("answer-")[1].split()[0])]
        if reply == "failed":
            return Failure("timeout", "slow")
        return "no" if reply == "none" else f"[[{reply}]]"

    metric = bound(ScriptedJudge(script))
    result = metric([f"answer-{n} " for n in range(len(replies))], [{"turns": ["q"]}] * len(replies))
    grades = [reply for reply in replies if isinstance(reply, int)]
    counts = Counter(one.verdict for one in metric.last_verdicts)
    assert counts[Verdict.SCORED] == len(grades)
    assert counts[Verdict.UNANSWERED] == replies.count("none")
    assert counts[Verdict.FAILED] == replies.count("failed")
    if grades:
        assert result[NAME] == pytest.approx(sum(grades) / len(grades))
    else:
        assert math.isnan(result[NAME])


def test_with_a_desk_and_a_backend_that_fails_at_times_a_second_start_asks_nothing(tmp_path: Path) -> None:
    rows = [{"turns": [f"question {n}"]} for n in range(40)]
    predictions = [f"answer {n}" for n in range(40)]
    seen = []
    for _ in range(2):
        backend = MockBackend("judge", {"answer": "Fine. [[7]]", "fail_every": "4"})
        metric = GPTEval()
        with closing(FileJournal(tmp_path / "judgements.jsonl")) as journal:
            desk = BackendJudge(backend, journal, NoCache())
            metric.bind(desk)
            assert metric(predictions, rows) == {NAME: 7.0}
        seen.append(([one.verdict for one in metric.last_verdicts], desk.tally.n_sent))
    (first, n_first), (second, n_second) = seen
    assert first == second
    assert set(first) == {Verdict.SCORED, Verdict.FAILED}
    assert (n_first, n_second) == (40, 0)
