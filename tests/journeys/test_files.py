"""Everyday files, from the command line to the score: workbooks, headerless tables, other separators."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from cli import assay

MMLU = (
    "Which planet is the largest?,Mars,Jupiter,Venus,Earth,B\n"
    "Which planet is closest to the sun?,Mercury,Earth,Mars,Venus,A\n"
    "Which planet has rings that are easy to see?,Mars,Venus,Saturn,Earth,C\n"
)
NAMES = "question,A,B,C,D,answer"


def score(*arguments: str) -> tuple[int, str]:
    """Run a mock that gives one reply to all rows; return the exit status and the output."""
    ended = assay("run", *arguments, "-m", "mock", "--runs-dir", "runs", "--fresh")
    return ended.status, ended.out + ended.err


def result(output: str) -> tuple[str, str]:
    """Return how many rows were scored, and the score."""
    found = re.search(r" gen +(\d+/\d+) +([\d.]+) ", output)
    assert found is not None, output
    return found[1], found[2]


def test_the_printed_commands_score_all_rows(workdir: Path) -> None:
    Path("bare.csv").write_text(MMLU)
    status, output = score("bare.csv")
    assert status == 2
    command = next(line for line in output.splitlines() if "--columns" in line).split()
    # The printed command repeats the typed one.
    ended = assay(*command[1:], "--model-arg", "answer=B")
    output = ended.out
    assert ended.status == 0, ended.err
    assert "3 rows" in output
    assert result(output) == ("3/3", "33.3")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_other_separators_give_the_same_score(workdir: Path, separator: str, is_packed: bool) -> None:
    text = f"{NAMES}\n{MMLU}".replace(",", separator).encode()
    name = "quiz.csv.gz" if is_packed else "quiz.csv"
    Path(name).write_bytes(gzip.compress(text) if is_packed else text)
    status, output = score(name, "--model-arg", "answer=B")
    assert status == 0
    assert "columns are separated by" in output
    assert result(output) == ("3/3", "33.3")


def test_a_workbook_is_scored_by_sheet(workdir: Path) -> None:
    openpyxl: Any = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    for name, last in (("Train", 2), ("Test", 3)):
        sheet = book.create_sheet(name)
        sheet.append(NAMES.split(","))
        for line in MMLU.splitlines()[:last]:
            sheet.append(line.split(","))
    book.remove(book["Sheet"])
    book.save("quiz.xlsx")
    status, output = score("quiz.xlsx")
    assert status == 2
    assert " --sheet Test\n" in output
    status, output = score("quiz.xlsx", "--sheet", "Test", "--model-arg", "answer=B")
    assert status == 0
    assert result(output) == ("3/3", "33.3")
    Path("quiz.xlsx.meta.json").write_text('{"sheet": "Train"}')
    status, output = score("quiz.xlsx", "--model-arg", "answer=A")
    assert status == 0
    assert result(output) == ("2/2", "50.0")


def test_a_decimal_comma_is_compared_by_value_where_the_file_has_one(workdir: Path) -> None:
    Path("euro.csv").write_text("question;answer\nA quarter of eleven?;2,75\nA half of seven?;3,5\n")
    status, output = score("euro.csv", "--model-arg", "answer=The answer is 3.5")
    assert status == 0
    assert result(output) == ("2/2", "50.0")
    status, output = score("euro.csv", "--no-decimal-comma", "--model-arg", "answer=The answer is 3.5")
    assert result(output) == ("2/2", "0.0")
    Path("text.csv").write_text('question,answer\nTwo primes?,"3,5"\nTwo others?,"2,7"\n')
    status, output = score("text.csv", "--model-arg", "answer=The answer is 3.5")
    assert result(output) == ("2/2", "0.0")


def test_examples_are_read_as_the_dataset_is(workdir: Path) -> None:
    Path("test.csv").write_text(MMLU)
    Path("dev.csv").write_text(MMLU.replace("planet", "body").replace(",", ";"))
    status, output = score(
        *("test.csv", "--columns", NAMES, "--shots", "1", "--shots-from", "dev.csv"),
        "--model-arg",
        "answer=B",
    )
    assert status == 0, output
    assert result(output) == ("3/3", "33.3")
