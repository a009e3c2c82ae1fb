"""The server of `assay view`, which only reads runs."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from assay.app.annotations import RunAnnotations
from assay.app.leaderboard import IndexedRuns
from assay.app.viewed_benches import ViewedBenches
from assay.app.viewed_runs import ViewedRuns
from assay.core.errors import Problem, UsageError
from assay.core.roles import Bearer, Role
from assay.faces.web.annotations import annotations_router
from assay.faces.web.app import WebSettings, make_app
from assay.faces.web.benches import benches_router
from assay.faces.web.board import BoardCache, board_router
from assay.faces.web.comparisons import MOST_SIDES, comparisons_router
from assay.faces.web.data import data_router
from assay.faces.web.events import Streams
from assay.faces.web.open_runs import RunCache
from assay.faces.web.pages import pages_router
from assay.faces.web.security.hosts import Hosts, is_loopback
from assay.faces.web.security.sessions import Sessions, accept_one_token, new_token
from assay.faces.web.server import Server, listen

USUAL_PORT = 8421
NEW = "new"
"""The value of --token that creates a token."""
_SHORTEST_TOKEN = 16


class ViewSettings(msgspec.Struct, frozen=True):
    """The options of `assay view`."""

    runs: tuple[Path, ...]
    host: str = "127.0.0.1"
    port: int | None = None
    token: str | None = None
    also_hosts: tuple[str, ...] = ()
    compares: bool = False
    """Whether `runs` are the runs of a group, and the viewer opens with their comparison."""


class Viewer:
    """A listening viewer; `serve` answers requests until it is stopped."""

    def __init__(self, settings: ViewSettings) -> None:
        self._token = _token(settings)
        runs = ViewedRuns(settings.runs)
        self._compared = _name_compared_runs(runs, settings)
        self._listener = listen(settings.host, settings.port, USUAL_PORT)
        self.port: int = self._listener.getsockname()[1]
        self._host = settings.host
        streams, cache = Streams(), RunCache(runs)
        self._boards = BoardCache(runs, lambda: IndexedRuns(settings.runs))
        self._annotations = RunAnnotations()
        # Visitors of the viewer may write notes: its only right beyond reading.
        who = accept_one_token(self._token, Role.RUNNER) if self._token else _reject_token
        # Browsers share cookies between all ports of a machine.
        sessions = Sessions(who, cookie=f"assay_{self.port}")
        app = make_app(
            WebSettings(
                hosts=Hosts(settings.host, self.port, settings.also_hosts),
                sessions=sessions,
                without_token=None if self._token else Role.RUNNER,
            ),
            [
                pages_router(sessions),
                data_router(cache, streams),
                board_router(self._boards),
                comparisons_router(cache),
                annotations_router(cache, self._annotations),
                benches_router(ViewedBenches(settings.runs)),
            ],
        )
        self.server = Server(app, streams.end)

    @property
    def address(self) -> str:
        """Return the address of the pages, with the token."""
        name = socket.gethostname() if self._host in ("0.0.0.0", "::") else self._host
        name = f"[{name}]" if ":" in name else name
        query = [("run", run) for run in self._compared] + ([("token", self._token)] if self._token else [])
        page = "compare" if self._compared else ""
        return f"http://{name}:{self.port}/{page}" + (f"?{urlencode(query)}" if query else "")

    def serve(self) -> None:
        """Serve until Ctrl-C."""
        try:
            self.server.run(sockets=[self._listener])
        finally:
            self.close()

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()
        self._boards.close()
        self._annotations.close()


def _name_compared_runs(runs: ViewedRuns, settings: ViewSettings) -> list[str]:
    """Return the names of the runs to compare on the first page; empty to open the list of runs."""
    if not settings.compares:
        return []
    folders = runs.list_runs().folders
    if not 1 < len(folders) <= MOST_SIDES:
        return []
    order = [folder.resolve() for folder in settings.runs]
    return sorted(folders, key=lambda name: order.index(folders[name].resolve()))


def show_runs(settings: ViewSettings, started: Callable[[str], None]) -> None:
    """Serve the pages; call `started` with the address."""
    viewer = Viewer(settings)
    started(viewer.address)
    viewer.serve()


def _token(settings: ViewSettings) -> str | None:
    """Return the required token: always if other machines can connect, otherwise if one was requested."""
    if settings.token not in (None, NEW) and len(settings.token or "") < _SHORTEST_TOKEN:
        raise UsageError(
            Problem(
                "WEB-002",
                f"the token has only {len(settings.token or '')} characters and could be guessed",
                f"use at least {_SHORTEST_TOKEN} characters, or create one with --token {NEW}",
            )
        )
    if settings.token == NEW or (settings.token is None and not is_loopback(settings.host)):
        return new_token()
    return settings.token


def _reject_token(_: str) -> Bearer | None:
    return None
