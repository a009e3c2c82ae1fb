"""The exact requests to a model, and the parts of the config and data that decide them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.prompt import Message
from assay.core.request import Generate, Request, Span
from assay.core.task import TaskSettings
from fakes.configs import GEN, PPL, ROWS, compile_config, evaluated, likely, quiz, write_quiz, written

ICE = "dict(type=PromptTemplate, template='Q: {question}\\nA: {answer}')"
BELOW = "dict(type=PromptTemplate, template='</E>Q: {question}\\nA: {answer}', ice_token='</E>')"
SHOWN = {**GEN, "ice_template": ICE, "prompt_template": BELOW}
SPLITS = {"train": ROWS, "test": [{**row, "question": f"Is {row['question']}"} for row in ROWS]}


def requests(one: Any, number: int = 0) -> list[Request]:
    return list(one.task.requests(list(one.task.samples())[number]))


def test_an_option_without_the_question_shows_no_examples(workdir: Path) -> None:
    labels = {label: f"</E>Q: {{question}}\\nA: {{{label}}}" for label in "AB"}
    message = {
        "ice_template": ICE,
        "prompt_template": f"dict(type=PromptTemplate, template={labels!r}, ice_token='</E>')",
        "retriever": "dict(type=FixKRetriever, fix_id_list=[0, 1])",
        "inferencer": "dict(type=PPLInferencer, normalizing_str='Answer:')",
    }
    asked = requests(quiz(workdir, message, rows=SPLITS))
    assert [(one.role, one.n_shots) for one in asked] == [("option", 2), ("unconditional", 0)] * 2
    fewer = quiz(workdir, message, rows=SPLITS).task
    made = fewer.requests(next(fewer.samples()), shots=1)
    assert [one.n_shots_left_out for one in made] == [1, 0, 1, 0]


def test_line_breaks_at_the_end_of_a_prompt_stay(workdir: Path) -> None:
    message = {
        **GEN,
        "prompt_template": "dict(type=PromptTemplate, template='Q: {question}\\nA:\\n {answer}')",
    }
    (request,) = requests(quiz(workdir, message))
    assert request.ask.prompt == "Q: 2 + 2?\nA:\n"


def test_a_chat_scores_the_label_alone_also_in_a_plain_text(workdir: Path) -> None:
    # A template of one text is shown to a chat as one; no turn of the model holds the answer.
    asked = requests(quiz(workdir, PPL, settings=TaskSettings(is_chat=True)))
    assert [request.ask for request in asked] == [
        Span(f"Q: 2 + 2?\nA: {text}", len("Q: 2 + 2?\nA:")) for text in "34"
    ]


def shown_to(workdir: Path, message: Mapping[str, str], settings: TaskSettings, ranged: str) -> list[str]:
    reader = f"dict(input_columns=['question'], output_column='answer'{ranged})"
    one = quiz(workdir, message, rows=SPLITS, reader=reader, settings=settings)
    return [str(request.ask.prompt) for sample in one.task.samples() for request in one.task.requests(sample)]


def test_a_range_leaves_each_row_the_examples_that_the_original_drew_for_it(workdir: Path) -> None:
    message = {**SHOWN, "retriever": "dict(type='RandomRetriever', ice_num=1, seed=3)"}
    for settings in (TaskSettings(is_faithful=True), TaskSettings()):
        every = shown_to(workdir, message, settings, "")
        assert shown_to(workdir, message, settings, ", test_range='[1:]'") == every[1:]


def test_the_rows_that_examples_are_from_decide_the_hash_where_any_are_shown(workdir: Path) -> None:
    fixed = {**SHOWN, "retriever": "dict(type=FixKRetriever, fix_id_list=[0])"}
    other = {**SPLITS, "train": ROWS[::-1]}
    hashes = [
        [quiz(workdir, message, rows=rows).task.spec.data_hash for rows in (SPLITS, other)]
        for message in (fixed, GEN)
    ]
    assert hashes[0][0] != hashes[0][1]
    assert hashes[1][0] == hashes[1][1]


def test_examples_are_never_from_another_split_than_the_one_that_is_named(workdir: Path) -> None:
    fixed = {**SHOWN, "retriever": "dict(type=FixKRetriever, fix_id_list=[0])"}
    for rows in ({"test": ROWS}, {"test": ROWS, "validation": ROWS}):
        with pytest.raises(AuthorError, match=r"OPENICL-013 .*train_split is 'train', which does not exist"):
            quiz(workdir, fixed, rows=rows)
        assert len(requests(quiz(workdir, GEN, rows=rows))) == 1
    assert requests(quiz(workdir, fixed, rows=ROWS), 1)[0].n_shots == 1


def test_examples_are_numbered_within_their_range(workdir: Path) -> None:
    fixed = {**SHOWN, "retriever": "dict(type=FixKRetriever, fix_id_list=[0])"}
    (first, *_) = shown_to(workdir, fixed, TaskSettings(), ", train_range='[1:]'")
    assert first.startswith("Q: 3 + 3?\nA: A\n")


def test_a_class_that_loads_from_the_hub_says_how_to_fix_its_errors(workdir: Path) -> None:
    config = write_quiz(workdir)
    code = (workdir / "quiz.py").read_text(encoding="utf-8")
    asking = "import datasets\n        datasets.load_dataset('org/nowhere')\n        rows ="
    (workdir / "quiz.py").write_text(code.replace("rows =", asking, 1), encoding="utf-8")
    with pytest.raises(AuthorError, match=r"HUB-008 hf://org/nowhere: .* cannot be reached"):
        compile_config(config)


def test_media_have_no_place_for_examples(workdir: Path) -> None:
    shown = "dict(round=[dict(role='HUMAN', prompt_mm=dict(text=dict(type='text', text='{question}')))])"
    message = {**SHOWN, "prompt_template": f"dict(type='MMPromptTemplate', template={shown})"}
    rows = [{**row, "content": "<AIS_TEXT_START>Why?<AIS_CONTENT_TAG>"} for row in ROWS]
    fixed = {**message, "retriever": "dict(type=FixKRetriever, fix_id_list=[0])"}
    with pytest.raises(
        AuthorError, match=r"OPENICL-015 .*FixKRetriever selects examples, but MMPromptTemplate"
    ):
        quiz(workdir, fixed, rows=rows, settings=TaskSettings(is_chat=True))


def test_labels_of_the_inferencer_go_before_those_of_the_template(workdir: Path) -> None:
    message = {**PPL, "inferencer": "dict(type=PPLInferencer, labels=['B', 'A'])"}
    one = quiz(workdir, message)
    assert next(one.task.samples()).labels == ("B", "A")
    assert [request.ask.prompt[-1] for request in requests(one)] == ["4", "3"]


def test_two_labels_of_one_name_cannot_be_distinguished(workdir: Path) -> None:
    message = {**PPL, "prompt_template": "dict(type=PromptTemplate, template={1: 'yes', '1': 'no'})"}
    with pytest.raises(AuthorError, match=r"OPENICL-015 .*two labels have the same name '1'"):
        quiz(workdir, message)


def test_every_row_has_the_text_that_is_scored_behind_its_labels(workdir: Path) -> None:
    rows = [{**row, "cont": None if at == 1 else "!"} for at, row in enumerate(ROWS)]
    with pytest.raises(AuthorError, match=r"OPENICL-013 .*row 2: LLInferencer .*'cont', which is None"):
        quiz(workdir, {**PPL, "inferencer": "dict(type='LLInferencer')"}, rows=rows)


def test_the_persons_length_goes_before_the_rows_own(workdir: Path) -> None:
    rows = [{**row, "max_out_len": 5} for row in ROWS]
    reader = "dict(input_columns=['question', 'max_out_len'], output_column='answer')"
    (request,) = requests(quiz(workdir, rows=rows, reader=reader, settings=TaskSettings(max_tokens=9)))
    assert isinstance(request.ask, Generate)
    assert request.ask.sampling.max_tokens == 9


def sampling(workdir: Path, inferencer: str, settings: TaskSettings | None = None, more: str = "") -> Any:
    message = {**GEN, "inferencer": inferencer}
    (request,) = requests(quiz(workdir, message, settings=settings or TaskSettings(), more=more))
    assert isinstance(request.ask, Generate)
    return request.ask.sampling


def test_what_says_how_texts_are_drawn(workdir: Path) -> None:
    warm = "dict(type=GenInferencer, generation_kwargs=dict(do_sample=True, temperature=0.6))"
    assert sampling(workdir, warm).temperature == 0.6
    assert sampling(workdir, warm, TaskSettings(seed=5)).seed == 5
    assert sampling(workdir, warm, TaskSettings(temperature=0.0, seed=5)).seed is None
    assert sampling(workdir, warm.replace("True", "False")).temperature == 0.0
    assert sampling(workdir, "dict(type=GenInferencer, do_sample=True)").temperature == 1.0


def test_how_often_a_row_is_asked(workdir: Path) -> None:
    several = "dict(type=GenInferencer, generation_kwargs=dict(num_return_sequences=3, temperature=1.0))"
    assert sampling(workdir, several, more=", n=2").n == 3
    assert sampling(workdir, several, TaskSettings(samples=4), more=", n=2").n == 4
    assert sampling(workdir, "dict(type=GenInferencer, temperature=1.0)", more=", n=2").n == 2


def test_the_models_own_length_counts_where_nobody_else_says_one(workdir: Path) -> None:
    own = TaskSettings(dataset_args={"max_out_len": "33"})
    assert sampling(workdir, "dict(type=GenInferencer)", own).max_tokens == 33
    assert sampling(workdir, "dict(type=GenInferencer, max_out_len=7)", own).max_tokens == 7


def test_of_a_length_for_each_turn_the_largest_counts(workdir: Path) -> None:
    assert sampling(workdir, "dict(type=GenInferencer, max_out_len=[5, 64, 9])").max_tokens == 64


def test_votes_are_of_answers_and_the_first_of_equals_wins(workdir: Path) -> None:
    message = {**GEN, "inferencer": "dict(type='SCInferencer', sc_size=4, temperature=1.0)"}
    scoring = {
        "evaluator": "dict(type=AccEvaluator)",
        "pred_postprocessor": "dict(type='first_option_postprocess', options='AB')",
    }
    result = evaluated(
        quiz(workdir, message, scoring),
        [
            [written("?", "?", "?", "answer: B")],
            [written("answer: B", "answer: A", "answer: A", "answer: B")],
            [written("?", "?", "?", "?")],
        ],
    )
    assert [score.answer for score in result.scores] == ["B", "B", None]


def test_a_conversation_begins_with_what_the_system_says(workdir: Path) -> None:
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    one = quiz(
        workdir,
        {**GEN, "inferencer": "dict(type='ChatInferencer', infer_mode='every')"},
        {},
        rows=[{"talk": talk, "answer": "x"}],
        reader="dict(input_columns=['talk'], output_column='answer')",
        settings=TaskSettings(is_chat=True),
    )
    (request,) = requests(one)
    assert request.ask.prompt == (Message("system", "Be brief."), Message("user", "Hi"))


def test_a_continuation_is_scored_by_its_sum(workdir: Path) -> None:
    rows = [{**row, "cont": " is right."} for row in ROWS]
    one = quiz(workdir, {**PPL, "inferencer": "dict(type='LLInferencer')"}, rows=rows)
    # Two tokens of -2 each are less likely than one of -3, though each of them is more likely.
    assert [score.answer for score in evaluated(one, [[likely(-4, 2), likely(-3, 1)]] * 3).scores] == [
        "B"
    ] * 3
