"""Tables of plain texts: recognition, requests, and rejected settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AssayError
from assay.core.request import Kind, Span, Windows
from assay.core.task import TaskSettings
from assay.dialects.table.compile import CompiledTable, compile_table
from assay.dialects.table.meta import TableMeta

ROWS = [
    {"text": "one two", "id": "a", "category": "x"},
    {"text": " three\n", "id": "b", "category": "y"},
    {"text": "four", "id": "c", "category": "y"},
]


def written(tmp_path: Path, rows: list[dict[str, Any]]) -> str:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def compiled(path: str, message: TableMeta | None = None, **settings: Any) -> CompiledTable:
    return compile_table(path, TaskSettings(**settings), message)


def asks(one: CompiledTable) -> list[Any]:
    return [request.ask for sample in one.task.samples() for request in one.task.requests(sample)]


def code_of(path: str, message: TableMeta | None = None, **settings: Any) -> str:
    with pytest.raises(AssayError) as caught:
        compiled(path, message, **settings)
    return caught.value.problems[0].code


def test_a_column_text_and_nothing_to_ask_is_a_table_of_texts(tmp_path: Path) -> None:
    one = compiled(written(tmp_path, ROWS))
    assert one.survey.layout.data_type == "text"
    assert one.notes == ("the rows are plain texts (column 'text'): measuring their perplexity",)
    assert one.task.spec.methods == ("ppl",)
    assert one.task.kinds == {Kind.SPAN}
    assert one.survey.n_without_answer == 0
    assert asks(one) == [Span(row["text"], 0, windows=Windows("classic")) for row in ROWS]
    assert [(sample.id, sample.group) for sample in one.task.samples()] == [
        ("a", "x"),
        ("b", "y"),
        ("c", "y"),
    ]


@pytest.mark.parametrize(
    "more",
    [{"label": "1"}, {"A": "1", "B": "2"}, {"options": ["a", "b"]}],
    ids=lambda more: next(iter(more)),
)
def test_a_text_with_an_answer_or_options_is_not_one_of_plain_texts(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    assert code_of(written(tmp_path, [{"text": "one", **more}])) == "TABLE-018"


def test_an_answer_beside_the_text_makes_it_qa(tmp_path: Path) -> None:
    layout = compiled(written(tmp_path, [{"text": "one", "answer": "x"}])).survey.layout
    assert (layout.data_type, layout.question_columns) == ("qa", ("text",))


def test_a_question_beside_the_text_makes_it_qa(tmp_path: Path) -> None:
    rows = [{"text": "one", "question": "how many?", "answer": "1"}]
    assert compiled(written(tmp_path, rows)).survey.layout.data_type == "qa"


def test_a_prompt_that_shows_the_text_makes_it_qa(tmp_path: Path) -> None:
    message = TableMeta(human_prompt="Sum up: {text}", no_answers=True)
    assert compiled(written(tmp_path, ROWS), message).survey.layout.data_type == "qa"


def test_texts_in_another_column(tmp_path: Path) -> None:
    path = written(tmp_path, [{"page": "one two", "answer": "never mind"}])
    one = compiled(path, TableMeta(data_type="text", input_columns=("page",)))
    assert asks(one) == [Span("one two", 0, windows=Windows("classic"))]
    assert one.notes == ()
    assert code_of(path, TableMeta(data_type="text")) == "TABLE-001"
    two = TableMeta(data_type="text", input_columns=("page", "answer"))
    assert code_of(path, two) == "TABLE-016"


@pytest.mark.parametrize("scheme", ["hf-stride", "gptq"])
def test_some_schemes_join_all_texts_by_a_blank_line(tmp_path: Path, scheme: Any) -> None:
    path = written(tmp_path, [*ROWS, {"text": ""}])
    one = compiled(path, windows=scheme, window_tokens=16)
    (ask,) = asks(one)
    assert ask == Span("one two\n\n three\n\n\nfour\n\n", 0, windows=Windows(scheme, 16))
    assert (one.task.spec.n_samples, one.task.spec.n_rows) == (1, 4)
    (sample,) = one.task.samples()
    assert (sample.group, sample.origin.row) == (None, None)
    (part,) = asks(compiled(path, TableMeta(test_range="[0:2]"), windows=scheme))
    assert part.prompt == "one two\n\n three\n"


def test_what_is_said_in_the_meta_file_and_on_the_command_line(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    meta = {"windows": "hf-stride", "window_tokens": 32, "stride": 8}
    Path(path + ".meta.json").write_text(json.dumps(meta), encoding="utf-8")
    assert asks(compiled(path))[0].windows == Windows("hf-stride", 32, 8)
    one = compiled(path, window_tokens=64)
    assert asks(one)[0].windows == Windows("hf-stride", 64, 8)
    assert one.task.spec.settings["windows"] == {"scheme": "hf-stride", "length": 64, "stride": 8}
    assert one.task.spec.settings["form"] == "text"


@pytest.mark.parametrize(
    ("message", "settings", "code"),
    [
        (None, {"methods": ("gen",)}, "TABLE-007"),
        (None, {"methods": ("ppl", "prob")}, "TABLE-007"),
        (TableMeta(infer_method="gen"), {}, "TABLE-007"),
        (None, {"shots": 2}, "TABLE-016"),
        (None, {"stride": 8}, "TABLE-016"),
        (None, {"windows": "gptq", "stride": 8}, "TABLE-016"),
        (None, {"windows": "hf-stride", "window_tokens": 8, "stride": 9}, "TABLE-016"),
        (TableMeta(category_column="category"), {"windows": "gptq"}, "TABLE-016"),
        (TableMeta(data_type="text", human_prompt="{text}"), {}, "TABLE-016"),
        (TableMeta(data_type="text", options=("id", "category")), {}, "TABLE-016"),
    ],
)
def test_what_has_no_meaning_for_texts(
    tmp_path: Path, message: TableMeta | None, settings: dict[str, Any], code: str
) -> None:
    assert code_of(written(tmp_path, ROWS), message, **settings) == code


@pytest.mark.parametrize("value", ["", "  \n", None, 7])
def test_empty_texts_are_found_where_each_is_alone(tmp_path: Path, value: Any) -> None:
    path = written(tmp_path, [*ROWS, {"text": value, "id": "d"}])
    with pytest.raises(AssayError) as caught:
        compiled(path)
    (problem,) = caught.value.problems
    assert problem.code == "TABLE-008"
    assert problem.where is not None
    assert (problem.where.row, problem.where.column) == (4, "text")


def test_windows_on_a_table_of_questions_are_said_to_have_no_effect(tmp_path: Path) -> None:
    one = compiled(written(tmp_path, [{"question": "1+1=", "answer": "2"}]), windows="gptq", stride=3)
    assert one.notes == ("'windows', 'stride' apply to plain texts, not to a qa table; ignored",)
