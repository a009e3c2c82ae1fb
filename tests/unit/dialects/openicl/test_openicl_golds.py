"""Right answers of any kind, labels and post-processors; no prompt contains the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import AuthorError
from assay.core.prompt import Message
from assay.core.score import Verdict
from assay.core.task import TaskSettings
from fakes.configs import GEN, PPL, ROWS, evaluated, likely, quiz, written

FIRST = [[likely(-1), likely(-2)]] * 3
"""The model prefers the first label everywhere."""
FAITHFUL = TaskSettings(is_faithful=True)
NUMBERED = {
    **PPL,
    "prompt_template": "dict(type=PromptTemplate, template={0: 'Q {question} {A}', 1: 'Q {question} {B}'})",
}


def answering(*golds: Any) -> list[dict[str, Any]]:
    return [{**row, "answer": gold} for row, gold in zip(ROWS, golds, strict=True)]


def values(one: Any, answers: Any) -> list[float | None]:
    return [score.value for score in evaluated(one, answers).scores]


def test_labels_go_through_the_post_processor_as_answers_do(workdir: Path) -> None:
    scoring = {"evaluator": "dict(type=AccEvaluator)", "pred_postprocessor": "dict(type=low)"}
    code = "\ndef low(text):\n    return text.lower()\n"
    one = quiz(workdir, PPL, scoring, rows=answering("b", "a", "b"), code=code, names=("QuizDataset", "low"))
    assert values(one, FIRST) == [0.0, 1.0, 0.0]
    broken = code.replace("text.lower()", "text.split()[1]")
    with pytest.raises(AuthorError, match=r"OPENICL-016 .*low raised IndexError.*'A', 'B'"):
        quiz(workdir, PPL, scoring, code=broken, names=("QuizDataset", "low"))


def test_a_post_processor_that_leaves_labels_as_they_are_changes_nothing(workdir: Path) -> None:
    scoring = {
        "evaluator": "dict(type=AccEvaluator)",
        "pred_postprocessor": "dict(type='first_option_postprocess', options='AB')",
    }
    (spec,) = quiz(workdir, PPL, scoring).task.scorers()
    assert spec.name == "whole_text_likelihood"


def test_a_gap_in_a_column_of_numbers_leaves_the_others_numbers(workdir: Path) -> None:
    one = quiz(workdir, NUMBERED, rows=answering(1.0, 0.0, None))
    result = evaluated(one, FIRST)
    assert [score.value for score in result.scores] == [0.0, 1.0, None]
    assert result.scores[2].verdict is Verdict.UNGRADED


@pytest.mark.parametrize("golds", [("B", "A", "C"), (["B", "A"], ["A"], ["B"])])
def test_a_right_answer_that_is_no_label(workdir: Path, golds: Any) -> None:
    with pytest.raises(AuthorError, match=r"OPENICL-013 .*row 3.*not one of the labels 'A', 'B'"):
        quiz(workdir, PPL, rows=answering(*golds))


def test_a_right_answer_that_is_no_label_is_wrong_for_the_original(workdir: Path) -> None:
    one = quiz(workdir, PPL, rows=answering("B", "A", "C"), settings=FAITHFUL)
    assert values(one, FIRST) == [0.0, 1.0, 0.0]


def test_the_authors_function_is_given_right_answers_as_they_are(workdir: Path) -> None:
    scoring = {"evaluator": "dict(type=AccEvaluator)", "dataset_postprocessor": "dict(type=letter)"}
    code = "\ndef letter(gold):\n    return 'AB'[gold]\n"
    one = quiz(workdir, GEN, scoring, rows=answering(1, 0, None), code=code, names=("QuizDataset", "letter"))
    result = evaluated(one, [[written("B")], [written("B")], [written("B")]])
    assert [score.value for score in result.scores] == [1.0, 0.0, None]
    assert [score.target for score in result.scores] == ["B", "A", None]


def test_no_number_is_no_right_answer(workdir: Path) -> None:
    one = quiz(workdir, rows=answering(1.0, float("nan"), 2.0))
    result = evaluated(one, [[written("1")], [written("nan")], [written("1")]])
    assert [score.verdict for score in result.scores] == [Verdict.SCORED, Verdict.FAILED, Verdict.SCORED]
    why = result.scores[1].why or ""
    assert "the row has no target" in why
    assert "row 1" not in why


def test_one_answer_is_not_compared_with_a_list(workdir: Path) -> None:
    one = quiz(workdir, rows=answering(["A"], ["B"], ["A", "B"]))
    with pytest.raises(AuthorError, match=r"METRIC-002 AccEvaluator, row 1: .*list \['A'\].*EMEvaluator"):
        evaluated(one, [[written("A")]] * 3)


OWN = """
from ais_bench.benchmark.openicl.icl_evaluator import BaseEvaluator
class Told(BaseEvaluator):
    def score(self, predictions, references, origin_prompt):
        seen = [prompt.startswith("Q: ") and prompt.endswith("A:") for prompt in origin_prompt]
        return {"accuracy": 100 * sum(seen) / len(seen), "details": [{"correct": one} for one in seen]}
