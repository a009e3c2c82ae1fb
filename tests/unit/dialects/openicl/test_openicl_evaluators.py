"""From `eval_cfg` to values: the order of post-processors, repeats, cascades, and what own evaluators get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.response import Response
from assay.core.task import AnsweredRequest, TaskSettings
from fakes.configs import GEN, PPL, ROWS, compile_config, evaluated, likely, quiz, write_quiz, written
from fakes.judges import ScriptedJudge

OWN = """
from ais_bench.benchmark.openicl.icl_evaluator import BaseEvaluator


class Own(BaseEvaluator):
    def score(self, predictions, references):
        assert "None" not in repr(predictions)
        right = [one == gold for one, gold in zip(predictions, references)]
        return {"accuracy": 100 * sum(right) / len(right), "details": [{"correct": one} for one in right]}


class Rounded(BaseEvaluator):
    def score(self, predictions, references):
        right = [one == gold for one, gold in zip(predictions, references)]
        return {"accuracy": round(100 * sum(right) / len(right), 1)}


def second(text):
    return text.split("-")[1]


def nothing(text):
    return None
"""
NAMES = ("QuizDataset", "Own", "Rounded", "second", "nothing")


def own(workdir: Path, *args: Any, **more: Any) -> Any:
    return quiz(workdir, *args, code=OWN, names=NAMES, **more)


def test_the_models_post_processor_comes_before_the_datasets(workdir: Path) -> None:
    scoring = {"evaluator": "dict(type=AccEvaluator)", "pred_postprocessor": "dict(type=second)"}
    asked = TaskSettings(dataset_args={"pred_postprocessor": "nothing"})
    one = own(workdir, GEN, scoring, settings=asked)
    (spec,) = one.task.scorers()
    assert spec.args["author"].rule == "post_processing: nothing > second"
    assert one.task.spec.settings["postprocessors"] == ["nothing", "second"]


@pytest.mark.parametrize("is_chat", [False, True])
def test_an_own_evaluator_knows_texts_alone(workdir: Path, is_chat: bool) -> None:
    scoring = {"evaluator": "dict(type=Own)", "pred_postprocessor": "dict(type=nothing)"}
    if not is_chat:
        one = own(workdir, GEN, scoring)
        assert [score.value for score in evaluated(one, [[written("B")]] * 3).scores] == [None] * 3
        return
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "x"}]
    one = own(
        workdir,
        {**GEN, "inferencer": "dict(type='ChatInferencer', infer_mode='every_with_gt')"},
        scoring,
        rows=[{"talk": talk * 2, "answer": ["", ""]}],
        reader="dict(input_columns=['talk'], output_column='answer')",
        settings=TaskSettings(is_chat=True),
    )
    assert [score.value for score in evaluated(one, [[written("B"), written("B")]]).scores] == [1.0]


def test_answers_count_in_the_order_of_their_requests(workdir: Path) -> None:
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "x"}]
    one = own(
        workdir,
        {**GEN, "inferencer": "dict(type='ChatInferencer', infer_mode='every_with_gt')"},
        {"evaluator": "dict(type=Own)"},
        rows=[{"talk": talk * 2, "answer": "x"}],
        reader="dict(input_columns=['talk'], output_column='answer')",
        settings=TaskSettings(is_chat=True),
    )
    requests = one.task.requests(next(one.task.samples()))
    answers = [
        AnsweredRequest(request, Response(request.id, request.key, written(text)))
        for request, text in zip(requests, ("first", "second"), strict=True)
    ]
    (spec,) = one.task.scorers()
    assert spec.args["author"].raw(answers[::-1]) == (["first", "second"],)


def test_unknown_names_have_a_nearest_one(workdir: Path) -> None:
    with pytest.raises(AuthorError, match=r"'AccEvaluatr' \(did you mean 'AccEvaluator'"):
        quiz(workdir, GEN, {"evaluator": "dict(type='AccEvaluatr')"})
    scoring = {
        "evaluator": "dict(type=AccEvaluator)",
        "pred_postprocessor": "dict(type='first_optoin_postprocess')",
    }
    with pytest.raises(AuthorError, match=r"did you mean 'first_option_postprocess'"):
        quiz(workdir, GEN, scoring)


def test_what_k_answers_do_needs_to_know_which_are_right(workdir: Path) -> None:
    settings = TaskSettings(temperature=0.5)
    one = own(workdir, GEN, {"evaluator": "dict(type=Rounded)"}, more=", n=2, k=2", settings=settings)
    result = evaluated(one, [[written("B", "A")]] * 3)
    assert any("Rounded does not report which answers are right" in note for note in result.notes)


def names(one: Any, outcomes: Any) -> set[str]:
    result = evaluated(one, outcomes)
    found = {score.metric for score in result.scores} | {metric.metric for metric in result.metrics}
    return found | {name for score in result.scores for name in score.also}


def test_labels_are_compared_once_however_often_a_row_would_be_asked(workdir: Path) -> None:
    one = own(workdir, PPL, {"evaluator": "dict(type=Own)"}, more=", n=2, k=2")
    assert names(one, [[likely(-1), likely(-2)]] * 3) == {"accuracy"}


@pytest.mark.parametrize(("package", "has_average"), [("ais_bench.benchmark", True), ("opencompass", False)])
def test_several_answers_have_the_names_of_the_evaluators_system(
    workdir: Path, package: str, has_average: bool
) -> None:
    config = write_quiz(
        workdir, GEN, {"evaluator": "dict(type=Own)"}, code=OWN, names=NAMES, more=", n=2, k=2"
    )
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("ais_bench.benchmark.datasets", f"{package}.datasets"), encoding="utf-8")
    (one,) = compile_config(config, TaskSettings(temperature=0.5, is_faithful=True))
    # Parts of AISBench in the entry: each answer is a request of its own.
    found = names(one, [[written("B"), written("A")]] * 3)
    assert ("avg@2" in found) is has_average
    assert ("mG-Pass@2" in found) is not has_average


JUDGE = (
    "dict(type='GenericLLMEvaluator', prompt_template=dict(type=PromptTemplate, "
    "template=dict(round=[dict(role='HUMAN', prompt='{question} {prediction}')])))"
)


@pytest.mark.parametrize("rule", ["AccEvaluator", "Rounded"])
@pytest.mark.parametrize(("parallel", "asked"), [("True", 3), ("False", 1)])
def test_a_judge_is_asked_about_all_rows_or_the_rest(
    workdir: Path, rule: str, parallel: str, asked: int
) -> None:
    cascade = f"dict(type='CascadeEvaluator', rule_evaluator=dict(type={rule}), llm_evaluator={JUDGE}, "
    one = own(workdir, GEN, {"evaluator": f"{cascade}parallel={parallel})"}, rows=ROWS)
    (spec,) = one.task.scorers()
    (metric,) = spec.args["author"].metrics
    judge = ScriptedJudge(lambda text: "A")
    metric.bind(judge)
    # The rule accepts two of three; alone, a row that it accepts has 100.0.
    result = evaluated(one, [[written("B")], [written("A")], [written("no")]])
    assert [score.value for score in result.scores] == [1.0, 1.0, 1.0]
    assert [score.also["decided_by_judge"] for score in result.scores] == [0.0, 0.0, 1.0]
    assert len(judge.seen) == asked
