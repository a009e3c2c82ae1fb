"""The server of `assay serve`: the pages of `assay view`, the API, and the workers."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec

from assay.app.annotations import RunAnnotations
from assay.app.team.leaderboard import open_team_runs, read_board_options
from assay.app.team.settings import TeamSettings
from assay.app.team.supervise import Supervisor
from assay.app.team.team import Team
from assay.app.viewed_benches import ViewedBenches
from assay.app.viewed_runs import ViewedRuns
from assay.core.roles import Role
from assay.faces.web.annotations import annotations_router
from assay.faces.web.api.document import openapi_config
from assay.faces.web.api.router import PATH, api_router
from assay.faces.web.api.slow_work import SlowWork
from assay.faces.web.app import WebSettings, make_app
from assay.faces.web.benches import benches_router
from assay.faces.web.board import BoardCache, board_router
from assay.faces.web.comparisons import comparisons_router
from assay.faces.web.data import data_router
from assay.faces.web.events import Streams
from assay.faces.web.open_runs import RunCache
from assay.faces.web.pages import VIEW_PAGES, Page, pages_router
from assay.faces.web.security.gate import Bounds
from assay.faces.web.security.hosts import Hosts, is_loopback
from assay.faces.web.security.sessions import Sessions
from assay.faces.web.server import Server, listen

USUAL_PORT = 8422
SERVE_PAGES = (
    *VIEW_PAGES,
    Page("/evaluations", "evaluations", "Evaluations", in_menu=True),
    Page("/evaluations/new", "new_evaluation", "New evaluation"),
    Page("/evaluations/{number:int}", "evaluation", "Evaluation"),
    Page("/datasets", "datasets", "Datasets", in_menu=True),
    Page("/datasets/{name:str}", "dataset", "Dataset"),
    Page("/models", "models", "Models", in_menu=True),
    Page("/api", "api", "API", in_menu=True),
)
_MB = 1_000_000
_FORM_BYTES = 100_000
"""Size of an upload form without the dataset."""


class ServeSettings(msgspec.Struct, frozen=True):
    """The address of the server; everything else is in the team's settings."""

    host: str = "127.0.0.1"
    port: int | None = None
    also_hosts: tuple[str, ...] = ()


class TeamServer:
    """A listening team server; `serve` answers requests and runs evaluations until it is stopped."""

    def __init__(self, team: Team, settings: ServeSettings) -> None:
        Path(team.settings.runs_dir).mkdir(parents=True, exist_ok=True)
        self._team = team
        self._listener = listen(settings.host, settings.port, USUAL_PORT)
        self.port: int = self._listener.getsockname()[1]
        self._host = settings.host
        self.supervisor = Supervisor(team.settings, team.queue)
        streams = Streams()
        runs = ViewedRuns((Path(team.settings.runs_dir),))
        self._boards = BoardCache(
            runs, lambda: open_team_runs(team), lambda opened: read_board_options(team, opened)
        )
        sessions = Sessions(team.tokens.bearer, cookie=f"assay_{self.port}")
        cache = RunCache(runs)
        self.app = make_app(
            WebSettings(
                hosts=Hosts(settings.host, self.port, settings.also_hosts),
                sessions=sessions,
                # Users of this machine can read the run folders anyway; changes need a token.
                without_token=Role.READER if is_loopback(settings.host) else None,
                bounds=_bounds(team.settings),
            ),
            [
                pages_router(sessions, SERVE_PAGES, is_team=True),
                data_router(cache, streams),
                board_router(self._boards),
                comparisons_router(cache),
                annotations_router(cache, RunAnnotations(team.database)),
                benches_router(ViewedBenches((Path(team.settings.runs_dir),))),
                api_router(team, streams, SlowWork()),
            ],
            openapi=openapi_config(),
        )
        self.server = Server(self.app, streams.end)

    @property
    def address(self) -> str:
        """Return the address of the pages."""
        name = socket.gethostname() if self._host in ("0.0.0.0", "::") else self._host
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}/"

    def close(self) -> None:
        """Stop listening; `serve` does so itself."""
        self._listener.close()

    def serve(self) -> None:
        """Serve until Ctrl-C; running evaluations then go back into the queue."""
        self.supervisor.start()
        try:
            self.server.run(sockets=[self._listener])
        finally:
            self._team.asker.end()
            self.supervisor.end()
            self._boards.close()


def _bounds(settings: TeamSettings) -> Bounds:
    upload = settings.max_upload_mb * _MB + _FORM_BYTES
    return Bounds(uploads=((f"{PATH}/datasets", upload),))
