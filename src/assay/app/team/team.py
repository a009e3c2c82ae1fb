"""The team: all that its server keeps, behind one door for the faces."""

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
    """What a team's server is set up with and keeps. Threads may share it."""

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
    """Open the team's database; it is made where there is none, for this user alone."""
    make_private(settings)
    return Team(settings, open_database(settings.database_place))


def make_private(settings: TeamSettings) -> None:
    """Keep the folder of the team and its database file from other users of the machine.

    Uploads, logs and the hashes of tokens are in there. A folder or file of another owner stays as it is.
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
        return  # Opening the database says what is wrong with the place.
