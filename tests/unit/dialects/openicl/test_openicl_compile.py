from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import AuthorError
from assay.core.method import Method
from assay.core.prompt import Message
from assay.core.request import Generate, Labels, Span
from assay.core.response import Failure
from assay.core.score import Verdict
from assay.core.task import TaskSettings
from fakes.configs import (
    GEN,
    PPL,
    ROWS,
    compile_config,
    evaluated,
    likely,
    quiz,
    shared,
    write_quiz,
    written,
)

DIALOGUE = "dict(round=[dict(role='HUMAN', prompt='Q: {question}'), dict(role='BOT', prompt='{answer}')])"
OWN_EVALUATOR = """
from ais_bench.benchmark.openicl.icl_evaluator import BaseEvaluator


class QuizEvaluator(BaseEvaluator):
    def __init__(self, bonus=0):
        super().__init__()
        self.bonus = bonus

    def score(self, predictions, references, test_set):
        details = [{"pred": p, "answer": r, "correct": p == r} for p, r in zip(predictions, references)]
        right = sum(one["correct"] for one in details)
        assert [row["question"] for row in test_set]
        return {"accuracy": 100 * right / len(details), "length": sum(map(len, predictions)) + self.bonus,
                "details": details}


def quiz_postprocess(text):
    return text.strip()[:1].upper()
"""


def infer(base: Mapping[str, str] = GEN, **parts: str) -> dict[str, str]:
    return {**base, **parts}


def asks(one: Any) -> list[Any]:
    sample = next(one.task.samples())
    return [request.ask for request in one.task.requests(sample)]


def test_an_answer_is_written(workdir: Path) -> None:
    one = quiz(workdir)
    (ask,) = asks(one)
    assert ask == Generate("Q: 2 + 2?\nA:", ask.sampling)
    assert one.task.spec.methods == ("gen",)
    assert (one.task.spec.name, one.task.spec.n_samples) == ("quiz", 3)
    result = evaluated(one, [[written("B")], [written("B")], [Failure("timeout", "late")]])
    assert [score.verdict for score in result.scores] == [Verdict.SCORED, Verdict.SCORED, Verdict.FAILED]
    assert [score.value for score in result.scores] == [1.0, 0.0, None]
    assert [score.target for score in result.scores] == ["B", "A", "B"]


def test_faithful_prompts_keep_their_spaces(workdir: Path) -> None:
    (ask,) = asks(quiz(workdir, settings=TaskSettings(is_faithful=True)))
    assert ask.prompt == "Q: 2 + 2?\nA: "


def test_a_dialogue_becomes_messages_for_a_model_that_chats(workdir: Path) -> None:
    template = infer(prompt_template=f"dict(type=PromptTemplate, template={DIALOGUE})")
    (ask,) = asks(quiz(workdir, template, settings=TaskSettings(is_chat=True)))
    assert ask.prompt == (Message("user", "Q: 2 + 2?"),)


def test_what_the_config_says_of_writing(workdir: Path) -> None:
    message = infer(
        inferencer="dict(type=GenInferencer, max_out_len=7, stopping_criteria=['\\n'], temperature=0.5)"
    )
    (ask,) = asks(quiz(workdir, message))
    assert (ask.sampling.max_tokens, ask.sampling.stop, ask.sampling.temperature) == (7, ("\n",), 0.5)
    (ask,) = asks(quiz(workdir, message, settings=TaskSettings(max_tokens=3, stop=(), temperature=0.0)))
    assert (ask.sampling.max_tokens, ask.sampling.stop, ask.sampling.temperature) == (3, (), 0.0)


def test_a_row_says_how_much_may_be_written_about_it(workdir: Path) -> None:
    rows = [{**row, "max_out_len": length} for row, length in zip(ROWS, (4, "8", 15), strict=True)]
    reader = "dict(input_columns=['question', 'max_out_len'], output_column='answer')"
    one = quiz(workdir, rows=[{**row, "max_out_len": str(row["max_out_len"])} for row in rows], reader=reader)
    found = [one.task.requests(sample)[0].ask for sample in one.task.samples()]
    assert [ask.sampling.max_tokens for ask in found if isinstance(ask, Generate)] == [4, 8, 15]
    with pytest.raises(AuthorError, match=r"row 2, column 'max_out_len'.*'many'"):
        quiz(
            workdir, rows=[{**ROWS[0], "max_out_len": "4"}, {**ROWS[1], "max_out_len": "many"}], reader=reader
        )


