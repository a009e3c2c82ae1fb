"""/api/v1/me: who asks. Pages offer what a visitor may do, and no more."""

from __future__ import annotations

from typing import Any

from litestar import Request, Router, get

from assay.faces.web.api.bodies import VisitorBody
from assay.faces.web.api.errors import refusals
from assay.faces.web.security.access import bearer_of
from assay.faces.web.security.gate import NOBODY

_Asked = Request[Any, Any, Any]


def visitor_router() -> Router:
    """Return the handler of /me."""

    @get("/", responses=refusals())
    async def get_visitor(request: _Asked) -> VisitorBody:
        """Say who asks, and what they may do."""
        bearer = bearer_of(request)
        return VisitorBody(None if bearer.name == NOBODY else bearer.name, bearer.role)

    return Router("/me", route_handlers=[get_visitor], tags=["tokens"])
