"""The team: everything that its server stores, as one object for the user interfaces."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import TracebackType

from assay.app.team.child import OrderRunner
from assay.app.team.settings import TeamSettings
from assay.ledger.database import MEMORY, Database, open_database
from assay.ledger.datasets import Datasets
from assay.ledger.jobs import JobQueue
from assay.ledger.models import Models
from assay.ledger.tokens import Tokens


class Team:
    """The settings and stored data of a team server. Threads may share it."""

    def __init__(self, settings: TeamSettings, database: Database) -> None:
        self.settings = settings
        self.database = database
        self.queue = JobQueue(database)
        self.models = Models(database)
        self.datasets = Datasets(database)
        self.tokens = Tokens(database)
        self.asker = OrderRunner(settings.check_s)

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.asker.end()
        self.database.close()


def open_team(settings: TeamSettings) -> Team:
    """Open the team's database; create it if there is none, readable only by this user."""
    make_private(settings)
    return Team(settings, open_database(settings.database_place))


def make_private(settings: TeamSettings) -> None:
    """Protect the team's folder and database file from other users of the machine.

    They contain uploads, logs and token hashes. Folders and files of another owner stay unchanged.
    """
    home = Path(settings.home)
    place = settings.database_place
    paths = [home]
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if "://" not in place and place != MEMORY:
            Path(place).parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(place, os.O_CREAT | os.O_RDWR, 0o600))
            paths.append(Path(place))
        for path in paths:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077 and path.stat().st_uid == os.geteuid():
                path.chmod(mode & ~0o077)
    except OSError:
        return  # Opening the database reports the error.
