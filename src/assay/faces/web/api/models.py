"""/api/v1/models: the registered models."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request, Router, delete, get, post
from litestar.params import FromPath, JSONBody

from assay.app.team.registering import register_model
from assay.app.team.team import Team
from assay.core.roles import Role
from assay.core.team import RegisteredModel
from assay.faces.web.api.bodies import ModelBody, NewModel
from assay.faces.web.api.errors import build_error_specs
from assay.faces.web.api.slow_work import SlowWork
from assay.faces.web.security.access import get_bearer, require_role

_AnyRequest = Request[Any, Any, Any]


def models_router(team: Team, slow: SlowWork) -> Router:
    """Return the handlers under /models."""

    @get("/", sync_to_thread=True, responses=build_error_specs())
    def list_models() -> list[ModelBody]:
        """List the registered models, by name."""
        return [ModelBody.of(model) for model in team.models.every()]

    @get("/{name:str}", sync_to_thread=True, responses=build_error_specs(404))
    def get_model(name: FromPath[str]) -> ModelBody:
        """Show a model."""
        return ModelBody.of(team.models.get(name))

    @post("/", guards=[require_role(Role.OWNER)], responses=build_error_specs(409, 422, 429))
    async def add_model(request: _AnyRequest, data: JSONBody[NewModel]) -> ModelBody:
        """Register a model. Its files and arguments are checked; it is neither loaded nor called."""
        model = RegisteredModel(**msgspec.structs.asdict(data))
        registered = await slow.run(lambda: register_model(team, model, get_bearer(request)))
        return ModelBody.of(registered)

    @delete(
        "/{name:str}",
        sync_to_thread=True,
        guards=[require_role(Role.OWNER)],
        responses=build_error_specs(404),
    )
    def delete_model(name: FromPath[str]) -> None:
        """Delete a model's registration. Its evaluations are kept, and queued ones still run."""
        team.models.delete(name)

    return Router(
        "/models", route_handlers=[list_models, get_model, add_model, delete_model], tags=["models"]
    )
