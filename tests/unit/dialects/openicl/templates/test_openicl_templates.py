from collections.abc import Hashable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.prompt import Message, Prompt, final_text
from assay.dialects.openicl.templates.meta import CHAT_META_TEMPLATE as CHAT_OF_ALL
from assay.dialects.openicl.templates.meta import MetaRole, MetaTemplate, read_meta_template
from assay.dialects.openicl.templates.rendering import RenderOptions
from assay.dialects.openicl.templates.template_parsing import TemplateSpec
from assay.dialects.openicl.templates.templates import Templates
from assay.dialects.shared.template import TemplateFailure


def meta(**message: Any) -> MetaTemplate:
    found = read_meta_template(message, [])
    assert found is not None
    return found


LM = meta(
    begin="<s>",
    round=[
        {"role": "HUMAN", "begin": "<H>", "end": "</H>\n"},
        {"role": "BOT", "begin": "<B>", "end": "</B>\n", "generate": True},
    ],
    end="<END>",
)
API = meta(
    round=[{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]
)
API_WITH_SYSTEM = API._replace(reserved=(MetaRole("SYSTEM", "SYSTEM"),))
BASE, BASE_META = RenderOptions(False), RenderOptions(False, LM)
CHAT, LOCAL, SERVICE = RenderOptions(True), RenderOptions(True, None, True), RenderOptions(True, API, True)
SERVICE_WITH_SYSTEM = RenderOptions(True, API_WITH_SYSTEM, True)

ROW = {"question": "1+1=?", "A": "1", "B": "2", "answer": "B"}
TURNS = {
    "round": [
        {"role": "HUMAN", "prompt": "Question: {question}\nA. {A}\nB. {B}"},
        {"role": "BOT", "prompt": "Answer: {answer}"},
    ]
}
ASKED = "Question: 1+1=?\nA. 1\nB. 2"


def templates(
    prompt: Any, ice: Any = None, rendering: RenderOptions = BASE, *, token: str | None = None, **more: Any
) -> Templates:
    """Make templates; the token is the prompt's, or that of an ice template alone."""
    message = [None if one is None else {"template": one} for one in (prompt, ice)]
    owner = message[0] if message[0] is not None else message[1]
    if token and owner is not None:
        owner["ice_token"] = token
    specs = [None if one is None else TemplateSpec("PromptTemplate", one) for one in message]
    return Templates(*specs, output_column="answer", rendering=rendering, **more)


def chat(*message: str) -> Prompt:
    """Return messages from texts such as `u hello`, `s` for the system and `a` for the assistant."""
    names = {"u": "user", "a": "assistant", "s": "system"}
    return tuple(Message(names[one[0]], one[2:]) for one in message)  # type: ignore[arg-type]


# A question and its answer, as each kind of model is shown it.


@pytest.mark.parametrize(
    ("rendering", "expected"),
    [
        (BASE, f"{ASKED}\nAnswer: "),
        (BASE._replace(is_faithful=True), f"{ASKED}\nAnswer: "),
        (BASE_META, f"<s><H>{ASKED}</H>\n<B>"),
        (SERVICE, chat(f"u {ASKED}")),
        (LOCAL, chat(f"u {ASKED}\n")),
        (CHAT, chat(f"u {ASKED}")),
        (LOCAL._replace(joins_turns=True), chat(f"u {ASKED}\nAnswer: ")),
        (CHAT._replace(joins_turns=True), chat(f"u {ASKED}")),
    ],
)
def test_a_dialogue_to_continue_from(rendering: RenderOptions, expected: Prompt) -> None:
    assert templates(TURNS, rendering=rendering).generation(ROW) == expected


def test_a_dialogue_with_the_answer_in_it() -> None:
    prompt, start, _ = templates(TURNS, rendering=BASE_META).render_label(ROW, (), "B")
    assert prompt == f"<s><H>{ASKED}</H>\n<B>Answer: B</B>\n<END>"
    assert prompt[start:] == " B</B>\n<END>"
    assert templates(TURNS, rendering=CHAT).render_label(ROW, (), "A") == (
        chat(f"u {ASKED}", "a Answer: A"),
        len("Answer:"),
        None,
    )


SOLVE = {"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Solve."}
TWO_TURNS = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
SHOT = {"question": "2+2=?", "answer": "4"}
QUERY = {"question": "1+1=?", "answer": "2"}


@pytest.mark.parametrize(
    ("rendering", "expected"),
    [
        (BASE, "Solve.\n2+2=?\n4\n1+1=?"),
        (BASE_META, "<s><H>Solve.</H>\n<H>2+2=?</H>\n<B>4</B>\n<H>1+1=?</H>\n<B>"),
        (SERVICE, chat("u Solve.\n2+2=?", "a 4", "u 1+1=?")),
        (SERVICE_WITH_SYSTEM, chat("s Solve.", "u 2+2=?", "a 4", "u 1+1=?")),
        (LOCAL, chat("u Solve.\n2+2=?\n", "a 4", "u 1+1=?\n")),
        (CHAT, chat("s Solve.", "u 2+2=?", "a 4", "u 1+1=?")),
        (LOCAL._replace(joins_turns=True), chat("u Solve.\n2+2=?\n4\n1+1=?")),
    ],
)
def test_a_dialogue_with_an_example(rendering: RenderOptions, expected: Prompt) -> None:
    prompt = {"begin": [SOLVE, "</E>"], "round": TWO_TURNS}
    for made in (
        templates(prompt, {"round": TWO_TURNS}, rendering, token="</E>"),
        templates(None, prompt, rendering, token="</E>"),
    ):
        assert made.problems(["question", "answer"], has_shots=True) == []
        assert made.generation(QUERY, [SHOT]) == expected


def test_a_text_with_examples() -> None:
    made = templates("Solve.\n</E>Q: {question}\nA: {answer}", "Q: {question}\nA: {answer}", token="</E>")
    shots = [SHOT, {"question": "3+3=?", "answer": "6"}]
    whole = "Solve.\nQ: 2+2=?\nA: 4\nQ: 3+3=?\nA: 6\nQ: 1+1=?\nA: "
    assert made.generation(QUERY, shots) == whole
    assert made.generation(QUERY, shots[:1]) == "Solve.\nQ: 2+2=?\nA: 4\nQ: 1+1=?\nA: "
    assert made.generation(QUERY) == "Solve.\nQ: 1+1=?\nA: "
    assert made.render_label(QUERY, shots, "7") == (f"{whole}7", len(whole) - 1, None)
    assert made.format == "string format"


def test_a_role_that_the_dialogue_does_not_have_says_its_default() -> None:
    thinking = meta(
        round=[
            {"role": "HUMAN", "begin": "H:", "end": "\n"},
            {"role": "THOUGHTS", "begin": "T:", "end": "\n", "prompt": "None"},
            {"role": "BOT", "begin": "B:", "end": "\n", "generate": True},
        ]
    )
    turns = [("HUMAN", "a"), ("BOT", "b"), ("HUMAN", "c"), ("BOT", "{answer}")]
    template = {"round": [{"role": role, "prompt": prompt} for role, prompt in turns]}
    made = templates(template, rendering=RenderOptions(False, thinking))
    assert made.generation(QUERY) == "H:a\nT:None\nB:b\nH:c\nT:None\nB:"


def test_a_text_is_said_by_the_user_in_a_chat() -> None:
    assert templates("Q: {question} {answer}", rendering=CHAT).generation(QUERY) == chat("u Q: 1+1=? ")
    assert templates("{question}{answer}", replace_token="?").generation(QUERY) == "1+1=??"


# Where the original is not followed.


def test_system_in_a_round_is_a_turn_of_its_own() -> None:
    template = {"round": [SOLVE, *TWO_TURNS]}
    expected: list[tuple[RenderOptions, Prompt]] = [
        (CHAT, chat("s Solve.", "u 1+1=?")),
        (RenderOptions(True, API), chat("u Solve.\n1+1=?")),
        (BASE_META, "<s><H>Solve.</H>\n<H>1+1=?</H>\n<B>"),
        (BASE_META._replace(is_faithful=True), "<s><H>Solve.</H>\n<H>1+1=?</H>\n<B>"),
        (SERVICE, chat("u Solve.", "a ", "u 1+1=?")),
        (SERVICE_WITH_SYSTEM, chat("u ", "a ", "u 1+1=?")),
    ]
    for rendering, prompt in expected:
        assert templates(template, rendering=rendering).generation(QUERY) == prompt
    bare = {"round": [{"role": "SYSTEM", "prompt": "Solve."}, *TWO_TURNS]}
    assert templates(bare, rendering=RenderOptions(True, API)).generation(QUERY) == chat("u Solve.\n1+1=?")
    alone = {"round": [SOLVE, TWO_TURNS[1]]}
    assert templates(alone, rendering=BASE_META).generation(QUERY) == "<s><H>Solve.</H>\n<B>"


def test_texts_outside_the_turns_are_the_users_words_in_a_chat() -> None:
    template = {"begin": ["Look:", "</E>", "\n"], "round": TWO_TURNS}
    assert templates(None, template, CHAT, token="</E>").generation(QUERY, [SHOT]) == chat(
        "u Look:\n2+2=?", "a 4", "u 1+1=?"
    )
    assert templates(None, template, LOCAL, token="</E>").generation(QUERY, [SHOT]) == chat(
        "u 2+2=?\n", "a 4", "u 1+1=?\n"
    )


def test_no_examples_leave_nothing_behind() -> None:
    dialogue = {"begin": "</E>", "round": TWO_TURNS}
    assert templates(None, dialogue, token="</E>").generation(QUERY) == "1+1=?"
    assert (
        templates(None, dialogue, RenderOptions(False, None, True), token="</E>").generation(QUERY)
        == "\n1+1=?"
    )
    assert templates(None, "</E>{question}", token="</E>").generation(QUERY) == "1+1=?"
    assert templates(None, "</E>{question}", RenderOptions(False, None, True), token="</E>").generation(
        QUERY
    ) == ("\n1+1=?")


def test_texts_within_a_round_stay_in_their_place_before_a_model_with_a_meta_template() -> None:
    template = {"round": [TWO_TURNS[0], "(think)", {"role": "BOT", "prompt": "b"}, "(next)", *TWO_TURNS]}
    assert templates(template, rendering=BASE_META).generation(QUERY) == (
        "<s><H>1+1=?</H>\n(think)<B>b</B>\n(next)<H>1+1=?</H>\n<B>"
    )


def test_an_end_is_behind_the_rounds() -> None:
    template = {"round": TWO_TURNS, "end": ["Bye.", {"role": "HUMAN", "prompt": "End."}]}
    assert templates(template, rendering=BASE_META).render_label(QUERY, (), "2").prompt == (
        "<s><H>1+1=?</H>\n<B>2</B>\nBye.<H>End.</H>\n<END>"
    )
    assert templates(template).generation(QUERY) == "1+1=?\nBye.\nEnd."


def test_examples_are_shown_as_they_are() -> None:
    shot = {"question": "what is {question}?", "answer": "x"}
    text = templates(None, "</E>{question} {answer}", token="</E>")
    assert text.generation(QUERY, [shot]) == "what is {question}? x\n1+1=? "
    faithful = templates(
        None, {"begin": "</E>", "round": TWO_TURNS}, RenderOptions(False, None, True), token="</E>"
    )
    assert faithful.generation(QUERY, [shot]) == "what is 1+1=??\nx\n1+1=?"


# Labels.


def starts(
    made: Templates, row: dict[str, Any], shots: Sequence[dict[str, Any]] = ()
) -> list[tuple[str, str]]:
    """Return for every label the text that is scored, after what is given."""
    every = [made.render_label(row, shots, label) for label in made.labels]
    return [(final_text(one.prompt)[: one.start], final_text(one.prompt)[one.start :]) for one in every]


def test_labels_have_templates_of_their_own() -> None:
    made = templates({0: "{question} is {A}.", 1: "{question} is {B}."})
    assert made.labels == (0, 1)
    assert starts(made, ROW) == [("1+1=? is", " 1."), ("1+1=? is", " 2.")]
    # The first label's is taken for a generated answer.
    assert made.generation(ROW) == "1+1=? is 1."


@pytest.mark.parametrize(
    ("rendering", "given_", "scored"),
    [
        (BASE, "1+1=?", ["\nNo", "\nYes"]),
        (BASE_META, "<s><H>1+1=?</H>\n<B>", ["No</B>\n<END>", "Yes</B>\n<END>"]),
        (CHAT, "", ["No", "Yes"]),
    ],
)
def test_labels_of_dialogues(rendering: RenderOptions, given_: str, scored: list[str]) -> None:
    questions = {"role": "HUMAN", "prompt": "{question}"}
    made = templates(
        {
            label: {"round": [questions, {"role": "BOT", "prompt": says}]}
            for label, says in (("B", "No"), ("A", "Yes"))
        },
        rendering=rendering,
    )
    assert made.labels == ("B", "A")
    assert starts(made, ROW) == [(given_, text) for text in scored]
    assert made.format == "dialogue format"


def test_a_chat_that_ends_without_a_reply_is_plain_text() -> None:
    made = templates(
        {label: {"round": [{"role": "HUMAN", "prompt": "{question} " + label}]} for label in "AB"},
        rendering=CHAT,
    )
    assert starts(made, ROW) == [("1+1=?", " A"), ("1+1=?", " B")]
    assert templates({"A": "{A}", "B": "{B}"}, rendering=CHAT).render_label(ROW, (), "A").prompt == "1"


def test_examples_have_the_template_of_their_own_label() -> None:
    made = templates(None, {"A": "</E>{question} yes", "B": "</E>{question} no"}, token="</E>")
    shots = [{"question": "x?", "answer": "B"}, {"question": "y?", "answer": "A"}]
    given_ = "x? no\ny? yes\n1+1=?"
    assert starts(made, ROW, shots) == [(given_, " yes"), (given_, " no")]


def test_a_label_that_only_reads_alike_is_found() -> None:
    made = templates(None, {0: "</E>no", 1: "</E>yes"}, token="</E>")
    assert made.render_label(ROW, [{"answer": "1"}], 0).prompt == "yes\nno"
    with pytest.raises(TemplateFailure, match=r"no template has the label 'x'.*'0', '1'"):
        made.render_label(ROW, [{"answer": "x"}], 0)
    with pytest.raises(TemplateFailure, match="no template has the label"):
        made.render_label(ROW, [{"answer": ["a"]}], 0)


@pytest.mark.parametrize("texts", [("same", "same"), ("no", "no way"), ("only",)])
def test_labels_that_do_not_differ_are_scored_as_a_whole(texts: tuple[str, ...]) -> None:
    made = templates({str(at): text for at, text in enumerate(texts)})
    assert [start for start, _ in starts(made, ROW)] == [""] * len(texts)


def test_without_a_template_for_each_the_label_is_in_the_output_column() -> None:
    assert templates("{question} {answer}.").render_label(QUERY, (), "3") == ("1+1=? 3.", 5, None)
    faithful = templates("{question} {answer}.", rendering=RenderOptions(False, None, True))
    assert faithful.render_label(QUERY, (), "3").prompt == "1+1=? 2."
    assert templates("{question} {answer}").render_label(QUERY, (), None).prompt == "1+1=? 2"


def test_the_separator_token_says_where_the_answer_begins() -> None:
    spec = TemplateSpec("PromptTemplate", {"template": "{question}<S> {answer}", "sep_token": "<S>"})
    made = Templates(spec, None, output_column="answer", rendering=BASE)
    assert made.render_label(QUERY, (), "2") == ("1+1=? 2", 5, 5)


words = st.text("ab{}\n ", max_size=6)


@given(
    st.lists(st.tuples(words, words), min_size=2, max_size=3),
    words,
    words,
    st.sampled_from([BASE, BASE_META]),
)
def test_what_is_given_is_the_same_for_all_labels(
    texts: list[tuple[str, str]], a: str, b: str, rendering: RenderOptions
) -> None:
    labels: dict[Hashable, Any] = {
        at: {"round": [{"role": "HUMAN", "prompt": human}, {"role": "BOT", "prompt": bot}]}
        for at, (human, bot) in enumerate(texts)
    }
    made = templates(labels, rendering=rendering)
    given_ = {text for text, _ in starts(made, {"a": a, "b": b})}
    assert len(given_) == 1


def test_what_cannot_be_read_is_said_again_when_it_is_asked_for() -> None:
    made = templates(7)
    assert made.format == ""
    for ask in (lambda: made.generation(ROW), lambda: made.render_label(ROW, (), "A")):
        with pytest.raises(TemplateFailure, match="the template is a int"):
            ask()
    with pytest.raises(TemplateFailure, match="no turns"):
        templates("x").render_turn(ROW, 0)
    with pytest.raises(TemplateFailure, match="the prompt is empty"):
        templates({"round": [{"role": "HUMAN", "prompt": ""}]}, rendering=CHAT).generation(ROW)


# Differences.


def test_differences_are_those_that_touch() -> None:
    def names(made: Templates, *, is_labelled: bool = False) -> list[str]:
        return list(made.differences(is_labelled=is_labelled))

    assert names(templates("hello")) == []
    assert names(templates("{question}")) == ["filled_once"]
    assert names(templates("{answer}"), is_labelled=True) == ["filled_once", "labels_of_one_template"]
    assert names(templates({"begin": "</E>", "round": [SOLVE]}, rendering=CHAT)) == [
        "local_chat",
        "system_in_round",
        "bare_text",
    ]
    assert names(templates(None, "</E>{question}", token="</E>")) == ["filled_once", "end_of_no_examples"]
    assert names(templates(None, {"begin": "</E>", "round": TWO_TURNS}, token="</E>")) == [
        "filled_once",
        "empty_first_line",
    ]
    assert names(templates({"round": TWO_TURNS, "end": "x"}, rendering=BASE_META)) == [
        "filled_once",
        "end_section",
    ]


def test_the_two_originals_speak_differently_to_chat_models_that_run_locally() -> None:
    dialogue = {
        "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Solve."}],
        "round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": ""}],
    }
    aisbench = RenderOptions(True, None, True, CHAT_OF_ALL)
    assert templates(dialogue, rendering=aisbench).generation(QUERY) == (
        Message("system", "Solve."),
        Message("user", "1+1=?"),
    )
    assert templates(dialogue, rendering=LOCAL).generation(QUERY) == (Message("user", "Solve.\n1+1=?\n"),)
    names = list(templates(dialogue, rendering=aisbench).differences(is_labelled=False))
    assert "local_chat" not in names
