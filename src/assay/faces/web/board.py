"""The data of the leaderboard page: the board of the runs, rebuilt when a run changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Request, Response, Router, get

from assay.app.leaderboard import IndexedRuns, format_run_problem
from assay.app.team.leaderboard import BoardOptions, build_board
from assay.app.viewed_runs import ViewedRuns
from assay.core.ids import digest
from assay.faces.web.answers import ResponseBody, build_response
from assay.results.leaderboard.board import Board, BoardCell
from assay.results.leaderboard.page import build_board_page

_AnyRequest = Request[Any, Any, Any]


class BoardCache:
    """The board, cached until a run changes. Thread-safe."""

    def __init__(
        self,
        runs: ViewedRuns,
        open_indexes: Callable[[], IndexedRuns],
        read_options: Callable[[IndexedRuns], BoardOptions] = lambda _: BoardOptions({}, None),
    ) -> None:
        self._runs = runs
        self._open = open_indexes
        self._read_options = read_options
        self._indexed: IndexedRuns | None = None
        self._lock = threading.Lock()
        self._board_key: object = None
        self._body = ResponseBody(b"", "")

    def board(self) -> ResponseBody:
        """Return the current board."""
        with self._lock:
            if self._indexed is None:
                self._indexed = self._open()
            notes = tuple(format_run_problem(problem) for problem in self._indexed.refresh())
            folders = self._runs.list_runs().folders
            options = self._read_options(self._indexed)
            board_key = (self._indexed.revision, tuple(folders), notes, options)
            if board_key != self._board_key:
                board = build_board(self._indexed, options)
                self._body = _build_body(board, folders, notes)
                self._board_key = board_key
            return self._body

    def close(self) -> None:
        """Close the databases."""
        with self._lock:
            if self._indexed is not None:
                self._indexed.close()
                self._indexed = None


def _build_body(board: Board, folders: Mapping[str, Path], notes: Sequence[str]) -> ResponseBody:
    board = msgspec.structs.replace(board, notes=(*notes, *board.notes))
    names = {str(folder): name for name, folder in folders.items()}

    def link_of(cell: BoardCell) -> str | None:
        name = names.get(f"{cell.root}/{cell.run}")
        return None if name is None or cell.host else f"/runs/{quote(name, safe='')}"

    content = msgspec.json.encode(build_board_page(board, link_of))
    return ResponseBody(content, digest(content.decode()))


def board_router(cache: BoardCache) -> Router:
    """Return the handler of the board, under /data."""

    @get("/leaderboard", sync_to_thread=True)
    def leaderboard(request: _AnyRequest) -> Response[bytes]:
        """Show models by datasets."""
        return build_response(request, cache.board())

    return Router("/data", route_handlers=[leaderboard])
