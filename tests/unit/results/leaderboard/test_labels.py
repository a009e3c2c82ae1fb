"""Rows of the leaderboard: by label, else by model wherever it is served."""

from __future__ import annotations

from assay.core.model import ModelIdentity
from assay.results.leaderboard.board import Board
from assay.results.leaderboard.build import make_board
from fakes.board_runs import Shelf

GOOD, BAD = [1.0] * 9 + [0.0], [0.0] * 9 + [1.0]


def at(host: str) -> ModelIdentity:
    return ModelIdentity("openai", f"openai:m@http://{host}/v1", server="named")


def board_of(shelf: Shelf, **options: object) -> Board:
    return make_board(shelf.runs, shelf.values_of, **options)  # type: ignore[arg-type]


def values(board: Board) -> dict[str, float]:
    return {
        model.name: round(cells[0].value, 2)
        for model, cells in zip(board.models, board.cells, strict=True)
        if cells[0] is not None
    }


def test_one_model_on_two_servers_is_one_row_with_the_latest_run() -> None:
    shelf = Shelf()
    shelf.add(at("a"), {"sums": GOOD}, day=1)
    shelf.add(at("b"), {"sums": BAD}, day=2)
    board = board_of(shelf)
    assert values(board) == {"openai:m": 0.1}
    assert board.cells[0][0] is not None
    assert board.cells[0][0].n_earlier == 1


def test_a_label_is_a_row_of_its_own() -> None:
    shelf = Shelf()
    shelf.add(at("a"), {"sums": GOOD}, label="before")
    shelf.add(at("a"), {"sums": BAD}, label="after")
    shelf.add(at("b"), {"sums": BAD})
    board = board_of(shelf)
    assert values(board) == {"before": 0.9, "after": 0.1, "openai:m": 0.1}
    assert len({model.digest for model in board.models}) == 3


def test_a_run_without_a_label_joins_the_one_label_of_its_model() -> None:
    shelf = Shelf()
    shelf.add(at("a"), {"sums": GOOD}, day=1)
    shelf.add(at("a"), {"sums": BAD}, day=2, label="tuned")
    assert values(board_of(shelf)) == {"tuned": 0.1}


def test_a_label_of_several_models_is_one_row_and_reported() -> None:
    shelf = Shelf()
    shelf.add("first", {"sums": GOOD}, day=1, label="best")
    shelf.add("second", {"sums": BAD}, day=2, label="best")
    board = board_of(shelf)
    assert values(board) == {"best": 0.1}
    assert any("'best' names 2 different models" in note for note in board.notes)


def test_a_registered_name_is_a_label() -> None:
    shelf = Shelf()
    shelf.add(at("a"), {"sums": GOOD})
    shelf.add(at("b"), {"sums": BAD})
    names = {"openai:m@http://a/v1": "small"}
    assert values(board_of(shelf, model_names=names)) == {"small": 0.9, "openai:m": 0.1}


def test_named_prompts_are_columns() -> None:
    shelf = Shelf()
    shelf.add("m", {"sums": GOOD}, prompt="terse")
    shelf.add("m", {"sums": BAD})
    labels = {column.label for column in board_of(shelf).columns}
    assert labels == {"sums (prompt terse)", "sums (default prompt)"}
