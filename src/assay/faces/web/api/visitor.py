"""/api/v1/me: who asks. Pages offer what a visitor may do, and no more."""

from __future__ import annotations

from typing import Any

from litestar import Request, Router, get

from assay.faces.web.api.bodies import VisitorBody
from assay.faces.web.api.errors import build_error_specs
from assay.faces.web.security.access import get_bearer
from assay.faces.web.security.gate import NOBODY

_AnyRequest = Request[Any, Any, Any]


def visitor_router() -> Router:
    """Return the handler of /me."""

    @get("/", responses=build_error_specs())
    async def get_visitor(request: _AnyRequest) -> VisitorBody:
        """Say who asks, and what they may do."""
        bearer = get_bearer(request)
        return VisitorBody(None if bearer.name == NOBODY else bearer.name, bearer.role)

    return Router("/me", route_handlers=[get_visitor], tags=["tokens"])
