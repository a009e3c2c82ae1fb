"""Files whose rows hold conversations, scored by whole commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.openai_server import Body
from fakes.scored_tables import run_table
from fakes.tables import table

CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid"}

# The smallest PNG: one pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def turn(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def make_messages(country: str) -> list[dict[str, Any]]:
    return [turn("system", "Answer in one word."), turn("user", f"What is the capital of {country}?")]


def shot(country: str) -> list[dict[str, Any]]:
    return [turn("user", f"And of {country}?"), turn("assistant", CAPITALS[country])]


def right(prompt: str) -> str:
    """The capital of the country that is named last."""
    return CAPITALS[max(CAPITALS, key=prompt.rfind)]


def share_gpt(country: str) -> list[dict[str, str]]:
    return [
        {"from": "system", "value": "Answer in one word."},
        {"from": "human", "value": f"What is the capital of {country}?"},
        {"from": "gpt", "value": CAPITALS[country]},
    ]


FORMS: dict[str, Any] = {
    "messages_and_answer": lambda c: {"messages": make_messages(c), "answer": CAPITALS[c]},
    "last_turn": lambda c: {"messages": [*make_messages(c), turn("assistant", CAPITALS[c])]},
    "both_alike": lambda c: {
        "messages": [*make_messages(c), turn("assistant", CAPITALS[c])],
        "target": CAPITALS[c],
    },
    "any_name": lambda c: {"thread_of_talk": make_messages(c), "gold": CAPITALS[c], "topic": "geography"},
    "share_gpt": lambda c: {"id": c, "conversations": share_gpt(c)},
    "prompt_completion": lambda c: {
        "prompt": make_messages(c),
        "completion": [turn("assistant", CAPITALS[c])],
    },
    "openai_evals": lambda c: {"input": make_messages(c), "ideal": [CAPITALS[c], "the " + CAPITALS[c]]},
    "inspect": lambda c: {"input": make_messages(c), "target": CAPITALS[c], "metadata": {"x": 1}},
    "several_turns": lambda c: {
        "messages": [make_messages(c)[0], *shot("Spain"), *make_messages(c)[1:]],
        "answer": CAPITALS[c],
    },
    "text_parts": lambda c: {
        "messages": [turn("user", [{"type": "text", "text": "Answer in one word."}, *parts(c)])],
        "answer": CAPITALS[c],
    },
    "nested": lambda c: {"input": {"messages": make_messages(c)}, "output": turn("assistant", CAPITALS[c])},
    "system_column": lambda c: {
        "system": "Answer in one word.",
        "messages": make_messages(c)[1:],
        "answer": CAPITALS[c],
    },
    "columns_of_a_table": lambda c: {
        "messages": {
            "role": ["system", "user"],
            "content": ["Answer in one word.", f"What is the capital of {c}?"],
        },
        "answer": CAPITALS[c],
    },
    "developer": lambda c: {
        "messages": [turn("developer", "Answer in one word."), make_messages(c)[1]],
        "answer": CAPITALS[c],
    },
}


def parts(country: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": f"What is the capital of {country}?"}]


def test_every_form_is_read_without_flags(workdir: Path, subtests: Any) -> None:
    for name, form in FORMS.items():
        with subtests.test(name):
            path = table(workdir, [form(country) for country in CAPITALS], f"{name}.jsonl")
            good = run_table(path, right)
            assert good.result.status == 0, good.result.err
            assert good.value == 1.0
            for body, country in zip(sorted(good.bodies, key=str), sorted(CAPITALS), strict=True):
                shown = json.dumps(body["messages"])
                assert "Answer in one word." in shown
                assert f"What is the capital of {country}?" in shown
                assert body["messages"][-1]["role"] == "user"
            assert run_table(path, "Bonn").value == 0.0


def test_a_csv_cell_holds_a_conversation_as_json(workdir: Path) -> None:
    rows = [{"messages": json.dumps(make_messages(c)), "answer": CAPITALS[c]} for c in CAPITALS]
    path = table(workdir, rows, "cells.csv")
    assert run_table(path, right).value == 1.0
    assert run_table(path, "Bonn").value == 0.0


def test_turns_are_sent_exactly_as_they_are(workdir: Path) -> None:
    messages = [
        turn("system", "Be  brief. \n"),
        turn("user", " Hi "),
        turn("assistant", "Hello\n\n"),
        turn("user", "Capital of France? "),
        turn("assistant", "Paris"),
    ]
    path = table(workdir, [{"messages": messages}])
    (body,) = run_table(path, "Paris").bodies
    assert body["messages"] == messages[:-1]


def test_messages_with_choices_show_the_options(workdir: Path) -> None:
    options = ["Bonn", "Paris", "Rome"]
    rows = [{"input": make_messages("France"), "choices": options, "target": "B", "id": 1}]
    path = table(workdir, rows)
    good = run_table(path, "B")
    assert good.value == 1.0
    assert good.bodies[0]["messages"][-1]["content"] == (
        "What is the capital of France?\nA. Bonn\nB. Paris\nC. Rome"
    )
    assert run_table(path, "A").value == 0.0


def test_an_image_in_a_turn_reaches_the_model(workdir: Path) -> None:
    address = f"data:image/png;base64,{PIXEL}"
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": address}},
    ]
    path = table(workdir, [{"messages": [turn("user", content)], "answer": "a cat"}])
    done = run_table(path, "a cat")
    assert done.value == 1.0, done.result.err
    assert done.bodies[0]["messages"][0]["content"] == content


def test_a_model_without_a_template_reads_named_speakers(workdir: Path) -> None:
    path = table(workdir, [{"messages": [*make_messages("France"), turn("assistant", "Paris")]}])
    shown = assay("check", path, "-m", "mock")
    assert shown.status == 0, shown.err
    text = " ".join(shown.out.replace("│", " ").split())
    assert "System: Answer in one word. User: What is the capital of France? Assistant:" in text


def test_two_answers_that_differ_stop_with_commands_that_score(workdir: Path) -> None:
    rows = [{"messages": [*make_messages("France"), turn("assistant", "Lyon")], "answer": "Paris"}]
    path = table(workdir, rows, "two.jsonl")
    stopped = assay("run", path, "-m", "mock")
    assert stopped.status == 2
    assert "TABLE-031" in stopped.err
    assert "'Lyon'" in stopped.err
    assert f"assay run {path} -m mock --answer-column answer" in " ".join(stopped.err.split())
    assert run_table(path, "Paris", "--answer-column", "answer").value == 1.0
    assert run_table(path, "Lyon", "--answer-column", "messages").value == 1.0


WRONG: list[tuple[str, Any, str, str]] = [
    ("unknown role", [turn("narrator", "x"), turn("user", "y")], "TABLE-030", "unknown role 'narrator'"),
    ("empty content", [turn("user", "  ")], "TABLE-030", "message 1, the user's, is empty"),
    ("null content", [turn("user", None)], "TABLE-030", "is empty"),
    ("no user turn", [turn("system", "x")], "TABLE-030", "no user turn"),
    ("ends with system", [turn("user", "x"), turn("system", "y")], "TABLE-030", "has the role system"),
    ("tool role", [turn("user", "x"), turn("tool", "3")], "TABLE-032", "'tool'"),
    (
        "tool calls",
        [turn("user", "x"), {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}],
        "TABLE-032",
        "'tool_calls'",
    ),
    ("unknown part", [turn("user", [{"type": "file", "file": {}}])], "TABLE-032", "'file'"),
    ("missing image", [turn("user", [{"type": "image_url", "image_url": "no.png"}])], "TABLE-030", "no.png"),
    ("no messages", [], "TABLE-030", "an empty list"),
]


@pytest.mark.parametrize(
    ("messages", "code", "word"), [one[1:] for one in WRONG], ids=[one[0] for one in WRONG]
)
def test_a_row_that_cannot_be_asked_is_an_error_with_its_line(
    workdir: Path, messages: Any, code: str, word: str
) -> None:
    rows = [{"messages": make_messages("France"), "answer": "Paris"}, {"messages": messages, "answer": "x"}]
    stopped = assay("run", table(workdir, rows), "-m", "mock")
    assert stopped.status == 2
    message = " ".join(stopped.err.split())
    assert code in message
    assert "row 2 (line 2), column 'messages'" in message
    assert word in message


def test_what_is_asked_about_instead_of_guessed(workdir: Path) -> None:
    def stopped(row: dict[str, Any], *flags: str) -> str:
        result = assay("run", table(workdir, [row]), "-m", "mock", *flags)
        assert result.status == 2
        return " ".join(result.err.split())

    message = stopped({"messages": make_messages("France"), "city": "Paris"})
    assert "TABLE-031" in message
    assert "--answer-column city" in message
    message = stopped({"messages": make_messages("France"), "gold": "Paris", "target": "Lyon"})
    assert "--answer-column gold" in message
    assert "--answer-column target" in message
    message = stopped({"a": make_messages("France"), "b": make_messages("Italy"), "answer": "Paris"})
    assert "--messages-column a" in message
    assert "--messages-column b" in message
    message = stopped({"messages": make_messages("France"), "context": "A long text.", "answer": "Paris"})
    assert "'context' has a text that is missing from the conversation" in message
    message = stopped({"dialog": ["Hi", "Hello", "Bye?"], "answer": "Bye"})
    assert "lists texts without speakers" in message
    assert "--messages-column dialog" in message
    message = stopped(
        {"prompt": make_messages("France"), "chosen": shot("France"), "rejected": shot("Italy")}
    )
    assert "TABLE-032" in message
    assert "preference pairs" in message
    message = stopped({"messages": make_messages("France"), "tools": [{"name": "f"}], "answer": "Paris"})
    assert "TABLE-032" in message
    assert "'tools'" in message
    message = stopped({"messages": make_messages("France"), "answer": "Paris"}, "--shots", "1")
    assert "TABLE-032" in message
    assert "whole conversation" in message
    message = stopped(
        {"messages": make_messages("France"), "answer": "Paris"}, "--messages-column", "message"
    )
    assert "TABLE-001" in message
    assert "'messages'" in message


def test_conversations_without_answers_are_asked_on_request(workdir: Path) -> None:
    path = table(workdir, [{"messages": make_messages("France")}])
    stopped = assay("run", path, "-m", "mock")
    assert stopped.status == 2
    assert f"assay run {path} -m mock --no-answers" in stopped.err
    for flags in (("--no-answers",), ("--stage", "infer")):
        done = run_table(path, "Paris", *flags)
        assert done.result.status != 2, done.result.err
        assert len(done.bodies) == 1


def test_explicit_settings_win_over_the_shape(workdir: Path) -> None:
    row = {"messages": make_messages("France"), "question": "Capital of France?", "answer": "Paris"}
    done = run_table(table(workdir, [row]), "Paris", "--human-prompt", "{question}")
    assert done.value == 1.0
    (body,) = done.bodies
    assert [one["content"] for one in body["messages"]] == ["Capital of France?"]


def test_texts_alternate_where_a_person_says_so(workdir: Path) -> None:
    path = table(workdir, [{"dialog": ["Hi", "Hello", "Capital of France?"], "answer": "Paris"}])
    done = run_table(path, "Paris", "--messages-column", "dialog")
    assert done.value == 1.0
    roles = [(one["role"], one["content"]) for one in _only(done.bodies)["messages"]]
    assert roles == [("user", "Hi"), ("assistant", "Hello"), ("user", "Capital of France?")]


def test_what_is_not_sent_is_noted_and_an_empty_list_of_tools_is_none(workdir: Path) -> None:
    messages = [{"role": "system", "name": "example_user", "content": "2+2"}, *make_messages("France")]
    path = table(workdir, [{"messages": messages, "answer": "Paris", "tools": "[]"}])
    shown = assay("check", path)
    assert shown.status == 0, shown.err
    assert "the message fields 'name' are not sent to the model" in shown.out


def _only(bodies: list[Body]) -> Body:
    (body,) = bodies
    return body
