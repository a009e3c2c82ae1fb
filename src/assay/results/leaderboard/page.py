"""The leaderboard's page: what it is made of, and the page as one file that opens from a disk."""

from __future__ import annotations

import msgspec

from assay.core.markup import one_file_page, tag
from assay.results.leaderboard.board import Board
from assay.results.leaderboard.exports import Format, exported
from assay.results.pages.bundle import script, style
from assay.results.pages.packed import packed_block

_FILES: tuple[Format, ...] = ("markdown", "csv", "latex")


class BoardPage(msgspec.Struct, frozen=True):
    """What the page shows, and what can be taken away from it."""

    board: Board
    files: dict[str, str]
    """By format: the board as a file's text."""
    links: dict[str, str]
    """By a run's folder: where its page is. A run that is not here has none."""


def board_page(board: Board, links: dict[str, str] | None = None) -> BoardPage:
    """Return the page of a board."""
    return BoardPage(board, {form: exported(board, form) for form in _FILES}, links or {})


def render_board_page(board: Board) -> str:
    """Return the page as one file."""
    content = msgspec.json.encode(board_page(board))
    return one_file_page(
        "Leaderboard",
        style(),
        script(),
        tag("main", id="page"),
        packed_block("board", content),
        page="leaderboard",
    )
