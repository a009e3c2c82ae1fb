"""The leaderboard of run folders, and of runs that other machines added to a shared database.

Each folder has its own index file; with a named database, all folders share that one. Only runs whose files
changed are read again.
"""

from __future__ import annotations

import socket
from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.app.benchmarks import get_source
from assay.core.errors import Problem, StoreError, UsageError
from assay.core.origin import Origin
from assay.core.run_index import SampleValues
from assay.ledger.database import MEMORY, Database, open_database
from assay.ledger.runs import RunIndex
from assay.results.indexing import read_run, read_stamp
from assay.results.leaderboard.abilities import Abilities, read_abilities
from assay.results.leaderboard.board import Board
from assay.results.leaderboard.build import make_board
from assay.results.leaderboard.entries import BoardRun
from assay.results.run_list import build_unreadable_error, is_run_folder, iter_run_folders
from assay.results.store import MANIFEST

INDEX_FILE = ".assay.db"
_OWN_FOLDER = "."
"""The root of runs in an index that is stored in their folder: stays correct when the folder is moved."""


class _IndexedFolder(NamedTuple):
    """A folder of runs and its index."""

    folder: Path
    runs: RunIndex
    host: str
    root: str


class IndexedRuns:
    """Run folders with their open indexes. Threads may share it."""

    def __init__(self, folders: Sequence[Path], database: str | None = None) -> None:
        """Open the indexes: one file per folder, or the named database.

        A folder that is not writable is indexed in memory, with a note.
        """
        _check(folders)
        self._databases: list[Database] = []
        self._folders: list[_IndexedFolder] = []
        notes: list[str] = []
        if database is None:
            for folder in folders:
                self._databases.append(_open_folder_index(folder, notes))
                self._folders.append(_IndexedFolder(folder, RunIndex(self._databases[-1]), "", _OWN_FOLDER))
            self._indexes = [indexed.runs for indexed in self._folders]
        else:
            opened = open_database(database)
            self._databases.append(opened)
            self._indexes = [RunIndex(opened)]
            # A file is used by one machine alone, whatever that is called today.
            host = socket.gethostname() if opened.is_shared else ""
            self._folders = [
                _IndexedFolder(folder, self._indexes[0], host, str(folder.resolve())) for folder in folders
            ]
        self.notes = tuple(notes)
        """Notes about the indexes."""

    def close(self) -> None:
        """Close the databases."""
        for database in self._databases:
            database.close()

    def refresh(self) -> list[Problem]:
        """Read changed runs and remove deleted ones; return the problems of unreadable runs."""
        return [problem for indexed in self._folders for problem in _refresh(indexed)]

    @property
    def revision(self) -> tuple[str, ...]:
        """Return a value that changes whenever an indexed run does."""
        return tuple(index.revision() for index in self._indexes)

    def datasets(self) -> set[str]:
        """Return the names of all datasets that have runs."""
        tasks = [task for index in self._indexes for known in index.runs() for task in known.run.tasks]
        return {name for task in tasks for name in (task.name, task.family) if name is not None}

    def board(
        self,
        *,
        headlines: Mapping[str, str] | None = None,
        registered: Mapping[str, str] | None = None,
        abilities: Abilities | None = None,
        model_names: Mapping[str, str] | None = None,
    ) -> Board:
        """Return the leaderboard of all indexed runs.

        `headlines`: metrics chosen by the user. `registered`: the headline metrics of registered datasets.
        `model_names`: display names of models instead of their addresses.
        """
        runs = []
        for place, index in enumerate(self._indexes):
            metrics = index.metrics()
            for known in index.runs():
                run = known.run
                if run.root == _OWN_FOLDER:
                    folder = self._folders[place].folder.resolve()
                    run = msgspec.structs.replace(
                        run, root=str(folder.parent if is_run_folder(folder) else folder)
                    )
                runs.append(BoardRun((place, known.key), run, metrics.get(known.key, ())))

        def values_of(key: Hashable, task: str, method: str, metric: str) -> SampleValues | None:
            assert isinstance(key, tuple)
            place, number = key
            return self._indexes[place].values(number, task, method, metric)

        return make_board(
            runs,
            values_of,
            headlines=headlines,
            registered=registered,
            abilities=abilities,
            model_names=model_names,
        )


class RankedRuns(NamedTuple):
    """The leaderboard of some folders."""

    board: Board
    problems: tuple[Problem, ...]
    """The problems of unreadable runs."""
    notes: tuple[str, ...]
    """Notes about the indexes."""


def rank_runs(
    folders: Sequence[Path],
    database: str | None = None,
    *,
    headlines: Mapping[str, str] | None = None,
    abilities_file: Path | None = None,
) -> RankedRuns:
    """Read changed runs and return the leaderboard; `abilities_file` groups the datasets by ability."""
    abilities = None if abilities_file is None else read_abilities(abilities_file)
    with closing(IndexedRuns(folders, database)) as runs:
        problems = runs.refresh()
        named = {_get_task_name(name): metric for name, metric in (headlines or {}).items()}
        return RankedRuns(runs.board(headlines=named, abilities=abilities), tuple(problems), runs.notes)


def _get_task_name(name: str) -> str:
    """Return the task of a dataset's name: tasks of lm-eval keep their names in a run."""
    source = get_source(name)
    return name.removeprefix(f"{source.name}:") if source is not None and source.name == "lm_eval" else name


def format_run_problem(problem: Problem) -> str:
    """Return the problem of an unreadable run with the run's name, not its path, for visitors of a server."""
    if problem.where is None:
        return f"{problem.code}: {problem.what}"
    path = Path(problem.where.path)
    return f"{problem.code} {path.parent.name if path.name == MANIFEST else path.name}: {problem.what}"


def _check(folders: Sequence[Path]) -> None:
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(
                Problem(
                    "BOARD-005",
                    "the folder of runs does not exist",
                    "name a folder that contains runs",
                    Origin(str(folder)),
                )
            )
        if not is_run_folder(folder):
            next(iter_run_folders(folder), None)  # Raises if the folder cannot be read.


def _open_folder_index(folder: Path, notes: list[str]) -> Database:
    """Open the index stored in a folder of runs; a single run's folder is never written to."""
    if is_run_folder(folder):
        return open_database(MEMORY)
    try:
        return open_database(folder / INDEX_FILE)
    except StoreError as error:
        what = error.problems[0].what
        notes.append(f"{folder}: indexed in memory, so its runs are read again each time: {what}")
        return open_database(MEMORY)


def _refresh(indexed: _IndexedFolder) -> list[Problem]:
    known = indexed.runs.stamps(indexed.host, indexed.root)
    problems: list[Problem] = []
    seen = set()
    try:
        folders = (
            [indexed.folder] if is_run_folder(indexed.folder) else list(iter_run_folders(indexed.folder))
        )
    except StoreError as error:
        # Deleted runs cannot be determined, so the known ones stay.
        return list(error.problems)
    for folder in folders:
        try:
            if known.get(folder.name) != read_stamp(folder):
                indexed.runs.put(read_run(folder, host=indexed.host, root=indexed.root))
            seen.add(folder.name)
        except StoreError as error:
            problems += error.problems
        except OSError as error:
            problems += build_unreadable_error(folder, error).problems
    # Runs that have become unreadable leave the index.
    gone = known.keys() - seen
    if gone:
        indexed.runs.remove(indexed.host, indexed.root, gone)
    return problems