def test_labels_are_compared_by_their_whole_prompt(workdir: Path) -> None:
    one = quiz(workdir, PPL)
    first, second = asks(one)
    assert first == Span("Q: 2 + 2?\nA: 3", 0, scores_first_token=False)
    assert second == Span("Q: 2 + 2?\nA: 4", 0, scores_first_token=False)
    sample = next(one.task.samples())
    assert (sample.labels, sample.choices, sample.gold) == (("A", "B"), ("3", "4"), (1,))
    result = evaluated(
        one, [[likely(-9, 2), likely(-4)], [likely(-4), likely(-9, 2)], [likely(-1), likely(-2)]]
    )
    assert [score.value for score in result.scores] == [1.0, 1.0, 0.0]


def test_labels_are_compared_by_what_differs(workdir: Path) -> None:
    one = quiz(workdir, PPL, settings=TaskSettings(score_by="sum"))
    assert asks(one)[0] == Span("Q: 2 + 2?\nA: 3", len("Q: 2 + 2?\nA:"))


def test_an_unscored_first_token_counts_in_the_faithful_mean_alone(workdir: Path) -> None:
    # -2/1 against -3/2 by scored tokens; -2/2 against -3/3 by all of them, a tie which the first wins.
    answers = [[likely(-2, 1), likely(-3, 2)]] * 3
    found = [score.answer for score in evaluated(quiz(workdir, PPL), answers).scores]
    assert found == ["B"] * 3
    faithful = quiz(workdir, PPL, settings=TaskSettings(is_faithful=True))
    assert [score.answer for score in evaluated(faithful, answers).scores] == ["A"] * 3


def test_normalised_labels(workdir: Path) -> None:
    message = infer(PPL, inferencer="dict(type=PPLInferencer, normalizing_str='Answer:')")
    one = quiz(workdir, message)
    option, alone = asks(one)[:2]
    start = len("Q: 2 + 2?\nA:")
    assert (option, alone) == (Span("Q: 2 + 2?\nA: 3", start), Span("Answer: 3", len("Answer:")))
    outcomes = [likely(-5), likely(-5), likely(-6), likely(-9)]
    assert [score.answer for score in evaluated(one, [outcomes] * 3).scores] == ["B"] * 3


def test_a_continuation_after_each_label(workdir: Path) -> None:
    rows = [{**row, "cont": " is right."} for row in ROWS]
    one = quiz(workdir, infer(PPL, inferencer="dict(type='LLInferencer')"), rows=rows)
    text = "Q: 2 + 2?\nA: 3"
    assert asks(one)[0] == Span(f"{text} is right.", len(text))
    with pytest.raises(AuthorError, match="'cont'"):
        quiz(workdir, infer(PPL, inferencer="dict(type='LLInferencer')"))


def test_a_continuation_that_the_template_shows_is_not_said_twice(workdir: Path) -> None:
    # As winogrande has it: the column holds the whole sentence, and `cont` is its end.
    rows = [{**row, "cont": "2?"} for row in ROWS]
    template = "dict(type=PromptTemplate, template={'A': '2? or one: {A} + 2?', 'B': '2? or two: {B} + 2?'})"
    message = infer(PPL, inferencer="dict(type='LLInferencer')", prompt_template=template)
    text = "2? or one: 3 + 2?"
    assert asks(quiz(workdir, message, rows=rows))[0] == Span(text, len(text) - len("2?"))


def test_the_next_token_is_shared_between_choices(workdir: Path) -> None:
    rows = [{**row, "choices": ["A", "B"]} for row in ROWS]
    one = quiz(workdir, infer(inferencer="dict(type='CLPInferencer')"), rows=rows)
    (ask,) = asks(one)
    assert ask == Labels("Q: 2 + 2?\nA:", ((" A", "A"), (" B", "B")))
    result = evaluated(one, [[shared(0.1, 0.3)], [shared(0.1, 0.3)], [shared(0.3, 0.1)]])
    assert [score.value for score in result.scores] == [1.0, 0.0, 0.0]
    with pytest.raises(AuthorError, match="'choices'"):
        quiz(workdir, infer(inferencer="dict(type='CLPInferencer')"))


