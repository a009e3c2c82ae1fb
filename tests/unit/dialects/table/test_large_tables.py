"""Memory for compiling a table grows by a few bytes per row, whatever the rows contain."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.method import Method
from assay.core.task import TaskSettings
from assay.dialects.shared import duplicate_numbers, sample_store
from assay.dialects.table import columns
from assay.dialects.table.compile import CompiledTable, compile_table
from assay.dialects.table.meta import TableMeta
from assay.sources import stored_file, stream
from assay.sources.files import open_source
from assay.sources.record import Record
from assay.sources.source import Report, Source
from fakes.tables import table

BYTES_A_ROW = 60
"""Of what is kept, and of the list that is put in order beside it. A dict of the ids would take 200."""


def written(folder: Path, n: int, **more: Any) -> str:
    path = folder / f"rows-{n}.jsonl"
    with open(path, "w") as file:
        for nth in range(n):
            fields = {"question": f"What is {nth} + 1, {'and ' * 40}?", "A": str(nth + 1), "B": "0"}
            fields |= {"answer": "A", **{name: value(nth) for name, value in more.items()}}
            file.write(json.dumps(fields) + "\n")
    return str(path)


def peak(path: str, message: TableMeta | None = None, **settings: Any) -> int:
    tracemalloc.start()
    try:
        one = compile_table(path, TaskSettings(methods=(Method.GEN,), **settings), message)
        for sample in one.task.samples():
            one.task.requests(sample)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_store, "_MEMORY_CHARS", 100_000)
    monkeypatch.setattr(sample_store, "_WRITE_BUFFER_BYTES", 10_000)
    monkeypatch.setattr(duplicate_numbers, "_NUMPY_THRESHOLD", 100)
    monkeypatch.setattr(stream, "_BLOCK", 1 << 12)
    monkeypatch.setattr(stored_file, "KEPT_BYTES", 1 << 12)
    monkeypatch.setattr(columns, "SAMPLE_ROWS", 100)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("shots", [0, 2])
def test_memory_hardly_grows_with_rows(tmp_path: Path, shots: int) -> None:
    few, many = (written(tmp_path, n, id=lambda nth: f"row {nth}") for n in (200, 1_500))
    peak(few, shots=shots)
    assert peak(many, shots=shots) - peak(few, shots=shots) < 1_300 * BYTES_A_ROW


def test_rows_of_equal_content_are_numbered_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [{"question": question, "answer": "x"} for question in "abacabb"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    one: CompiledTable = compile_table(str(path), TaskSettings())
    seen = [(str(sample.fields["question"]), sample.id.partition("-")[2]) for sample in one.task.samples()]
    expected = [("a", "1"), ("b", "1"), ("a", "2"), ("c", ""), ("a", "3"), ("b", "2"), ("b", "3")]
    assert seen == expected
    assert [sample.id for sample in one.task.samples()] == [sample.id for sample in one.task.samples()]
    assert (one.survey.twins.n_more, one.survey.twins.first) == (4, (0, 2))


@pytest.mark.parametrize(
    ("ids", "first", "n_others"),
    [(["a", "b", "b", "c", "c"], "b", 1), (["a", "", "b"], "", 0), (["", "a", "", "a"], "", 1)],
)
def test_ids_that_are_empty_or_repeated_are_counted(
    tmp_path: Path, ids: list[str], first: str, n_others: int
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"question": "q", "answer": "x", "id": one}) + "\n" for one in ids))
    with pytest.raises(AuthorError, match=f"the id {first!r} is empty or repeated, as are {n_others} others"):
        compile_table(str(path), TaskSettings(), TableMeta(id_column="id"))
    unsaid = compile_table(str(path), TaskSettings())
    assert any("has repeated values" in note for note in unsaid.notes)


@pytest.mark.parametrize(("kind", "is_told"), [("json", True), ("jsonl", False)])
def test_a_large_document_is_said_to_be_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, is_told: bool
) -> None:
    path = tmp_path / f"t.{kind}"
    row = json.dumps({"question": "q", "answer": "x"})
    path.write_text(f"[{row}]" if kind == "json" else row)
    assert compile_table(str(path), TaskSettings()).notes == ()
    monkeypatch.setattr("assay.dialects.table.table_file._LARGE_DOCUMENT", 10)
    notes = compile_table(str(path), TaskSettings()).notes
    assert any("is read into memory" in note for note in notes) == is_told


SHAPES: dict[str, list[dict[str, Any]]] = {
    "options.jsonl": [
        {"question": f"Is {nth} even?", "options": ["yes", "no"], "answer": "AB"[nth % 2]}
        for nth in range(300)
    ],
    "messages.jsonl": [
        {"messages": [{"role": "user", "content": f"{nth} + 1?"}, {"role": "assistant", "content": "x"}]}
        for nth in range(300)
    ],
    "promptfoo.csv": [{"question": f"{nth} + 1?", "__expected": f"regex: \\b{nth}\\b"} for nth in range(300)],
    "inspect.jsonl": [
        {"input": f"Is {nth} even?", "choices": ["yes", "no"], "target": "AB"[nth % 2]} for nth in range(300)
    ],
}


@pytest.mark.parametrize("name", SHAPES)
def test_no_shape_is_read_more_often_than_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A csv once to check its rows; JSON lines before that to collect their fields; inference, a sample."""
    monkeypatch.setattr(columns, "SAMPLE_ROWS", 100)
    path = table(tmp_path, SHAPES[name], name)
    n_read = 0
    kind = type(open_source(path))
    walk = "_scan_rows" if name.endswith("csv") else "_read"
    original = getattr(kind, walk)

    def counted(source: Source, report: Report) -> Iterator[Record]:
        nonlocal n_read
        for one in original(source, report):
            n_read += 1
            yield one

    monkeypatch.setattr(kind, walk, counted)
    compile_table(str(path), TaskSettings())
    n_passes = 1 if name.endswith("csv") else 2
    assert 300 * n_passes <= n_read < 300 * (n_passes + 1)


