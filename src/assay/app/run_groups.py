"""Groups of runs as a person names them, and their comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.app.baselines import find_side
from assay.app.compare import compare, write_known_comparison
from assay.core.errors import StoreError, UsageError
from assay.results.baseline_run import ScoredRun
from assay.results.comparison import RunComparison
from assay.results.group_table import GroupRow
from assay.results.read import StoredRun
from assay.results.run_group import PAGE, StoredGroup, find_group_folder, find_latest_group, is_group_folder

LAST = "last"
_MOST_ON_PAGE = 8
"""More sides do not fit next to each other."""


class GroupResult(NamedTuple):
    """The results of a group."""

    folder: Path
    group: StoredGroup
    rows: tuple[GroupRow, ...]
    """One for each run, in the command's order."""
    runs: tuple[StoredRun | None, ...]
    """None: the run was never started."""
    compared: tuple[StoredRun, ...]
    """The runs that have scores."""
    comparison: RunComparison | None
    """None if fewer than two runs have scores, or if they have nothing in common."""
    notes: tuple[str, ...]
    """Why there is no comparison."""


def find_group(name: str, root: Path) -> StoredGroup | None:
    """Return a group by its folder, its id or a prefix of it, or the latest command's as `last`.

    None if the name is not that of a group.
    """
    folder = find_latest_group(root) if name == LAST else find_group_folder(name, root)
    return None if folder is None else StoredGroup(folder)


def find_sides(names: Sequence[str], root: Path) -> list[ScoredRun]:
    """Return runs and baselines by their names; a group stands for its runs.

    `last` is the latest run, and if it is the only name, the runs of the latest command.
    """
    found: list[ScoredRun] = []
    for name in names:
        group = None if name == LAST and len(names) > 1 else find_group(name, root)
        found += [find_side(name, root)] if group is None else _list_scored_runs(group)
    return found


def _list_scored_runs(group: StoredGroup) -> list[StoredRun]:
    return [run for run in _read_runs(group) if run is not None and run.metrics()]


def _read_runs(group: StoredGroup) -> list[StoredRun | None]:
    runs: list[StoredRun | None] = []
    for folder in group.folders:
        try:
            runs.append(StoredRun(folder))
        except StoreError as error:
            if error.problems[0].code != "STORE-005":
                raise
            # The run failed before it began, or its folder was removed.
            runs.append(None)
    return runs


def find_compared_folders(name: str, root: Path) -> list[Path]:
    """Return the folders of a group's runs; empty if the name is not that of a group."""
    group = None if name == LAST and not is_group_folder(Path(name)) else find_group(name, root)
    return [] if group is None else [run.path for run in _read_runs(group) if run is not None]


def read_group(group: StoredGroup) -> GroupResult:
    """Return the scores and the comparison of a group's runs, as far as they are complete."""
    runs = _read_runs(group)
    metrics = [[] if run is None else run.metrics() for run in runs]
    rows = [
        GroupRow(
            member.model if run is None else run.manifest.model_title,
            member.prompt if run is None else run.manifest.prompt,
            None if run is None else run.manifest,
            found,
            "failed" if member.problems or run is None else str(run.manifest.status),
        )
        for member, run, found in zip(group.group.runs, runs, metrics, strict=True)
    ]
    compared = tuple(run for run, found in zip(runs, metrics, strict=True) if run is not None and found)
    comparison, notes = None, tuple[str, ...]()
    if len(compared) > 1:
        try:
            comparison = compare(compared).comparison
        except UsageError as error:
            notes = tuple(problem.what for problem in error.problems)
    return GroupResult(group.path, group, tuple(rows), tuple(runs), compared, comparison, notes)


def write_group_page(result: GroupResult) -> Path | None:
    """Write the comparison of a group as a page in its folder; return it, or None without a comparison."""
    if result.comparison is None or len(result.compared) > _MOST_ON_PAGE:
        return None
    page = result.folder / PAGE
    write_known_comparison(result.comparison, result.compared, page)
    return page
