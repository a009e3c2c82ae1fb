"""The router of the whole API."""

from __future__ import annotations

from typing import Any

from litestar import Request, Router, get

from assay.app.team.team import Team
from assay.core.errors import AssayError
from assay.core.roles import Role
from assay.faces.web.api.bodies import TokenBody, VisitorBody
from assay.faces.web.api.datasets import datasets_router
from assay.faces.web.api.errors import build_error_specs, handle_assay_error
from assay.faces.web.api.evaluations import evaluations_router
from assay.faces.web.api.leaderboard import leaderboard_router
from assay.faces.web.api.models import models_router
from assay.faces.web.api.slow_work import SlowWork
from assay.faces.web.events import Streams
from assay.faces.web.security.access import get_bearer, require_role
from assay.faces.web.security.gate import NOBODY

_AnyRequest = Request[Any, Any, Any]


def visitor_router() -> Router:
    """Return the handler of /me."""

    @get("/", responses=build_error_specs())
    async def get_visitor(request: _AnyRequest) -> VisitorBody:
        """Return the visitor's name and role."""
        bearer = get_bearer(request)
        return VisitorBody(None if bearer.name == NOBODY else bearer.name, bearer.role)

    return Router("/me", route_handlers=[get_visitor], tags=["tokens"])


def tokens_router(team: Team) -> Router:
    """Return the handler of /tokens."""

    @get("/", sync_to_thread=True, guards=[require_role(Role.OWNER)], responses=build_error_specs())
    def list_tokens() -> list[TokenBody]:
        """List the tokens, without their secrets."""
        return [TokenBody.of(token) for token in team.tokens.every()]

    return Router("/tokens", route_handlers=[list_tokens], tags=["tokens"])


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
