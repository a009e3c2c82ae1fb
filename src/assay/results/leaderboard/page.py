"""The leaderboard page: its data, and the page as a single HTML file."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import msgspec

from assay.results.leaderboard.board import Board, BoardCell
from assay.results.leaderboard.exports import Format, export_board
from assay.results.pages.page_file import render_page_file


class BoardPage(msgspec.Struct, frozen=True):
    """The data of the page, and its exports."""

    board: Board
    files: dict[str, str]
    """By format: the board as the text of a file."""
    links: tuple[tuple[str | None, ...], ...]
    """By model, then column: the address of the run's page; None if unknown."""


def build_board_page(board: Board, link_of: Callable[[BoardCell], str | None]) -> BoardPage:
    """Return the page of a board, without the paths of run folders."""
    links = tuple(tuple(None if cell is None else link_of(cell) for cell in row) for row in board.cells)
    cells = tuple(
        tuple(None if cell is None else msgspec.structs.replace(cell, root="") for cell in row)
        for row in board.cells
    )
    files: dict[str, str] = {form: export_board(board, form) for form in get_args(Format)}
    return BoardPage(msgspec.structs.replace(board, cells=cells), files, links)


def render_board_page(board: Board) -> str:
    """Return the page as a single HTML file."""
    content = msgspec.json.encode(build_board_page(board, lambda _: None))
    return "".join(render_page_file("Leaderboard", "leaderboard", "board_file", {"board": content}))