def test_probabilities_go_to_an_evaluator_that_wants_them(workdir: Path) -> None:
    rows = [{**row, "choices": ["A", "B"], "label": int(row["answer"] == "B")} for row in ROWS]
    reader = "dict(input_columns=['question'], output_column='label')"
    message = infer(inferencer="dict(type='CLPInferencer')")
    one = quiz(workdir, message, {"evaluator": "dict(type='AUCROCEvaluator')"}, rows=rows, reader=reader)
    result = evaluated(one, [[shared(0.1, 0.3)], [shared(0.3, 0.1)], [shared(0.1, 0.1)]])
    assert {metric.metric: metric.value for metric in result.metrics}["auc_score"] == pytest.approx(1.0)


def test_a_probability_that_is_not_known_does_not_go_to_an_evaluator(workdir: Path) -> None:
    rows = [{**row, "choices": ["A", "B"], "label": int(row["answer"] == "B")} for row in ROWS]
    reader = "dict(input_columns=['question'], output_column='label')"
    message = infer(inferencer="dict(type='CLPInferencer')")
    one = quiz(workdir, message, {"evaluator": "dict(type='AUCROCEvaluator')"}, rows=rows, reader=reader)
    open_ = msgspec.structs.replace(shared(0.3, 0.0), at_most=(0.3, 0.2))
    result = evaluated(one, [[shared(0.1, 0.3)], [open_], [shared(0.1, 0.1)]])
    assert [score.verdict for score in result.scores].count(Verdict.FAILED) == 1
    assert "its probability is not known" in (result.scores[1].why or "")


def test_how_likely_a_text_is(workdir: Path) -> None:
    message = infer(inferencer="dict(type='PPLOnlyInferencer')")
    reader = "dict(input_columns=['question'], output_column=None)"
    one = quiz(workdir, message, {"evaluator": "dict(type='AveragePPLEvaluator')"}, reader=reader)
    (ask,) = asks(one)
    assert ask == Span("Q: 2 + 2?\nA: B", 0, scores_first_token=False)
    result = evaluated(one, [[likely(-4, 2)], [likely(-9, 3)], [likely(-1, 1)]])
    assert [score.value for score in result.scores] == [2.0, 3.0, 1.0]


TURNS = [{"dialogue": ["Hi", "And?"], "answer": "x"}]


def test_a_conversation(workdir: Path) -> None:
    message = infer(inferencer="dict(type='ChatInferencer', infer_mode='every')")
    reader = "dict(input_columns=['dialogue'], output_column='answer')"
    one = quiz(workdir, message, {}, rows=TURNS, reader=reader, settings=TaskSettings(is_chat=True))
    (ask,) = asks(one)
    assert (ask.prompt, ask.turns) == ((Message("user", "Hi"),), ("And?",))
    with pytest.raises(AuthorError, match="row 1: turn 1 has no right answer"):
        quiz(workdir, infer(inferencer="dict(type='ChatInferencer')"), {}, rows=TURNS, reader=reader)


def test_without_an_evaluator_answers_are_collected(workdir: Path) -> None:
    result = evaluated(quiz(workdir, GEN, {}), [[written("B")]] * 3)
    assert {score.verdict for score in result.scores} == {Verdict.UNGRADED}
    assert result.scores[0].answer == "B"


def test_the_authors_own_evaluator_and_post_processor(workdir: Path) -> None:
    scoring = {
        "evaluator": "dict(type=QuizEvaluator, bonus=10)",
        "pred_postprocessor": "dict(type=quiz_postprocess)",
    }
    names = ("QuizDataset", "QuizEvaluator", "quiz_postprocess")
    one = quiz(workdir, GEN, scoring, code=OWN_EVALUATOR, names=names)
    result = evaluated(one, [[written(" b, I think")], [written("B")], [Failure("timeout", "late")]])
    assert [score.value for score in result.scores] == [1.0, 0.0, None]
    assert [score.answer for score in result.scores] == ["B", "B", None]
    assert result.scores[0].rule == "post_processing: quiz_postprocess"
    assert {metric.metric: metric.value for metric in result.metrics} == {"length": 12.0}


