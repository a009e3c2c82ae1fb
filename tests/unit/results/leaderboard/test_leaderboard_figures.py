"""A leaderboard against statsmodels and scipy: figures made by leaderboard_figures.py, without its code."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from assay.results.leaderboard.board import Board, BoardCell, MeanCell
from assay.results.leaderboard.build import make_board
from assay.results.leaderboard.columns import ComputedColumn, build_columns
from assay.results.leaderboard.entries import collect_entries
from assay.results.paired import holm
from fakes.board_runs import Shelf

STORED = json.loads(Path(__file__).with_name("leaderboard_figures.json").read_text())
FIGURES: dict[str, Any] = STORED["figures"]
DATASETS = list(STORED["answers"])


@pytest.fixture(scope="module")
def shelf() -> Shelf:
    shelf = Shelf()
    for model in STORED["answers"]["exam"]:
        shelf.add(
            model,
            {
                dataset: [math.nan if one is None else one for one in by_model[model]]
                for dataset, by_model in STORED["answers"].items()
            },
        )
    return shelf


@pytest.fixture(scope="module")
def columns(shelf: Shelf) -> dict[str, ComputedColumn]:
    columns = build_columns(collect_entries(shelf.runs, {}).entries, shelf.values_of)
    return {column.column.dataset: column for column in columns}


@pytest.fixture(scope="module")
def board(shelf: Shelf) -> Board:
    return make_board(shelf.runs, shelf.values_of)


def cells_of(board: Board, name: str) -> dict[str, BoardCell | MeanCell | None]:
    """Return the cells of a dataset, or of the mean over all of them, by model."""
    names = [model.name for model in board.models]
    if name == "mean":
        assert [mean.kind for mean in board.means] == ["shared"]
        return {model: row[0] for model, row in zip(names, board.mean_cells, strict=True)}
    at = [column.dataset for column in board.columns].index(name)
    return {model: row[at] for model, row in zip(names, board.cells, strict=True)}


@pytest.mark.parametrize("name", [*DATASETS, "mean"])
def test_values_intervals_and_errors(board: Board, name: str) -> None:
    """Wilson's interval, Student's, and the normal one of a mean over datasets."""
    for model, cell in cells_of(board, name).items():
        assert cell is not None
        seen = (cell.value, cell.low, cell.high, cell.stderr)
        # Student's quantile is right to 1e-8, the others to the last digits.
        assert seen == pytest.approx(FIGURES[name]["values"][model], rel=1e-7)


@pytest.mark.parametrize("name", DATASETS)
def test_paired_tests_and_their_correction(columns: dict[str, ComputedColumn], name: str) -> None:
    """McNemar's exact test, Student's of paired differences, and Holm's correction over the ten pairs."""
    column = columns[name]
    models = [entry.model.name for entry in column.entries.values()]
    expected = {(a, b): figures for a, b, figures in FIGURES[name]["pairs"]}
    seen = {(models[a], models[b]): duel for (a, b), duel in column.compared.items()}
    assert seen.keys() == expected.keys()
    ps = []
    for pair, duel in seen.items():
        assert duel.how == "paired"
        assert duel.difference is not None
        assert duel.difference.p is not None
        assert duel.difference.difference == pytest.approx(expected[pair]["difference"])
        assert duel.difference.p == pytest.approx(expected[pair]["p"], rel=1e-6, abs=1e-14)
        ps.append(duel.difference.p)
    assert holm(ps) == pytest.approx([expected[pair]["p_holm"] for pair in seen], rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("name", [*DATASETS, "mean"])
def test_ranks_are_the_places_in_every_order_that_no_real_difference_forbids(board: Board, name: str) -> None:
    for model, cell in cells_of(board, name).items():
        assert cell is not None
        assert cell.rank is not None
        assert [cell.rank.best, cell.rank.worst] == FIGURES[name]["ranks"][model]


def test_the_correction_decides_somewhere() -> None:
    """Else these figures would hold without it."""
    pairs = [figures for name in FIGURES.values() for _, _, figures in name["pairs"]]
    assert any(one["p"] < 0.05 < one["p_holm"] for one in pairs)
