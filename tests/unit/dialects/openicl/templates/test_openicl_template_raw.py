import pytest

from assay.core.prompt import Message
from assay.dialects.openicl.templates.meta import read_meta_template
from assay.dialects.openicl.templates.rendering import RenderOptions
from assay.dialects.openicl.templates.template_parsing import TemplateSpec
from assay.dialects.openicl.templates.templates import Templates
from assay.dialects.shared.template import TemplateFailure

ROW = {"question": "1+1?", "answer": "2", "history": [{"role": "user", "content": "{question}"}]}
SHOT = {"question": "2+2?", "answer": "4"}
SYSTEM = {"role": "system", "content": "Solve."}
USER = {"role": "user", "content": "Q: {question}"}
BOT = {"role": "assistant", "content": "A: {answer}"}
CHAT = RenderOptions(is_chat=True)


def raw(messages: list[object], **more: object) -> TemplateSpec:
    return TemplateSpec("RawPromptTemplate", {"messages": messages, **more})


def templates(
    prompt: TemplateSpec, ice: TemplateSpec | None = None, rendering: RenderOptions = CHAT
) -> Templates:
    return Templates(prompt, ice, output_column="answer", rendering=rendering)


def test_messages_are_shown_as_they_are_with_examples_in_their_place() -> None:
    made = templates(raw([SYSTEM, "</E>", USER]), raw([USER, BOT]))
    assert made.problems(["question", "answer"], has_shots=True) == []
    assert made.generation(ROW, [SHOT]) == (
        Message("system", "Solve."),
        Message("user", "Q: 2+2?"),
        Message("assistant", "A: 4"),
        Message("user", "Q: 1+1?"),
    )
    assert made.format == "messages"


def test_the_right_answer_is_shown_by_the_original_alone() -> None:
    prompt = raw([USER, BOT])
    assert templates(prompt).generation(ROW) == (Message("user", "Q: 1+1?"), Message("assistant", "A: "))
    faithful = templates(prompt, rendering=CHAT._replace(is_faithful=True))
    assert faithful.generation(ROW) == (Message("user", "Q: 1+1?"), Message("assistant", "A: 2"))
    difference = faithful.differences(is_labelled=False)["raw_gold"]
    assert difference.is_reproduced


def test_a_column_of_messages_is_put_in_unfilled() -> None:
    made = templates(raw([{"expand_column": "history"}, {"role": "assistant", "content": ""}]))
    assert made.generation(ROW) == (Message("user", "{question}"),)
    (fault,) = made.problems(["question", "histories"], has_shots=False)
    assert (
        "expand_column names 'history', but there is no such column (did you mean 'histories'?)" in fault.what
    )


@pytest.mark.parametrize(
    "value", [None, "text", [{"role": "robot", "content": "x"}], [{"role": "user"}], ["x"]]
)
def test_a_column_of_something_else_is_a_failure(value: object) -> None:
    with pytest.raises(TemplateFailure, match="'history' has"):
        templates(raw([{"expand_column": "history"}])).generation({"history": value})


def test_variables_need_not_be_filled() -> None:
    assert templates(raw([USER], format_variables=False)).generation(ROW) == (
        Message("user", "Q: {question}"),
    )


def test_models_that_read_text_see_turns() -> None:
    base = RenderOptions(is_chat=False)
    assert templates(raw([SYSTEM, USER]), rendering=base).generation(ROW) == "Solve.\nQ: 1+1?"
    meta = read_meta_template(
        {
            "round": [
                {"role": "HUMAN", "begin": "<H>", "end": "</H>"},
                {"role": "BOT", "begin": "<B>", "generate": True},
            ]
        },
        [],
    )
    assert templates(raw([SYSTEM, USER]), rendering=RenderOptions(False, meta)).generation(ROW) == (
        "<H>Solve.</H><H>Q: 1+1?</H><B>"
    )


def test_messages_of_the_model_are_merged_in() -> None:
    meta = read_meta_template(
        [{"role": "system", "content": "Be brief. "}, {"role": "assistant", "content": "ok"}], []
    )
    made = templates(raw([SYSTEM, USER]), rendering=RenderOptions(True, meta))
    assert made.generation(ROW) == (
        Message("system", "Be brief. Solve."),
        Message("assistant", "ok"),
        Message("user", "Q: 1+1?"),
    )


def test_a_label_is_in_the_output_column_and_examples_are_shown() -> None:
    made = templates(raw(["</E>", USER, BOT]), raw([USER, BOT]))
    prompt, start, _ = made.render_label(ROW, [SHOT], "3")
    assert prompt[-3:] == (
        Message("assistant", "A: 4"),
        Message("user", "Q: 1+1?"),
        Message("assistant", "A: 3"),
    )
    assert start == len("A:")
    text = templates(raw([USER, BOT]), rendering=RenderOptions(is_chat=False)).render_label(ROW, (), "3")
    assert text[:2] == ("Q: 1+1?\nA: 3", len("Q: 1+1?\nA:"))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("some text", "is the text 'some text', which is not the ice_token '</E>'"),
        ({"role": "usr", "content": "x"}, "(did you mean 'user'?)"),
        ({"role": "user", "content": 1}, "the content of messages[0] is a int"),
        ({"role": "user", "content": "x", "cntent": "x"}, "unknown key 'cntent'"),
        (1, "messages[0] is a int"),
    ],
)
def test_what_is_wrong_with_a_message_is_said(message: object, expected: str) -> None:
    faults = templates(raw([message])).problems([], has_shots=False)
    assert any(expected in fault.what for fault in faults), faults


def test_examples_need_a_place_and_a_template_of_messages() -> None:
    (fault,) = templates(raw([USER]), raw([USER, BOT])).problems(["question", "answer"], has_shots=True)
    assert fault.what == "prompt_template has no place for the retrieved examples"
    text = TemplateSpec("PromptTemplate", {"template": "{question}"})
    (fault,) = templates(raw(["</E>", USER]), text).problems(["question", "answer"], has_shots=True)
    assert "consists of messages, the other does not" in fault.what