def test_a_function_may_make_the_evaluator(workdir: Path) -> None:
    code = OWN_EVALUATOR + (
        "\nfrom ais_bench.benchmark.registry import ICL_EVALUATORS\n"
        "ICL_EVALUATORS.register_module(name='Quiz' + str(20), module=lambda: QuizEvaluator(bonus=20))\n"
    )
    one = quiz(workdir, GEN, {"evaluator": "dict(type='Quiz20')"}, code=code)
    result = evaluated(one, [[written("B")]] * 3)
    assert {metric.metric: metric.value for metric in result.metrics} == {"length": 23.0}


def test_an_evaluator_sees_the_columns_that_the_original_adds(workdir: Path) -> None:
    code = (
        "\nfrom opencompass.openicl import BaseEvaluator\n"
        "class Parts(BaseEvaluator):\n"
        "    def score(self, predictions, references, test_set):\n"
        "        assert [row['subdivision'] for row in test_set][0] == 'quiz_test'\n"
        "        return {'sum': sum(test_set['idx']) + 0.5}\n"
    )
    rows = {"train": ROWS, "test": ROWS}
    one = quiz(
        workdir, GEN, {"evaluator": "dict(type=Parts)"}, rows=rows, code=code, names=("QuizDataset", "Parts")
    )
    result = evaluated(one, [[written("B")]] * 3)
    assert {metric.metric: metric.value for metric in result.metrics} == {"sum": 3.5}


def test_an_evaluator_that_asks_for_the_prompts(workdir: Path) -> None:
    code = (
        "\nfrom opencompass.openicl import BaseEvaluator\n"
        "class Told(BaseEvaluator):\n"
        "    def score(self, predictions, references, origin_prompt):\n"
        "        return {'told': sum('Q: ' in one for one in origin_prompt) * 1.5}\n"
    )
    one = quiz(workdir, GEN, {"evaluator": "dict(type=Told)"}, code=code, names=("QuizDataset", "Told"))
    result = evaluated(one, [[written("B")]] * 3)
    assert {metric.metric: metric.value for metric in result.metrics} == {"told": 4.5}


def test_a_post_processor_that_raises_fails_its_row(workdir: Path) -> None:
    code = "\ndef first(text):\n    return text.split()[0]\n"
    scoring = {"evaluator": "dict(type=AccEvaluator)", "pred_postprocessor": "dict(type=first)"}
    one = quiz(workdir, GEN, scoring, code=code, names=("QuizDataset", "first"))
    result = evaluated(one, [[written("B")], [written(" ")], [written("A")]])
    assert [score.verdict for score in result.scores] == [Verdict.SCORED, Verdict.FAILED, Verdict.SCORED]
    assert "IndexError" in (result.scores[1].why or "")


def test_a_named_post_processor_of_predictions_and_right_answers(workdir: Path) -> None:
    scoring = {
        "evaluator": "dict(type=AccEvaluator)",
        "pred_postprocessor": "dict(type='first_option_postprocess', options='AB')",
        "dataset_postprocessor": "dict(type='first-capital')",
    }
    rows = [{**row, "answer": f"it is {row['answer']}."} for row in ROWS]
    one = quiz(workdir, GEN, scoring, rows=rows)
    result = evaluated(one, [[written("The answer is B.")], [written("Answer: B")], [written("no idea")]])
    assert [score.value for score in result.scores] == [1.0, 0.0, None]
    assert result.scores[2].verdict is Verdict.UNANSWERED
    with pytest.raises(AuthorError, match=r"OPENICL-016 .*'optoins'.*did you mean 'options'"):
        quiz(
            workdir,
            GEN,
            scoring | {"pred_postprocessor": "dict(type='first_option_postprocess', optoins='AB')"},
        )


