"""The leaderboard of folders of runs, and of what other machines added to a shared database.

Each folder of runs keeps its index in a file of its own; with a database that is named, all go there. Only
runs whose files changed are read again.
"""

from __future__ import annotations

import socket
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core.errors import Problem, StoreError, UsageError
from assay.core.origin import Origin
from assay.core.run_index import SampleValues
from assay.ledger.database import MEMORY, Database, open_database
from assay.ledger.runs import RunIndex
from assay.results.indexing import read_run, read_stamp
from assay.results.leaderboard.abilities import Abilities
from assay.results.leaderboard.board import Board
from assay.results.leaderboard.build import make_board
from assay.results.leaderboard.entries import BoardRun
from assay.results.run_list import build_unreadable_error, is_run_folder, iter_run_folders

INDEX_FILE = ".assay.db"
_OWN_FOLDER = "."
"""The root of runs in an index that lies beside them: it stays right when the folder is moved."""


class _IndexedFolder(NamedTuple):
    """A folder of runs and the index that it is kept in."""

    folder: Path
    runs: RunIndex
    host: str
    root: str


class IndexedRuns:
    """Folders of runs with their indexes, open. Threads may share it."""

    def __init__(self, folders: Sequence[Path], database: str | None = None) -> None:
        """Open the indexes: a file in each folder, or the one database that is named.

        A folder that cannot be written to is indexed in memory, which is said.
        """
        _check(folders)
        self._databases: list[Database] = []
        self._shelves: list[_IndexedFolder] = []
        notes: list[str] = []
        if database is None:
            for folder in folders:
                self._databases.append(_open_folder_index(folder, notes))
                self._shelves.append(_IndexedFolder(folder, RunIndex(self._databases[-1]), "", _OWN_FOLDER))
            self._indexes = [shelf.runs for shelf in self._shelves]
        else:
            opened = open_database(database)
            self._databases.append(opened)
            self._indexes = [RunIndex(opened)]
            # A file is used by one machine alone, whatever that is called today.
            host = socket.gethostname() if opened.is_shared else ""
            self._shelves = [
                _IndexedFolder(folder, self._indexes[0], host, str(folder.resolve())) for folder in folders
            ]
        self.notes = tuple(notes)
        """What to know of the indexes."""

    def close(self) -> None:
        """Let go of the databases."""
        for database in self._databases:
            database.close()

    def refresh(self) -> list[Problem]:
        """Read what changed in the folders, and forget what is gone; return what could not be read."""
        return [problem for shelf in self._shelves for problem in _refresh(shelf)]

    @property
    def revision(self) -> tuple[str, ...]:
        """Return what changes whenever an indexed run does."""
        return tuple(index.revision() for index in self._indexes)

    def datasets(self) -> set[str]:
        """Return the names of the datasets that runs have."""
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

        `headlines`: metrics that somebody asks for. `registered`: those by which datasets are known.
        `model_names`: what models are called by, in place of their addresses.
        """
        runs = []
        for place, index in enumerate(self._indexes):
            metrics = index.metrics()
            for known in index.runs():
                run = known.run
                if run.root == _OWN_FOLDER:
                    folder = self._shelves[place].folder.resolve()
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


def _check(folders: Sequence[Path]) -> None:
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(
                Problem(
                    "BOARD-005",
                    "there is no such folder of runs",
                    "name a folder that holds runs",
                    Origin(str(folder)),
                )
            )
        if not is_run_folder(folder):
            next(iter_run_folders(folder), None)  # Raises where it cannot be read.


def _open_folder_index(folder: Path, notes: list[str]) -> Database:
    """Return the database that lies in a folder of runs; a run's own folder is not written to."""
    if is_run_folder(folder):
        return open_database(MEMORY)
    try:
        return open_database(folder / INDEX_FILE)
    except StoreError as error:
        what = error.problems[0].what
        notes.append(f"{folder}: its runs are indexed in memory, and read anew each time: {what}")
        return open_database(MEMORY)


def _refresh(shelf: _IndexedFolder) -> list[Problem]:
    known = shelf.runs.stamps(shelf.host, shelf.root)
    problems: list[Problem] = []
    seen = set()
    try:
        folders = [shelf.folder] if is_run_folder(shelf.folder) else list(iter_run_folders(shelf.folder))
    except StoreError as error:
        # Nobody can tell what is gone: what was known stays.
        return list(error.problems)
    for folder in folders:
        try:
            if known.get(folder.name) != read_stamp(folder):
                shelf.runs.put(read_run(folder, host=shelf.host, root=shelf.root))
            seen.add(folder.name)
        except StoreError as error:
            problems += error.problems
        except OSError as error:
            problems += build_unreadable_error(folder, error).problems
    # What cannot be read any more is not shown as it was before.
    gone = known.keys() - seen
    if gone:
        shelf.runs.remove(shelf.host, shelf.root, gone)
    return problems
