from __future__ import annotations

import pytest

from assay.core.prompt import Message, Role
from assay.dialects.shared.dialogue import Dialogue, RoleMarks, TemplateTurn
from assay.dialects.shared.template import compile_template


def dialogue(*turns: tuple[Role, str]) -> Dialogue:
    return Dialogue([TemplateTurn(role, compile_template(text)) for role, text in turns], "answer")


QUESTION = {"q": "1+1=?", "answer": "2"}
SHOT = {"q": "2+2=?", "answer": "4"}


def test_the_space_before_an_answer_belongs_to_the_answer() -> None:
    opening = dialogue(("user", "Q: {q}"), ("assistant", "Answer: {answer}")).render_opening(
        QUESTION, [], chat=False
    )
    assert opening.context == "Q: 1+1=?\nAnswer:"
    assert opening.followed_by("2") == ("Q: 1+1=?\nAnswer: 2", len("Q: 1+1=?\nAnswer:"))
    assert opening.generation == "Q: 1+1=?\nAnswer:"
    assert opening.verbatim == "Q: 1+1=?\nAnswer: "
    assert opening.build_label_prompt() == "Q: 1+1=?\nAnswer:"


def test_a_template_without_a_place_for_the_answer_gets_a_space() -> None:
    opening = dialogue(("user", "Q: {q}\nAnswer:")).render_opening(QUESTION, [], chat=False)
    assert opening.followed_by("2") == ("Q: 1+1=?\nAnswer: 2", len("Q: 1+1=?\nAnswer:"))


def test_a_template_that_ends_in_a_newline_gets_no_space() -> None:
    opening = dialogue(("user", "Q: {q}\nAnswer:\n")).render_opening(QUESTION, [], chat=False)
    assert opening.followed_by("2")[0] == "Q: 1+1=?\nAnswer:\n2"


def test_an_inline_answer_cuts_the_template_there() -> None:
    opening = dialogue(("user", "Q: {q} A: {answer}.")).render_opening(QUESTION, [], chat=False)
    assert opening.context == "Q: 1+1=? A:"


def test_a_turn_that_is_only_the_answer_adds_nothing_to_a_bare_question() -> None:
    talk = dialogue(("user", "{q}"), ("assistant", "{answer}"))
    assert talk.render_opening(QUESTION, [], chat=False).generation == "1+1=?"
    assert talk.render_opening(QUESTION, [], chat=False).followed_by("2")[0] == "1+1=?\n2"
    assert talk.render_opening(QUESTION, [SHOT], chat=False).generation == "2+2=?\n4\n\n1+1=?\n"


def test_shots_stand_before_the_question_as_text() -> None:
    talk = dialogue(("user", "Q: {q}"), ("assistant", "Answer: {answer}"))
    assert (
        talk.render_opening(QUESTION, [SHOT], chat=False).context
        == "Q: 2+2=?\nAnswer: 4\n\nQ: 1+1=?\nAnswer:"
    )


def test_a_chat_begins_the_reply_for_scoring_and_leaves_it_to_the_model_for_generation() -> None:
    talk = dialogue(("system", "Be brief."), ("user", "Q: {q}"), ("assistant", "Answer: {answer}"))
    opening = talk.render_opening(QUESTION, [SHOT], chat=True)
    history = (
        Message("system", "Be brief."),
        Message("user", "Q: 2+2=?"),
        Message("assistant", "Answer: 4"),
        Message("user", "Q: 1+1=?"),
    )
    assert opening.generation == history
    assert opening.build_label_prompt() == (*history, Message("assistant", "Answer:"))
    prompt, start = opening.followed_by("2")
    assert prompt == (*history, Message("assistant", "Answer: 2"))
    assert start == len("Answer:")


def test_a_chat_without_a_begun_reply() -> None:
    opening = dialogue(("user", "{q}"), ("assistant", "{answer}")).render_opening(QUESTION, [], chat=True)
    assert opening.build_label_prompt() == (Message("user", "1+1=?"),)
    assert opening.followed_by("2") == ((Message("user", "1+1=?"), Message("assistant", "2")), 0)


def test_neighbours_of_one_role_become_one_message_and_empty_turns_vanish() -> None:
    talk = dialogue(("user", "one"), ("user", ""), ("user", "{q}"))
    assert talk.render_opening(QUESTION, [], chat=True).generation == (Message("user", "one\n1+1=?"),)


def test_no_system_turn_of_a_chat_is_lost() -> None:
    talk = dialogue(
        ("user", "Read this."),
        ("system", "Be brief. "),
        ("system", "Today: {q}"),
        ("user", "Q: {q}"),
        ("assistant", "{answer}"),
    )
    assert talk.render_opening(QUESTION, [SHOT], chat=True).history == (
        Message("system", "Be brief.\nToday: 1+1=?"),
        Message("user", "Read this.\nQ: 2+2=?"),
        Message("assistant", "4"),
        Message("user", "Read this.\nQ: 1+1=?"),
    )


@pytest.mark.parametrize("marks", [None, RoleMarks("<s>", {"user": ("[", "]"), "assistant": ("(", ")")})])
@pytest.mark.parametrize("chat", [False, True])
def test_several_questions_can_follow_the_same_rendered_examples(marks: RoleMarks | None, chat: bool) -> None:
    turns = [
        TemplateTurn("system", compile_template("Solve.")),
        TemplateTurn("user", compile_template("{q}")),
    ]
    talk = Dialogue([*turns, TemplateTurn("assistant", compile_template("= {answer}"))], "answer", marks)
    examples = talk.render_examples([SHOT, QUESTION], chat=chat)
    for question in (QUESTION, {"q": "3+3=?"}):
        alone = talk.render_opening(question, [SHOT, QUESTION], chat=chat)
        assert talk.render_after(examples, question) == alone
