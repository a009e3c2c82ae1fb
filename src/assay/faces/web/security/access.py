"""What a visitor may do, asked before any handler runs."""

from __future__ import annotations

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard

from assay.core.roles import Bearer, Role
from assay.faces.web.error_responses import no_token, other_site, small_role
from assay.faces.web.security.gate import NOBODY, VISITOR, Visitor

PUBLIC = {"is_public": True}
"""The `opt` of a handler that tells nothing: pages without data, scripts, styles, signing in."""


def needs(role: Role) -> Guard:
    """Return a guard for whoever has at least this role."""

    def guard(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
        visitor: Visitor = connection.scope["state"][VISITOR]
        is_public = bool(handler.opt.get("is_public"))
        if visitor.is_bare_form:
            # Another site may have sent it, with the cookie of whoever is signed in.
            is_known = visitor.bearer is not None and visitor.bearer.name != NOBODY
            raise other_site() if is_public or is_known else no_token()
        if is_public:
            return
        if visitor.is_from_elsewhere:
            raise other_site()
        if visitor.bearer is None:
            raise no_token()
        if not visitor.bearer.role.may(role):
            if visitor.bearer.name == NOBODY:
                raise no_token(role)
            raise small_role(visitor.bearer.role, role)

    return guard


def bearer_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Bearer:
    """Return who asks, behind a guard."""
    visitor: Visitor = connection.scope["state"][VISITOR]
    if visitor.bearer is None:
        raise no_token()
    return visitor.bearer