def test_several_answers_to_each_row(workdir: Path) -> None:
    one = quiz(workdir, GEN, more=", n=2, k=2", settings=TaskSettings(temperature=0.5))
    assert asks(one)[0].sampling.n == 2
    result = evaluated(one, [[written("B", "A")], [written("A", "A")], [written("A", "A")]])
    values = {
        name: [score.also.get(name, score.value) for score in result.scores] for name in ("avg@2", "pass@2")
    }
    assert values == {"avg@2": [0.5, 1.0, 0.0], "pass@2": [1.0, 1.0, 0.0]}


def test_self_consistency_votes(workdir: Path) -> None:
    message = infer(
        inferencer="dict(type='SCInferencer', sc_size=3, generation_kwargs=dict(temperature=0.7))"
    )
    one = quiz(workdir, message)
    (ask,) = asks(one)
    assert (ask.sampling.n, ask.sampling.temperature) == (3, 0.7)
    result = evaluated(one, [[written("A", "B", "B")], [written("A", "B", "C")], [written("A", "A", "B")]])
    assert [score.answer for score in result.scores] == ["B", "A", "A"]


def test_examples_stand_before_the_question_and_may_be_fewer(workdir: Path) -> None:
    message = infer(
        ice_template="dict(type=PromptTemplate, template='Q: {question}\\nA: {answer}')",
        prompt_template=(
            "dict(type=PromptTemplate, template='</E>Q: {question}\\nA: {answer}', ice_token='</E>')"
        ),
        retriever="dict(type=FixKRetriever, fix_id_list=[1, 0])",
    )
    rows = {"train": ROWS[:2], "test": ROWS[2:]}
    one = quiz(workdir, message, rows=rows)
    sample = next(one.task.samples())
    (request,) = one.task.requests(sample)
    assert request.ask.prompt == "Q: 3 + 3?\nA: A\nQ: 2 + 2?\nA: B\nQ: 4 + 4?\nA:"
    assert (request.n_shots, request.n_shots_left_out) == (2, 0)
    (shorter,) = one.task.requests(sample, shots=1)
    assert shorter.ask.prompt == "Q: 3 + 3?\nA: A\nQ: 4 + 4?\nA:"
    assert (shorter.n_shots, shorter.n_shots_left_out) == (1, 1)
    assert (
        asks(quiz(workdir, message, rows=rows, settings=TaskSettings(shots=0)))[0].prompt == "Q: 4 + 4?\nA:"
    )


def test_rows_and_examples_without_a_prompt_are_reported_together(workdir: Path) -> None:
    labelled = "{x: '</E>Q: {question}\\nA: {' + x + '}' for x in 'AB'}"
    message = infer(
        PPL,
        ice_template=PPL["prompt_template"],
        prompt_template=f"dict(type=PromptTemplate, template={labelled}, ice_token='</E>')",
        retriever="dict(type=FixKRetriever, fix_id_list=[0, 1, 2])",
    )
    train = [ROWS[0], {**ROWS[1], "answer": "C"}, {**ROWS[2], "answer": "D"}]
    with pytest.raises(AuthorError, match=r"row 2: as an example: no template has the label 'C'") as error:
        quiz(workdir, message, rows={"train": train, "test": ROWS})
    assert [problem.code for problem in error.value.problems] == ["OPENICL-015"] * 2
    empty = [{**ROWS[0], "question": ""}, ROWS[1], {**ROWS[2], "question": ""}]
    dialogue = infer(prompt_template="dict(type=PromptTemplate, template=dict(round=[dict(role='HUMAN', "
                     "prompt='{question}')]))")  # fmt: skip
    with pytest.raises(AuthorError, match="the prompt is empty") as error:
        quiz(workdir, dialogue, rows=empty, settings=TaskSettings(is_chat=True))
    assert [problem.where.row for problem in error.value.problems if problem.where] == [1, 3]


def test_a_person_is_shown_the_prompt_up_to_the_labels(workdir: Path) -> None:
    one = quiz(workdir, PPL)
    assert one.task.preview_prompt(next(one.task.samples()), Method.PPL) == "Q: 2 + 2?\nA:"


