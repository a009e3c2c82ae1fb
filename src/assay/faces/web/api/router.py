"""The whole API, to be mounted in an application behind the gate."""

from __future__ import annotations

from litestar import Router

from assay.app.team.team import Team
from assay.core.errors import AssayError
from assay.faces.web.api.datasets import datasets_router
from assay.faces.web.api.errors import handle_assay_error
from assay.faces.web.api.evaluations import evaluations_router
from assay.faces.web.api.leaderboard import leaderboard_router
from assay.faces.web.api.models import models_router
from assay.faces.web.api.slow_work import SlowWork
from assay.faces.web.api.tokens import tokens_router
from assay.faces.web.api.visitor import visitor_router
from assay.faces.web.events import Streams

PATH = "/api/v1"


def api_router(team: Team, streams: Streams, slow: SlowWork) -> Router:
    """Return the handlers under /api/v1."""
    return Router(
        PATH,
        route_handlers=[
            datasets_router(team, slow),
            models_router(team, slow),
            evaluations_router(team, streams, slow),
            leaderboard_router(team, slow),
            tokens_router(team),
            visitor_router(),
        ],
        exception_handlers={AssayError: handle_assay_error},
    )
