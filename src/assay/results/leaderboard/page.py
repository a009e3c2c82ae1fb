"""The leaderboard's page: what it is made of, and the page as one file that opens from a disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import msgspec

from assay.core.markup import one_file_parts, tag
from assay.results.leaderboard.board import Board, BoardCell
from assay.results.leaderboard.exports import Format, export_board
from assay.results.pages.bundle import build_script, build_style
from assay.results.pages.file_blocks import render_block


class BoardPage(msgspec.Struct, frozen=True):
    """What the page shows, and what can be taken away from it."""

    board: Board
    files: dict[str, str]
    """By format: the board as a file's text."""
    links: tuple[tuple[str | None, ...], ...]
    """By model, then column: where the page of the cell's run is; None: nowhere that is known."""


def build_board_page(board: Board, link_of: Callable[[BoardCell], str | None]) -> BoardPage:
    """Return the page of a board. Where folders lie on a machine is nothing that its readers are told."""
    links = tuple(tuple(None if cell is None else link_of(cell) for cell in row) for row in board.cells)
    cells = tuple(
        tuple(None if cell is None else msgspec.structs.replace(cell, root="") for cell in row)
        for row in board.cells
    )
    files: dict[str, str] = {form: export_board(board, form) for form in get_args(Format)}
    return BoardPage(msgspec.structs.replace(board, cells=cells), files, links)


def render_board_page(board: Board) -> str:
    """Return the page as one file."""
    content = msgspec.json.encode(build_board_page(board, lambda _: None))
    body = (tag("main", id="page"), render_block("board", content))
    return "".join(
        one_file_parts("Leaderboard", build_style(), build_script("board_file"), body, page="leaderboard")
    )
