"""/api/v1/leaderboard: models by datasets."""

from __future__ import annotations

from typing import Literal

from litestar import MediaType, Response, Router, get
from litestar.params import FromPath, FromQuery

from assay.app.team.leaderboard import build_team_board
from assay.app.team.team import Team
from assay.faces.web.api.errors import build_error_specs
from assay.faces.web.api.slow_work import SlowWork
from assay.results.leaderboard.board import Board
from assay.results.leaderboard.exports import export_board

TYPES = {"markdown": "text/markdown", "csv": "text/csv", "latex": "text/plain"}
"""The media type of each export format."""


def leaderboard_router(team: Team, slow: SlowWork) -> Router:
    """Return the handlers of /leaderboard."""

    @get("/", responses=build_error_specs(429))
    async def get_leaderboard() -> Board:
        """Show models by datasets, with intervals, ranks and significance."""
        return await slow.run(lambda: build_team_board(team))

    @get("/{form:str}", responses=build_error_specs(404, 429), media_type=MediaType.TEXT)
    async def export_leaderboard(
        form: FromPath[Literal["markdown", "csv", "latex"]],
        by: FromQuery[Literal["dataset", "ability"]] = "dataset",
    ) -> Response[str]:
        """Export the leaderboard as Markdown, CSV or LaTeX, by datasets or by abilities."""
        board = await slow.run(lambda: build_team_board(team))
        return Response(export_board(board, form, by=by), media_type=TYPES[form])

    return Router("/leaderboard", route_handlers=[get_leaderboard, export_leaderboard], tags=["leaderboard"])
