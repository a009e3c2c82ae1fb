"""The team's leaderboard: each dataset by the metric and under the abilities that it was registered with."""

from __future__ import annotations

from pathlib import Path

from assay.app.leaderboard import indexed_runs
from assay.app.team.team import Team
from assay.results.leaderboard.board import Board


def team_board(team: Team) -> Board:
    """Read the runs that changed, and return the leaderboard of all that the team's database knows."""
    datasets = team.datasets.every()
    headlines = {one.name: one.headline for one in datasets if one.headline is not None}
    runs_dir = Path(team.settings.runs_dir)
    runs_dir.mkdir(parents=True, exist_ok=True)
    with indexed_runs([runs_dir], team.settings.database_place) as runs:
        runs.refresh()
        have_runs = runs.datasets()
        abilities: dict[str, list[str]] = {}
        for one in datasets:
            for ability in one.abilities if one.name in have_runs else ():
                abilities.setdefault(ability, []).append(one.name)
        return runs.board(registered=headlines, abilities=abilities or None)
