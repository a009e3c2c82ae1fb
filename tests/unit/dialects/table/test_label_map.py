"""Templates with one whole prompt per label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AssayError
from assay.core.method import Method
from assay.core.prompt import Message
from assay.core.request import Span
from assay.core.task import TaskSettings
from assay.dialects.shared.dialogue import RoleMarks
from assay.dialects.table.compile import CompiledTable, ModelDefaults, compile_table
from assay.dialects.table.meta import TableMeta
from fakes.tables import table

ROWS = [
    {"question": "2+2?", "A": "4", "B": "15", "answer": "A"},
    {"question": "3+3?", "A": "16", "B": "6", "answer": "B"},
]


def rounds(reply: str = "It is {%s}.") -> dict[str, Any]:
    return {
        label: {
            "round": [
                {"role": "HUMAN", "prompt": "What is {question}"},
                {"role": "BOT", "prompt": reply % label},
            ]
        }
        for label in "AB"
    }


def compiled(
    tmp_path: Path, template: Any, model: ModelDefaults | None = None, **settings: Any
) -> CompiledTable:
    asked = TaskSettings(**{"methods": ("ppl",), **settings})
    return compile_table(table(tmp_path, ROWS), asked, TableMeta(template=template), model=model)


def spans(one: CompiledTable) -> list[Any]:
    requests = one.task.requests(next(one.task.samples()))
    return [request.ask for request in requests if request.role == "option"]


def test_each_option_is_scored_from_where_the_prompts_differ(tmp_path: Path) -> None:
    start = len("What is 2+2?\nIt is")
    assert spans(compiled(tmp_path, rounds())) == [
        Span("What is 2+2?\nIt is 4.", start),
        Span("What is 2+2?\nIt is 15.", start),
    ]


def test_labels_may_have_texts(tmp_path: Path) -> None:
    texts = {"A": "{question} {A}", "B": "{question} {B}"}
    assert spans(compiled(tmp_path, texts)) == [Span("2+2? 4", 4), Span("2+2? 15", 4)]


def test_numbers_that_begin_alike_are_scored_whole(tmp_path: Path) -> None:
    rows = [{"question": "9*9?", "A": "81", "B": "82", "answer": "A"}]
    message = TableMeta(template={label: f"{{question}} {{{label}}}" for label in "AB"})
    one = compile_table(table(tmp_path, rows), TaskSettings(methods=(Method.PPL,)), message)
    assert spans(one) == [Span("9*9? 81", 4), Span("9*9? 82", 4)]


def test_the_right_answer_is_not_shown_with_every_label(tmp_path: Path) -> None:
    texts = {"A": "{question} {answer} {A}", "B": "{question} {answer} {B}"}
    assert [ask.prompt for ask in spans(compiled(tmp_path, texts))] == ["2+2?  4", "2+2?  15"]


def test_in_a_chat_the_reply_is_scored(tmp_path: Path) -> None:
    first, second = spans(compiled(tmp_path, rounds(), is_chat=True))
    question = Message("user", "What is 2+2?")
    assert first == Span((question, Message("assistant", "It is 4.")), len("It is"))
    assert second == Span((question, Message("assistant", "It is 15.")), len("It is"))


def test_shots_are_shown_with_their_own_label(tmp_path: Path) -> None:
    one = compiled(tmp_path, rounds(), shots=1)
    assert spans(one)[0].prompt == "What is 3+3?\nIt is 6.\n\nWhat is 2+2?\nIt is 4."


def test_faithful_scores_the_whole_text(tmp_path: Path) -> None:
    assert spans(compiled(tmp_path, rounds(), is_faithful=True))[0] == Span(
        "What is 2+2?\nIt is 4.", 0, scores_first_token=False
    )


def test_roles_are_marked_as_the_model_wants(tmp_path: Path) -> None:
    marks = RoleMarks("<s>", {"user": ("<u>", "</u>"), "assistant": ("<b>", "</b>")}, "<e>")
    one = compiled(tmp_path, rounds(), ModelDefaults(marks=marks))
    assert spans(one)[0].prompt == "<s><u>What is 2+2?</u><b>It is 4.</b><e>"


@pytest.mark.parametrize(
    ("template", "settings", "part"),
    [
        (rounds(), {"methods": ("gen",)}, "per-label templates need method ppl, not 'gen'"),
        ({"A": "{A}", "B": "{B}"}, {"is_chat": True}, "differ before the last turn"),
        ({"A": "{A}"}, {}, "have no entry for 'B'"),
        ({"A": "{A}", "B": "{B}", "C": "c"}, {}, "have 'C'; the options are 'A', 'B'"),
        ({"A": "same", "B": "same"}, {}, "need at least two labels with different texts"),
        ({"A": "{A}", "B": 3}, {}, "the entry for label 'B' is 3"),
        ({"A": "{A}", "B": "{C}"}, {"is_faithful": True}, None),
        ({"A": "{A}", "B": "{colour}"}, {}, "TABLE-005"),
        ({"rund": []}, {}, "did you mean 'round'"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, template: Any, settings: dict[str, Any], part: str | None
) -> None:
    if part is None:
        compiled(tmp_path, template, **settings)
        return
    with pytest.raises(AssayError) as raised:
        compiled(tmp_path, template, **settings)
    assert part in str(raised.value)
