from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import AuthorError
from assay.core.prompt import Message
from assay.core.task import TaskSettings
from assay.dialects.openicl.judge_prompts import render_judge_prompt
from assay.dialects.openicl.templates.rendering import RenderOptions
from assay.dialects.openicl.templates.template_parsing import TemplateSpec
from assay.dialects.openicl.templates.templates import Templates
from fakes.configs import GEN, ROWS, evaluated, quiz, written


def templates(text: str) -> Templates:
    spec = TemplateSpec("PromptTemplate", {"template": {"round": [{"role": "HUMAN", "prompt": text}]}})
    return Templates(spec, None, output_column=None, rendering=RenderOptions(is_chat=True))


def shown(text: str, fields: dict[str, Any], gold: Any, answer: Any) -> str:
    prompt = render_judge_prompt(templates(text), fields, gold, answer)
    assert isinstance(prompt, tuple)
    return prompt[0].text


def test_what_the_model_wrote_is_put_in_last_and_looked_at_by_nobody() -> None:
    text = "{question} / {obj_gold} / {prediction}"
    assert shown(text, {"question": "Why?"}, "since", "{obj_gold} {question}") == (
        "Why? / since / {obj_gold} {question}"
    )


def test_a_prompt_in_a_column_has_holes_of_its_own() -> None:
    fields = {"prompt_template": "Q {question_1}\nA {prediction_r1}\nQ {question_2}\nA {prediction_r2}"}
    whole = {**fields, "question_1": "Hi", "question_2": "And?"}
    assert shown("{prompt_template}", whole, None, ["Hello", "{question_1}"]) == (
        "Q Hi\nA Hello\nQ And?\nA {question_1}"
    )


def test_the_reference_is_the_column_or_the_right_answer() -> None:
    text = "[{reference}] {model_answer}"
    assert (
        shown(text, {"reference": "{model_answer}"}, "gold", "{reference}") == "[{model_answer}] {reference}"
    )
    assert shown(text, {}, "gold", "x") == "[gold] x"
    assert shown(text, {}, None, "x") == "[] x"


def test_the_original_shows_no_reference() -> None:
    text = templates("[{reference}] {model_answer}")
    prompt = render_judge_prompt(text, {"reference": "secret"}, "gold", "x", is_faithful=True)
    assert prompt == (Message("user", "[] x"),)


def test_a_conversation_is_graded(workdir: Path) -> None:
    rows = [{"dialogue": ["Hi", "And?"], "answer": "x", "ask": "Grade {prediction_r1} and {prediction_r2}."}]
    judge = "dict(type=PromptTemplate, template=dict(round=[dict(role='HUMAN', prompt='{ask}')]))"
    one = quiz(
        workdir,
        {**GEN, "inferencer": "dict(type='ChatInferencer', infer_mode='every')"},
        {"evaluator": f"dict(type='LMEvaluator', prompt_template={judge})"},
        rows=rows,
        reader="dict(input_columns=['dialogue'], output_column='answer')",
        settings=TaskSettings(is_chat=True),
    )
    (spec,) = one.task.scorers()
    (metric,) = spec.args["author"].metrics
    asked: list[Any] = []

    class Judge:
        def ask(self, prompts: list[Any]) -> list[Any]:
            asked.extend(prompts)
            return [written("Rating: [[7]]") for _ in prompts]

    metric.bind(Judge())
    (talk,) = written("Bye").outputs
    message = msgspec.structs.replace(talk, turns=("Hello", "Bye"))
    result = evaluated(one, [[msgspec.structs.replace(written(), outputs=(message,))]])
    assert asked[0][0].text == "Grade Hello and Bye."
    assert [score.value for score in result.scores] == [pytest.approx(7.0)]


def test_answers_are_compared_with_a_rivals_in_both_orders(workdir: Path) -> None:
    shown = "dict(round=[dict(role='HUMAN', prompt='{prediction}|{prediction2}')])"
    judge = f"dict(type=PromptTemplate, template={shown})"
    scoring = {"evaluator": f"dict(type='LMEvaluator', prompt_template={judge})"}
    rows = [{**row, "rival": "theirs"} for row in ROWS]
    one = quiz(workdir, GEN, scoring, rows=rows, more=", infer_order='double', mode='m2n'")
    (spec,) = one.task.scorers()
    (metric,) = spec.args["author"].metrics
    asked: list[str] = []

    class Judge:
        """Prefers the longer answer, except for one that it prefers when it comes first."""

        def ask(self, prompts: list[Any]) -> list[Any]:
            asked.extend(prompt[0].text for prompt in prompts)
            pairs = [prompt[0].text.split("|") for prompt in prompts]
            return [written("[[A]]" if "odd" in a + b or len(a) > len(b) else "[[B]]") for a, b in pairs]

    metric.bind(Judge())
    result = evaluated(one, [[written("mine, at length")], [written("x")], [written("odd")]])
    assert asked[:2] == ["mine, at length|theirs", "theirs|mine, at length"]
    assert [score.value for score in result.scores] == [1.0, 0.0, 0.5]
    assert [score.also["agreement"] for score in result.scores] == [1.0, 1.0, 0.0]
    with pytest.raises(AuthorError, match=r"OPENICL-016 .*no column is 'rival'"):
        quiz(workdir, GEN, scoring, more=", infer_order='double'")