class Turns(BaseEvaluator):
    def score(self, predictions, references):
        right = [one == ["x", "y"] for one in predictions]
        return {"accuracy": 100 * sum(right) / len(right), "details": [{"correct": one} for one in right]}
"""


def test_an_evaluator_is_reported_what_the_model_was_asked(workdir: Path) -> None:
    one = quiz(workdir, GEN, {"evaluator": "dict(type=Told)"}, code=OWN, names=("QuizDataset", "Told"))
    assert values(one, [[written("B")]] * 3) == [1.0, 1.0, 1.0]


TALK = [{"role": role, "content": text} for role, text in (("user", "a"), ("assistant", "x"), ("user", "b"))]


def test_several_conversations_about_a_row_are_kept_apart(workdir: Path) -> None:
    inferencer = "dict(type='ChatInferencer', infer_mode='every_with_gt')"
    one = quiz(
        workdir,
        {**GEN, "inferencer": inferencer},
        {"evaluator": "dict(type=Turns)"},
        rows=[{"talk": TALK, "answer": "y"}],
        reader="dict(input_columns=['talk'], output_column='answer')",
        more=", n=2, k=2",
        code=OWN,
        names=("QuizDataset", "Turns"),
        settings=TaskSettings(is_chat=True, temperature=0.5),
    )
    texts = ["x", "y", "x", "-"]  # Two turns, asked twice: right, then wrong.
    (score,) = evaluated(one, [[written(text) for text in texts]]).scores
    assert (score.value, score.also["pass@2"], score.also["cons@2"]) == (0.5, 1.0, 0.0)


def test_a_template_of_a_label_does_not_tell_the_right_answer(workdir: Path) -> None:
    message = {
        **PPL,
        "prompt_template": PPL["prompt_template"].replace("{question}", "{question} ({answer})"),
    }

    def prompts(settings: TaskSettings) -> list[Any]:
        one = quiz(workdir, message, settings=settings)
        return [request.ask.prompt for request in one.task.requests(next(one.task.samples()))]

    assert prompts(TaskSettings()) == ["Q: 2 + 2? ()\nA: 3", "Q: 2 + 2? ()\nA: 4"]
    assert prompts(FAITHFUL) == ["Q: 2 + 2? (B)\nA: 3", "Q: 2 + 2? (B)\nA: 4"]
    names = [difference.name for difference in quiz(workdir, message).task.spec.differences]
    assert "right_answer_in_label_maps" in names


SECRET = answering("GOLD0", "GOLD1", "GOLD2")
ICE = "dict(type=PromptTemplate, template='Q: {question}\\nA: {answer}')"
BELOW = "dict(type=PromptTemplate, template='</E>Q: {question}\\nA: {answer}', ice_token='</E>')"


@pytest.mark.parametrize("is_chat", [False, True])
@pytest.mark.parametrize(
    "retriever",
    [
        "dict(type=FixKRetriever, fix_id_list=[0, 1, 2])",
        "dict(type='RandomRetriever', ice_num=2)",
        "dict(type='BM25Retriever', ice_num=2)",
        "dict(type='SlidingWindowRetriever', k=2)",
    ],
)
def test_a_row_is_no_example_of_itself(workdir: Path, retriever: str, is_chat: bool) -> None:
    message = {**GEN, "ice_template": ICE, "prompt_template": BELOW, "retriever": retriever}
    one = quiz(workdir, message, rows=SECRET, settings=TaskSettings(is_chat=is_chat))
    for number, sample in enumerate(one.task.samples()):
        asked = msgspec.json.encode([request.ask for request in one.task.requests(sample)]).decode()
        assert f"GOLD{number}" not in asked
        assert "GOLD" in asked


def test_rows_that_share_their_input_are_still_examples_of_each_other(workdir: Path) -> None:
    # By the input alone, all rows with one right answer would be the same: only wrong answers would be shown.
    rows = [{**row, "passage": "It rains.", "answer": "A"} for row in ROWS]
    fixed = "dict(type=FixKRetriever, fix_id_list=[0, 1, 2])"
    message = {**GEN, "ice_template": ICE, "prompt_template": BELOW, "retriever": fixed}
    for columns in ("['passage']", "[]"):
        reader = f"dict(input_columns={columns}, output_column='answer')"
        one = quiz(workdir, message, rows=rows, reader=reader)
        shown = [str(one.task.requests(sample)[0].ask.prompt) for sample in one.task.samples()]
        assert [prompt.count("A: A") for prompt in shown] == [2, 2, 2]
        assert [prompt.count(row["question"]) for prompt, row in zip(shown, rows, strict=True)] == [1, 1, 1]


def test_no_turn_before_the_answer_tells_it(workdir: Path) -> None:
    turns = "dict(role='HUMAN', prompt='{question} {answer}'), dict(role='BOT', prompt='{answer}')"
    expected = {
        **GEN,
        "prompt_template": f"dict(type=PromptTemplate, template=dict(round=[{turns}, {turns}]))",
    }
    one = quiz(workdir, expected, rows=SECRET, settings=TaskSettings(is_chat=True))
    (request,) = one.task.requests(next(one.task.samples()))
    assert "GOLD" not in str(request.ask.prompt)
    assert isinstance(request.ask.prompt, tuple)
    assert all(isinstance(message, Message) for message in request.ask.prompt)