@pytest.mark.parametrize(
    ("name", "bad", "code"),
    [
        ("messages.jsonl", {"messages": [{"role": "nobody", "content": "x"}]}, "TABLE-030"),
        ("promptfoo.csv", {"question": "q", "__expected": "regex: ["}, "TABLE-033"),
        ("inspect.jsonl", {"input": " ", "choices": ["yes", "no"], "target": "A"}, "TABLE-035"),
    ],
)
def test_all_rows_that_break_the_shape_are_reported(
    tmp_path: Path, name: str, bad: dict[str, Any], code: str
) -> None:
    rows = [*SHAPES[name][:200], bad, *SHAPES[name][200:], bad]
    with pytest.raises(AuthorError) as error:
        compile_table(table(tmp_path, rows, name), TaskSettings())
    assert [(one.code, one.where and one.where.row) for one in error.value.problems] == [
        (code, 201),
        (code, 302),
    ]


@pytest.mark.parametrize(
    ("answers", "has_several"),
    [
        (["A", "B"], False),
        (["A", "A,B"], True),
        (["yes", "no"], False),
        ([["yes"], ["yes", "no"]], True),
        ([[0], [0, 1]], True),
        ([0, 1], False),
    ],
)
def test_several_right_answers_are_found_in_the_survey(
    tmp_path: Path, answers: list[Any], has_several: bool
) -> None:
    rows = [
        {"question": f"{nth}?", "options": ["yes", "no"], "answer": answers[nth % 2]} for nth in range(10)
    ]
    one = compile_table(table(tmp_path, rows), TaskSettings())
    assert one.survey.has_several_right is has_several


def test_a_late_row_without_what_the_prompt_shows_is_reported(tmp_path: Path) -> None:
    rows = [{"question": f"{nth}?", "topic": "sums", "answer": "x"} for nth in range(10)]
    for lacking in ({"topic": None}, {}):
        late = {"question": "10?", "answer": "x", **lacking}
        path = table(tmp_path, [*rows, late])
        message = TableMeta(human_prompt="{topic}: {question}", output_column="answer")
        with pytest.raises(AuthorError, match="topic") as error:
            compile_table(path, TaskSettings(), message)
        assert [(one.code, one.where and one.where.row) for one in error.value.problems] == [
            ("TABLE-005", 11)
        ]
