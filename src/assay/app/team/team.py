"""The team: all that its server keeps, behind one door for the faces."""

from __future__ import annotations

from types import TracebackType

from assay.app.team.child import Asker
from assay.app.team.settings import TeamSettings
from assay.ledger.database import Database, open_database
from assay.ledger.datasets import Datasets
from assay.ledger.jobs import Queue
from assay.ledger.models import Models
from assay.ledger.tokens import Tokens


class Team:
    """What a team's server is set up with and keeps. Threads may share it."""

    def __init__(self, settings: TeamSettings, database: Database) -> None:
        self.settings = settings
        self.database = database
        self.queue = Queue(database)
        self.models = Models(database)
        self.datasets = Datasets(database)
        self.tokens = Tokens(database)
        self.asker = Asker(settings.check_s)

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.asker.end()
        self.database.close()


def open_team(settings: TeamSettings) -> Team:
    """Open the team's database; it is made where there is none."""
    return Team(settings, open_database(settings.database_place))
