"""/api/v1/tokens: who has one. They are made and revoked on the server's own command line."""

from __future__ import annotations

from litestar import Router, get

from assay.app.team.team import Team
from assay.core.roles import Role
from assay.faces.web.api.bodies import TokenBody
from assay.faces.web.api.errors import build_error_specs
from assay.faces.web.security.access import require_role


def tokens_router(team: Team) -> Router:
    """Return the handler of /tokens."""

    @get("/", sync_to_thread=True, guards=[require_role(Role.OWNER)], responses=build_error_specs())
    def list_tokens() -> list[TokenBody]:
        """List the tokens, without their secrets."""
        return [TokenBody.of(token) for token in team.tokens.every()]

    return Router("/tokens", route_handlers=[list_tokens], tags=["tokens"])