def test_the_data_decides_the_hash(workdir: Path) -> None:
    first = quiz(workdir).task.spec.data_hash
    assert quiz(workdir).task.spec.data_hash == first
    assert quiz(workdir, rows=ROWS[:2]).task.spec.data_hash != first


def test_what_changes_the_code_of_an_evaluator_changes_the_spec(workdir: Path) -> None:
    scoring = {"evaluator": "dict(type=QuizEvaluator)"}
    names = ("QuizDataset", "QuizEvaluator")
    first = quiz(workdir, GEN, scoring, code=OWN_EVALUATOR, names=names).task.spec.settings["code"]
    other = quiz(workdir, GEN, scoring, code=OWN_EVALUATOR + "\n# other\n", names=names)
    assert first.keys() == other.task.spec.settings["code"].keys() == {"quiz.py", "quiz_gen.py"}
    assert first["quiz.py"] != other.task.spec.settings["code"]["quiz.py"]


def test_the_record_of_an_entry_does_not_depend_on_others_in_its_config(workdir: Path) -> None:
    (workdir / "other.py").write_text("from .base import BaseDataset\nclass OtherDataset(BaseDataset):\n"
        "    @staticmethod\n    def load(path):\n        from .quiz import QuizDataset\n"
        "        return QuizDataset.load(path)\n")  # fmt: skip
    config = write_quiz(workdir, names=("QuizDataset", "OtherDataset"))
    text = config.read_text()
    config.write_text(
        text + "\nquiz_datasets.insert(0, dict(quiz_datasets[0], type=OtherDataset, abbr='other'))\n"
    )
    both = {one.task.spec.name: one.task.spec.settings["code"] for one in compile_config(config)}
    (alone,) = compile_config(f"{config}:quiz")
    assert alone.task.spec.settings["code"].keys() == both["quiz"].keys() == {"quiz.py", "quiz_gen.py"}
    assert both["other"].keys() == {"other.py", "quiz.py", "quiz_gen.py"}


def test_a_method_that_the_config_is_not_for(workdir: Path) -> None:
    with pytest.raises(AuthorError, match=r"OPENICL-014 .*'ppl' is given.*GenInferencer is for gen"):
        quiz(workdir, settings=TaskSettings(methods=(Method.PPL,)))
    one = quiz(workdir, settings=TaskSettings(methods=(Method.PPL, Method.GEN)))
    assert any("ppl" in note for note in one.notes)


WRONG = {
    "inferencer": ("dict(type='GenInferncer')", "OPENICL-014", "did you mean 'GenInferencer'"),
    "agent": ("dict(type='AgentInferencer')", "OPENICL-014", "calls tools"),
    "argument": ("dict(type=GenInferencer, max_out_lne=3)", "OPENICL-014", "did you mean 'max_out_len'"),
    "value": ("dict(type=GenInferencer, max_out_len='3')", "OPENICL-014", "expected a number"),
    "mode": ("dict(type='ChatInferencer', infer_mode='evry')", "OPENICL-014", "'every'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_inferencers(workdir: Path, name: str) -> None:
    inferencer, code, words = WRONG[name]
    with pytest.raises(AuthorError) as error:
        quiz(workdir, infer(inferencer=inferencer))
    assert code in str(error.value)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("None", "load returned None"),
        ("[{'question': 'a'}]", "load returned a list"),
        ("{'test': 3}", "'test' is a int"),
        ("'rows'", "load returned a str"),
        ("1 / 0", "ZeroDivisionError"),
        ("open('no_such_file')", "no_such_file"),
    ],
)
def test_a_load_that_gives_no_dataset(workdir: Path, returned: str, words: str) -> None:
    code = "\nclass OtherDataset(BaseDataset):\n    @staticmethod\n    def load(path):\n"
    code += f"        return {returned}\n"
    config = write_quiz(workdir, code=code, names=("QuizDataset", "OtherDataset"))
    config.write_text(config.read_text().replace("type=QuizDataset", "type=OtherDataset"))
    with pytest.raises(AuthorError) as error:
        compile_config(config)
    assert words in str(error.value)
    assert "OPENICL-012" in str(error.value)


