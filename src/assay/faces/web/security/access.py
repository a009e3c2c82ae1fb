"""Role checks that run before every handler."""

from __future__ import annotations

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard

from assay.core.roles import Bearer, Role
from assay.faces.web.error_responses import cross_site_error, insufficient_role_error, missing_token_error
from assay.faces.web.security.gate import NOBODY, VISITOR, Visitor

PUBLIC = {"is_public": True}
"""The `opt` of a handler without data: page shells, scripts, styles, signing in."""


def require_role(role: Role) -> Guard:
    """Return a guard that requires at least this role."""

    def guard(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
        visitor: Visitor = connection.scope["state"][VISITOR]
        is_public = bool(handler.opt.get("is_public"))
        if visitor.is_bare_form:
            # Another site may have sent it, with the cookie of a signed-in visitor.
            is_known = visitor.bearer is not None and visitor.bearer.name != NOBODY
            raise cross_site_error() if is_public or is_known else missing_token_error()
        if is_public:
            return
        if visitor.is_from_elsewhere:
            raise cross_site_error()
        if visitor.bearer is None:
            raise missing_token_error()
        if not visitor.bearer.role.may(role):
            if visitor.bearer.name == NOBODY:
                raise missing_token_error(role)
            raise insufficient_role_error(visitor.bearer.role, role)

    return guard


def get_bearer(connection: ASGIConnection[Any, Any, Any, Any]) -> Bearer:
    """Return the authenticated visitor of a guarded request."""
    visitor: Visitor = connection.scope["state"][VISITOR]
    if visitor.bearer is None:
        raise missing_token_error()
    return visitor.bearer
