"""How a team's server is set up: by `assay-team.toml` in the working folder, and by flags, which win."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.origin import Origin

FILE = "assay-team.toml"


class DatasetDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the owner says of a dataset, over what its own registry says: `[dataset.NAME]` in the file."""

    explanation: str | None = None
    """What it tests, in a sentence."""
    abilities: tuple[str, ...] | None = None
    """The abilities that it tests; leaderboards group by them."""
    metrics: tuple[str, ...] | None = None
    headline: str | None = None
    """The one metric that a leaderboard shows."""
    settings: dict[str, Any] = {}
    """Settings of `assay run` that evaluations of it have unless they say otherwise."""


class TeamSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Everything that can be set for a team's server."""

    home: str = "assay-team"
    """The server's own folder: its database, uploads and logs."""
    database: str | None = None
    """A file, or `postgresql://...`. None: a file in `home`."""
    runs_dir: str = "runs"
    """Where the runs of evaluations are kept."""
    workers: Annotated[int, msgspec.Meta(ge=0, le=64)] = 1
    """Evaluations that are done at a time on this machine; 0: none, others do them."""
    datasets: tuple[str, ...] = ()
    """Folders whose tables are registered. No Python in them is run."""
    allow_python: tuple[str, ...] = ()
    """Folders whose datasets are registered, those written in Python too: their code is run."""
    data_root: str | None = None
    """The folder that holds data by name, for datasets that look for theirs there."""
    max_upload_mb: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 64
    """The largest dataset that may be uploaded."""
    max_uploads_mb: Annotated[int, msgspec.Meta(ge=1)] = 2_048
    """The most that all uploads together may take."""
    max_waiting: Annotated[int, msgspec.Meta(ge=1)] = 1_000
    """The most evaluations that may wait in the queue."""
    lease_s: Annotated[float, msgspec.Meta(ge=1)] = 15.0
    """How long a worker may be silent before its evaluation is given to another."""
    check_s: Annotated[float, msgspec.Meta(gt=0)] = 120.0
    """How long it may take to check what was asked for, or uploaded."""
    check_mb: Annotated[int, msgspec.Meta(ge=200)] = 2_000
    """How much memory it may take to check what was uploaded."""
    offline: bool = False
    """Whether evaluations connect to nothing but the endpoints of their models."""
    dataset: dict[str, DatasetDescription] = {}
    """What the owner says of datasets, by name."""

    @property
    def database_place(self) -> str:
        """Return where the database is."""
        return self.database or str(Path(self.home) / "team.db")

    @property
    def uploads(self) -> Path:
        """Return the folder of uploaded datasets."""
        return Path(self.home) / "uploads"

    @property
    def logs(self) -> Path:
        """Return the folder of what evaluations wrote to their terminals."""
        return Path(self.home) / "logs"


_KINDS = {field.name: field.type for field in msgspec.structs.fields(TeamSettings)}
_PATHS = ("home", "runs_dir", "data_root")
_FOLDERS = ("datasets", "allow_python")


def resolve_team_settings(flags: Mapping[str, Any], folder: Path) -> TeamSettings:
    """Put the settings together; a flag that was not given is None or empty. Paths become absolute."""
    path = folder / FILE
    said = _from_file(path)
    # Paths in the file count from where the file is, and flags from where the command is given.
    values = _make_paths_absolute(said, folder) | _make_paths_absolute(
        {name: value for name, value in flags.items() if value not in (None, ())}, Path.cwd()
    )
    made: dict[str, Any] = {}
    for name, value in values.items():
        if name not in _KINDS:
            what = f"unknown setting {name!r}{suggest_name(name, _KINDS)}"
            raise UsageError(
                Problem("TEAM-050", what, f"use one of {listing(_KINDS, at_most=40)}", Origin(FILE))
            )
        try:
            made[name] = msgspec.convert(value, _KINDS[name])
        except msgspec.ValidationError as error:
            what = f"setting {name!r}: found {value!r}: {error}"
            raise UsageError(Problem("TEAM-050", what, "correct the value", Origin(FILE))) from error
    settings = TeamSettings(**_make_paths_absolute(msgspec.structs.asdict(TeamSettings()), Path.cwd()) | made)
    for named in (*settings.datasets, *settings.allow_python):
        if not Path(named).is_dir():
            what = f"there is no folder {named!r} of datasets"
            raise UsageError(Problem("TEAM-051", what, "name a folder that is there"))
    return settings


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        what = f"not valid TOML: {error}"
        raise UsageError(Problem("TEAM-050", what, "correct the file", Origin(FILE))) from error


def _make_paths_absolute(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return settings whose paths do not depend on the working folder; wrong types are left alone."""

    def placed(path: Any) -> Any:
        return str((folder / path).absolute()) if isinstance(path, str) else path

    made = dict(values)
    for name in _PATHS:
        if name in made:
            made[name] = placed(made[name])
    for name in _FOLDERS:
        if isinstance(made.get(name), list | tuple):
            made[name] = [placed(path) for path in made[name]]
    if isinstance(database := made.get("database"), str) and "://" not in database:
        made["database"] = placed(database)
    return made
