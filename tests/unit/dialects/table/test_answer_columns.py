"""Answers in several columns, several answers in one cell, and commands that can be pasted."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.method import Method
from assay.core.task import TaskSettings
from assay.dialects.table.compile import CompiledTable, compile_table
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.readings import AmbiguousTableError, TableReading
from fakes.scoring import score_reply
from fakes.tables import table

_LONG = "A girl finds a key and opens the door to the garden of her aunt. " * 8


def _compile(path: str, meta: TableMeta | None = None, **settings: Any) -> CompiledTable:
    return compile_table(path, TaskSettings(methods=(Method.GEN,), **settings), meta)


def _prompt(one: CompiledTable) -> str:
    return str(one.task.preview_prompt(next(iter(one.task.samples())), Method.GEN))


def _first_reading(path: str) -> TableReading:
    with pytest.raises(AmbiguousTableError) as raised:
        _compile(path)
    reading = raised.value.readings[0]
    assert shlex.split(reading.command(path))[:3] == ["assay", "run", path]
    return reading


def _write_csv(folder: Path, columns: list[str], rows: list[list[Any]], name: str = "data.csv") -> str:
    with (folder / name).open("w", newline="") as stream:
        csv.writer(stream).writerows([columns, *rows])
    return str(folder / name)


@pytest.mark.parametrize("flags", [("is_correct_a", "is_correct_b"), ("correct_a", "correct_b")])
@pytest.mark.parametrize(("one", "zero"), [("1", "0"), ("True", "False"), ("1", "")])
def test_columns_that_mark_options_are_the_answer(
    tmp_path: Path, flags: tuple[str, str], one: str, zero: str
) -> None:
    rows = [["What is 1+1?", "2", "3", one, zero], ["What is 2+3?", "4", "5", zero, one]]
    path = _write_csv(tmp_path, ["question", "option_a", "option_b", *flags], rows)
    compiled = _compile(path)
    assert [sample.gold for sample in compiled.task.samples()] == [(0,), (1,)]
    assert _prompt(compiled) == "Question: What is 1+1?\nA. 2\nB. 3\nAnswer:"


def test_several_options_can_be_marked(tmp_path: Path) -> None:
    rows = [["Which are even?", 2, 4, 5, 1, 1, 0], ["Which are odd?", 2, 4, 5, 0, 0, 1]]
    columns = ["question", "answer1", "answer2", "answer3", "is_correct_1", "is_correct_2", "is_correct_3"]
    compiled = _compile(_write_csv(tmp_path, columns, rows))
    assert [sample.gold for sample in compiled.task.samples()] == [(0, 1), (2,)]


def test_every_row_without_a_valid_mark_is_reported(tmp_path: Path) -> None:
    good = [["What is 1+1?", "2", "3", "1", "0"]] * 120
    bad = [["What is 2+3?", "4", "5", "0", "0"], ["What is 3+3?", "6", "7", "x", "0"]]
    columns = ["question", "option_a", "option_b", "correct_a", "correct_b"]
    with pytest.raises(AuthorError) as raised:
        _compile(_write_csv(tmp_path, columns, good + bad))
    assert [problem.code for problem in raised.value.problems] == ["TABLE-011"] * 2
    assert [problem.where.row for problem in raised.value.problems if problem.where] == [121, 122]


def test_examples_from_another_file_have_their_marks_read_too(tmp_path: Path) -> None:
    columns = ["question", "option_a", "option_b", "correct_a", "correct_b"]
    rows = [["What is 1+1?", "2", "3", "1", "0"], ["What is 2+3?", "4", "5", "0", "1"]]
    path = _write_csv(tmp_path, columns, rows)
    shots = _write_csv(tmp_path, columns, [["What is 4+4?", "7", "8", "0", "1"]], "shots.csv")
    compiled = _compile(path, shots=1, shots_from=shots)
    assert _prompt(compiled).startswith("Question: What is 4+4?\nA. 7\nB. 8\nAnswer: B")


def test_the_first_command_for_one_column_per_answer_reads_the_marks(tmp_path: Path) -> None:
    rows = [
        [f"Which city has number {n}?", int(n % 3 == 0), int(n % 3 == 1), int(n % 3 == 2)] for n in range(9)
    ]
    path = _write_csv(tmp_path, ["question", "Paris", "Rome", "Bonn"], rows)
    compiled = _compile(path, _first_reading(path).meta)
    assert _prompt(compiled).endswith("A. Paris\nB. Rome\nC. Bonn\nAnswer:")
    assert [sample.gold for sample in compiled.task.samples()][:3] == [(0,), (1,), (2,)]
    rows[4][1:] = [1, 1, 0]
    with pytest.raises(AuthorError, match="expected exactly one"):
        _compile(
            _write_csv(tmp_path, ["question", "Paris", "Rome", "Bonn"], rows),
            TableMeta(input_columns=("question",), output_column="Paris,Rome,Bonn"),
        )


def test_the_first_command_for_numbered_answers_accepts_each_and_shows_the_text(tmp_path: Path) -> None:
    rows = [
        {
            "summary": f"{n} {_LONG}",
            "question": f"Who finds key {n}?",
            "answer1": f"Ann{n}",
            "answer2": f"girl {n}",
        }
        for n in range(8)
    ]
    path = table(tmp_path, rows)
    compiled = _compile(path, _first_reading(path).meta)
    assert _prompt(compiled) == f"{rows[0]['summary']}\n\nWho finds key 0?"
    assert [score_reply(compiled.task, reply) for reply in ("Ann0", "girl 0", "Tom")] == [1.0, 1.0, 0.0]


def test_semicolons_separate_the_answers_of_truthfulqa(tmp_path: Path) -> None:
    columns = ["Question", "Best Answer", "Correct Answers", "Incorrect Answers"]
    rows = [
        [f"What if you eat {n} seeds?", "Nothing", "Nothing; They pass through", f"They grow {n}; You die"]
        for n in range(8)
    ]
    path = _write_csv(tmp_path, columns, rows)
    best = _compile(path, _first_reading(path).meta)
    sample = next(iter(best.task.samples()))
    assert sorted(sample.choices) == ["Nothing", "They grow 0", "You die"]
    without = _write_csv(tmp_path, [columns[0], *columns[2:]], [[row[0], *row[2:]] for row in rows])
    sample = next(iter(_compile(without).task.samples()))
    assert sorted(sample.choices[at] for at in sample.gold) == ["Nothing", "They pass through"]


@pytest.mark.parametrize("is_nested", [True, False])
def test_the_first_command_for_two_languages_translates(tmp_path: Path, is_nested: bool) -> None:
    pairs = [{"de": f"Das ist der Satz Nummer {n}.", "en": f"This is sentence {n}."} for n in range(8)]
    path = table(tmp_path, [{"translation": pair} for pair in pairs] if is_nested else pairs)
    compiled = _compile(path, _first_reading(path).meta)
    assert _prompt(compiled) == "Translate from German into English: Das ist der Satz Nummer 0."
    assert score_reply(compiled.task, "This is sentence 0.") == 1.0


@pytest.mark.parametrize("name", ["verdict", "label"])
def test_a_small_classification_table_with_a_context_lists_its_labels(tmp_path: Path, name: str) -> None:
    labels = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
    rows = [
        {"claim": f"Claim {n} holds.", "evidence": f"Sentence {n} of a book.", name: labels[n % 3]}
        for n in range(6)
    ]
    for method in Method:
        compiled = compile_table(table(tmp_path, rows), TaskSettings(methods=(method,)))
        prompt = str(compiled.task.preview_prompt(next(iter(compiled.task.samples())), method))
        assert prompt == (
            "Sentence 0 of a book.\n\nQuestion: Claim 0 holds.\n"
            "A. NOT ENOUGH INFO\nB. REFUTES\nC. SUPPORTS\nAnswer:"
        )
    free = compile_table(
        table(tmp_path, rows), TaskSettings(methods=(Method.GEN,)), TableMeta(data_type="qa")
    )
    assert free.kind == "qa"


def test_answers_that_rarely_repeat_are_free_answers(tmp_path: Path) -> None:
    rows = [{"question": f"Capital {n}?", "label": city} for n, city in enumerate(("Paris", "Rome", "Paris"))]
    assert _compile(table(tmp_path, rows)).kind == "qa"
