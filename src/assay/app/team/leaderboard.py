"""The team's leaderboard: models and datasets by what they were registered with."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from assay.app.leaderboard import IndexedRuns
from assay.app.team.team import Team
from assay.results.leaderboard.abilities import Abilities
from assay.results.leaderboard.board import Board


class BoardOptions(NamedTuple):
    """What a team has registered about the datasets and models of a board."""

    registered: dict[str, str]
    """The metric of each dataset that has one."""
    abilities: Abilities | None
    """None: as the datasets say themselves."""
    model_names: dict[str, str] | None = None
    """The registered name of each model: readers of a board need not know the addresses of servers."""


def open_team_runs(team: Team) -> IndexedRuns:
    """Open the index of the team's runs."""
    runs_dir = Path(team.settings.runs_dir)
    runs_dir.mkdir(parents=True, exist_ok=True)
    return IndexedRuns([runs_dir], team.settings.database_place)


def read_board_options(team: Team, runs: IndexedRuns) -> BoardOptions:
    """Return what is registered about the datasets that runs have."""
    datasets = team.datasets.every()
    have_runs = runs.datasets()
    abilities: dict[str, list[str]] = {}
    for one in datasets:
        for ability in one.abilities if one.name in have_runs else ():
            abilities.setdefault(ability, []).append(one.name)
    headlines = {one.name: one.headline for one in datasets if one.headline is not None}
    names: dict[str, list[str]] = {}
    for model in team.models.every():
        names.setdefault(model.spec, []).append(model.name)
    return BoardOptions(
        headlines, abilities or None, {spec: " / ".join(named) for spec, named in names.items()}
    )


def build_board(runs: IndexedRuns, wishes: BoardOptions) -> Board:
    """Return the board of runs as a team wishes to see it."""
    return runs.board(
        registered=wishes.registered, abilities=wishes.abilities, model_names=wishes.model_names
    )


def build_team_board(team: Team) -> Board:
    """Read the runs that changed, and return the leaderboard of all that the team's database knows."""
    with closing(open_team_runs(team)) as runs:
        runs.refresh()
        return build_board(runs, read_board_options(team, runs))