def test_columns_and_splits_that_are_not_there(workdir: Path) -> None:
    reader = "dict(input_columns=['qestion'], output_column='anwser')"
    with pytest.raises(AuthorError) as error:
        quiz(workdir, reader=reader)
    assert [problem.code for problem in error.value.problems] == ["OPENICL-013"] * 2
    assert "did you mean 'question'" in str(error.value)
    splits = "dict(input_columns=['question'], output_column='answer', test_split='tests')"
    with pytest.raises(AuthorError, match=r"'tests'.*did you mean 'test'"):
        quiz(workdir, rows={"test": ROWS, "train": ROWS}, reader=splits)
    ranges = "dict(input_columns=['question'], output_column='answer', test_range='[5:]')"
    with pytest.raises(AuthorError, match=r"test_range '\[5:\]' selects none of 3"):
        quiz(workdir, reader=ranges)


def test_gaps_in_a_column_are_reported(workdir: Path) -> None:
    one = quiz(workdir, rows=[ROWS[0], {**ROWS[1], "A": None}, {**ROWS[2], "A": None}])
    assert "'A' has no value in 2 of 3 rows: their prompts show None" in one.notes
    assert not any("has no value" in note for note in quiz(workdir).notes)


def test_a_range_of_rows(workdir: Path) -> None:
    reader = "dict(input_columns=['question'], output_column='answer', test_range='[1:]')"
    one = quiz(workdir, reader=reader)
    assert [sample.fields["question"] for sample in one.task.samples()] == ["3 + 3?", "4 + 4?"]
    assert [sample.origin.row for sample in one.task.samples()] == [2, 3]


def test_rows_of_one_question_are_one_cluster(workdir: Path) -> None:
    rows = [{**row, "qid": 7, "circular_pattern": "AB"} for row in ROWS]
    assert {sample.cluster for sample in quiz(workdir, rows=rows).task.samples()} == {"7"}
    assert {sample.cluster for sample in quiz(workdir).task.samples()} == {None}


def test_a_judge_is_shown_the_answer_once(workdir: Path) -> None:
    shown = "dict(round=[dict(role='HUMAN', prompt='{question} {obj_gold} {prediction}')])"
    judge = f"dict(type=PromptTemplate, template={shown})"
    one = quiz(workdir, GEN, {"evaluator": f"dict(type='GenericLLMEvaluator', prompt_template={judge})"})
    (spec,) = one.task.scorers()
    (metric,) = spec.args["author"].metrics
    asked = []

    class Judge:
        def ask(self, prompts: list[Any]) -> list[Any]:
            asked.extend(prompts)
            return [written("A") for _ in prompts]

    metric.bind(Judge())
    result = evaluated(one, [[written("{obj_gold}")], [written("x")], [written("y")]])
    assert asked[0] == (Message("user", "2 + 2? B {obj_gold}"),)
    assert [score.value for score in result.scores] == [1.0] * 3


def test_the_prompt_hash_and_the_differences_are_recorded(workdir: Path) -> None:
    one = quiz(workdir)
    assert len(one.task.spec.settings["prompt_hash"]) == 6
    quirks = {difference.name: difference.here for difference in one.task.spec.differences}
    assert "spaces_at_the_end" in quirks
    faithful = quiz(workdir, settings=TaskSettings(is_faithful=True)).task.spec.differences
    assert {difference.name: difference.here for difference in faithful}[
        "spaces_at_the_end"
    ] == "as the original"
    assert dict(one.facts)["evaluator"] == "AccEvaluator"


def test_a_class_that_a_config_defines_cannot_call_what_it_imports(workdir: Path) -> None:
    config = write_quiz(workdir)
    own = "class QuizDataset:\n    @staticmethod\n    def load(path):\n        return Dataset.from_list([])\n"
    text = config.read_text().replace("import QuizDataset", "import nothing")
    config.write_text(f"from datasets import Dataset\n{own}{text}", encoding="utf-8")
    with pytest.raises(AuthorError, match=r"OPENICL-012 .*QuizDataset: it is defined in a config") as error:
        compile_config(config)
    assert "in a file next to the config" in error.value.problems[0].fix
