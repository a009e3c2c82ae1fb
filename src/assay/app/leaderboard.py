"""The leaderboard of folders of runs, and of what other machines added to a shared database.

Each folder of runs keeps its index in a file of its own; with a database that is named, all go there. Only
runs whose files changed are read again.
"""

from __future__ import annotations

import socket
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core.errors import Problem, StoreError, UsageError
from assay.core.origin import Origin
from assay.core.run_index import SampleValues
from assay.ledger.database import MEMORY, Database, open_database
from assay.ledger.runs import RunIndex
from assay.results.indexing import read_run, stamp_of
from assay.results.leaderboard.abilities import Abilities
from assay.results.leaderboard.board import Board
from assay.results.leaderboard.entries import BoardRun
from assay.results.leaderboard.make import make_board
from assay.results.read import run_folders

INDEX_FILE = ".assay.db"
_OWN_FOLDER = "."
"""The root of runs in an index that lies beside them: it stays right when the folder is moved."""


class _Shelf(NamedTuple):
    """A folder of runs and the index that it is kept in."""

    folder: Path
    runs: RunIndex
    host: str
    root: str


class IndexedRuns:
    """Folders of runs with their indexes, open."""

    def __init__(self, shelves: Sequence[_Shelf], indexes: Sequence[RunIndex], notes: Sequence[str]) -> None:
        self._shelves = shelves
        self._indexes = indexes
        self.notes = tuple(notes)
        """What to know of the indexes."""

    def refresh(self) -> list[Problem]:
        """Read what changed in the folders, and forget what is gone; return what could not be read."""
        return [problem for shelf in self._shelves for problem in _refresh(shelf)]

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
    ) -> Board:
        """Return the leaderboard of all indexed runs.

        `headlines`: metrics that somebody asks for. `registered`: those by which datasets are known.
        """
        folders = {id(shelf.runs): str(shelf.folder) for shelf in self._shelves if shelf.root == _OWN_FOLDER}
        runs = []
        for place, index in enumerate(self._indexes):
            metrics = index.metrics()
            for known in index.runs():
                run = known.run
                if run.root == _OWN_FOLDER:
                    run = msgspec.structs.replace(run, root=folders[id(index)])
                runs.append(BoardRun((place, known.key), run, metrics.get(known.key, ())))

        def values_of(key: Hashable, task: str, method: str, metric: str) -> SampleValues | None:
            assert isinstance(key, tuple)
            place, number = key
            return self._indexes[place].values(number, task, method, metric)

        return make_board(runs, values_of, headlines=headlines, registered=registered, abilities=abilities)


@contextmanager
def indexed_runs(folders: Sequence[Path], database: str | None = None) -> Iterator[IndexedRuns]:
    """Open the indexes of folders of runs: a file in each, or the one database that is named.

    A folder that cannot be written to is indexed in memory, which is said.
    """
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
    opened: list[Database] = []
    notes: list[str] = []
    try:
        if database is not None:
            opened.append(open_database(database))
            index = RunIndex(opened[0])
            # A file is used by one machine alone, whatever that is called today.
            host = socket.gethostname() if opened[0].is_shared else ""
            shelves = [_Shelf(folder, index, host, str(folder.resolve())) for folder in folders]
            yield IndexedRuns(shelves, [index], notes)
            return
        shelves = []
        for folder in folders:
            opened.append(_own_database(folder, notes))
            shelves.append(_Shelf(folder, RunIndex(opened[-1]), "", _OWN_FOLDER))
        yield IndexedRuns(shelves, [shelf.runs for shelf in shelves], notes)
    finally:
        for one in opened:
            one.close()


def _own_database(folder: Path, notes: list[str]) -> Database:
    try:
        return open_database(folder / INDEX_FILE)
    except StoreError as error:
        what = error.problems[0].what
        notes.append(f"{folder}: its runs are indexed in memory, and read anew each time: {what}")
        return open_database(MEMORY)


def _refresh(shelf: _Shelf) -> list[Problem]:
    known = shelf.runs.stamps(shelf.host, shelf.root)
    problems: list[Problem] = []
    seen = set()
    for folder in run_folders(shelf.folder):
        if known.get(folder.name) == stamp_of(folder):
            seen.add(folder.name)
            continue
        try:
            shelf.runs.put(read_run(folder, host=shelf.host, root=shelf.root))
            seen.add(folder.name)
        except StoreError as error:
            problems += error.problems
    # What cannot be read any more is not shown as it was before.
    gone = known.keys() - seen
    if gone:
        shelf.runs.remove(shelf.host, shelf.root, gone)
    return problems
