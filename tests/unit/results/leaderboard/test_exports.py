"""A board in Markdown, csv, LaTeX and words."""

from __future__ import annotations

import csv
import io
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.results.leaderboard.board import Board
from assay.results.leaderboard.build import make_board
from assay.results.leaderboard.exports import escape_latex, export_board
from assay.results.leaderboard.grid import build_grid
from fakes.board_runs import Shelf

GOOD = [1.0] * 90 + [0.0] * 10
NEAR = [1.0] * 88 + [0.0] * 12
POOR = [1.0] * 20 + [0.0] * 80


@pytest.fixture(scope="module")
def board() -> Board:
    shelf = Shelf()
    shelf.add("한국어 모델|50%", {"a": GOOD, "b_1": POOR})
    shelf.add("near", {"a": NEAR, "b_1": POOR})
    shelf.add("poor", {"a": POOR})
    return make_board(shelf.runs, shelf.values_of)


def test_the_grid_leads_where_some_are_really_behind(board: Board) -> None:
    table = build_grid(board, "dataset")
    assert [one.name for one in table.headings] == ["mean of 1 dataset", "mean of all 2 datasets", "a", "b_1"]
    first, second, third = (row[2] for row in table.rows)
    assert first is not None
    assert second is not None
    assert third is not None
    assert [one.is_leading for one in (first, second, third)] == [True, True, False]
    assert [one.is_best for one in (first, second, third)] == [True, False, False]
    assert [one.rank for one in (first, second, third)] == ["1–2", "1–2", "3"]
    assert (first.value, first.interval) == ("90.0", "82.6–94.5")
    same = [row[3] for row in table.rows]
    assert same[2] is None
    assert same[0] is not None
    assert not same[0].is_leading, "nobody is behind, so nobody leads"
    lacking = table.rows[2][1]
    assert lacking is not None
    assert (lacking.rank, lacking.lacks) == ("", "1 of 2")


def test_markdown_is_a_table_that_names_cannot_break(board: Board) -> None:
    lines = export_board(board, "markdown").splitlines()
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines[:5]}) == 1
    assert "**90.0** 82.6–94.5 #1–2" in lines[2]
    assert lines[2].startswith(r"| 한국어 모델\|50% |")
    assert lines[4].count("| - |") == 1


def test_csv_has_every_number_as_it_is_and_every_place(board: Board) -> None:
    rows = list(csv.DictReader(io.StringIO(export_board(board, "csv"))))
    datasets = [row for row in rows if row["kind"] == "dataset"]
    assert len(datasets) == 3 * 2
    cells = {(row["model"], row["name"]): row for row in datasets}
    for model, own in zip(board.models, board.cells, strict=True):
        for column, cell in zip(board.columns, own, strict=True):
            row = cells[model.name, column.label]
            if cell is None:
                assert row["value"] == ""
                continue
            assert float(row["value"]) == cell.value
            assert float(row["low"]) == cell.low
            assert float(row["high"]) == cell.high
            assert int(row["n"]) == cell.n
            assert (int(row["rank_best"]), int(row["rank_worst"])) == (cell.rank.best, cell.rank.worst)
    lacking = [row for row in rows if row["kind"] == "all" and row["n_lacking"] == "1"]
    assert [row["model"] for row in lacking] == ["poor"]
    assert lacking[0]["rank_best"] == ""


def test_latex_is_a_booktabs_table_of_as_many_cells_in_each_row(board: Board) -> None:
    text = export_board(board, "latex")
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {3}, "three models go across"
    assert r"한국어 모델\textbar{}50\%" in text
    assert r"\textbf{90.0}$^{*}$" in text
    assert "88.0$^{*}$" in text
    assert "XeLaTeX" in text
    assert r"b\_1" in text
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1


@given(st.text())
def test_no_text_escapes_into_latex(text: str) -> None:
    written = escape_latex(text)
    commands = (
        r"\\(?:text(?:backslash|asciitilde|asciicircum|less|greater|bar)\{\}|[&%$#_{}])|\$\\downarrow\$"
    )
    assert not set(re.sub(commands, "", written)) & set("\\&%$#_{}~^\n\r")


def test_the_best_is_the_least_where_less_is_better() -> None:
    shelf = Shelf()
    for model, share in (("low", POOR), ("middle", NEAR), ("high", GOOD)):
        run = shelf.add(model, {"errors": share})
        metrics = [msgspec.structs.replace(one, higher_is_better=False) for one in run.metrics]
        shelf.runs[-1] = run._replace(metrics=metrics)
    table = build_grid(make_board(shelf.runs, shelf.values_of), "dataset")
    assert [one.name for one in table.headings] == ["errors ↓"]
    found = {model: row[0] for model, row in zip(table.models, table.rows, strict=True)}
    assert [model for model, words in found.items() if words is not None and words.is_best] == ["low"]
    assert [model for model, words in found.items() if words is not None and words.is_leading] == ["low"]
