"""The team's leaderboard, with the registered names of models and datasets."""

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
    """The headline metric of each dataset that has one."""
    abilities: Abilities | None
    """None: the datasets' own."""
    model_names: dict[str, str] | None = None
    """The registered name of each model, so that readers do not see the addresses of servers."""


def open_team_runs(team: Team) -> IndexedRuns:
    """Open the index of the team's runs."""
    runs_dir = Path(team.settings.runs_dir)
    runs_dir.mkdir(parents=True, exist_ok=True)
    return IndexedRuns([runs_dir], team.settings.database_place)


def read_board_options(team: Team, runs: IndexedRuns) -> BoardOptions:
    """Return what is registered about the datasets that have runs."""
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


def build_board(runs: IndexedRuns, options: BoardOptions) -> Board:
    """Return the board of runs with a team's options."""
    return runs.board(
        registered=options.registered, abilities=options.abilities, model_names=options.model_names
    )


def build_team_board(team: Team) -> Board:
    """Read changed runs, and return the leaderboard of all runs in the team's database."""
    with closing(open_team_runs(team)) as runs:
        runs.refresh()
        return build_board(runs, read_board_options(team, runs))
