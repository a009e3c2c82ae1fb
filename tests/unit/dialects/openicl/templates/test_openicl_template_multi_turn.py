import pytest

from assay.core.prompt import Message
from assay.dialects.openicl.templates.multi_turn import Exchange
from assay.dialects.openicl.templates.rendering import RenderOptions
from assay.dialects.openicl.templates.template_parsing import TemplateSpec
from assay.dialects.openicl.templates.templates import Templates
from assay.dialects.shared.template import TemplateFailure

ROW = {"question": ["a?", "b?"], "answer": ["A", "B"], "topic": "letters"}


def multi(human: str = "{question}", bot: str = "{answer}", *, is_faithful: bool = False) -> Templates:
    template = {
        "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "About {topic}."}],
        "round": [{"role": "HUMAN", "prompt": human}, {"role": "BOT", "prompt": bot}],
    }
    return Templates(
        TemplateSpec("MultiTurnPromptTemplate", {"template": template}),
        None,
        output_column="answer",
        rendering=RenderOptions(is_chat=True, is_faithful=is_faithful),
    )


def test_lists_are_turns() -> None:
    made = multi()
    assert made.format == "multi-turn"
    assert made.turns(ROW) == [Exchange("a?", "A"), Exchange("b?", "B")]
    system, first = Message("system", "About letters."), Message("user", "a?")
    assert made.generation(ROW) == (system, first)
    assert made.render_turn(ROW, 1) == (
        system,
        first,
        Message("assistant", "A"),
        Message("user", "b?"),
    )


def test_other_columns_are_filled_and_answers_may_be_missing() -> None:
    made = multi("{q} ({topic})", "{a}")
    assert made.turns({"q": ["a?"], "a": [], "topic": "x"}) == [Exchange("a? (x)", None)]


def test_lists_of_different_lengths_are_a_failure_and_the_original_drops_turns() -> None:
    row = {**ROW, "answer": ["A"]}
    with pytest.raises(TemplateFailure, match="different lengths"):
        multi().turns(row)
    faithful = multi(is_faithful=True)
    assert faithful.turns(row) == [Exchange("a?", "A")]
    # The original fills nothing outside the round.
    assert faithful.generation(ROW) == (Message("user", "About {topic}.\na?\n"),)
    assert "turns_of_two_columns" in faithful.differences(is_labelled=False)


def test_a_row_without_lists_is_a_failure() -> None:
    with pytest.raises(TemplateFailure, match="no column of the round is a list"):
        multi().turns({"question": "a?", "answer": "A"})


def test_labels_and_examples_have_no_place() -> None:
    with pytest.raises(TemplateFailure, match="several turns"):
        multi().render_label(ROW, (), "A")
    ice = TemplateSpec("PromptTemplate", {"template": "{question}"})
    template = TemplateSpec("MultiTurnPromptTemplate", {"template": {"round": [{"role": "HUMAN"}]}})
    made = Templates(template, ice, output_column=None, rendering=RenderOptions(is_chat=True))
    (fault,) = made.problems(["question"], has_shots=True)
    assert fault.what == "a multi-turn template does not support examples"
