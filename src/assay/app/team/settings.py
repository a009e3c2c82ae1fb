"""The settings of a team server: from `assay-team.toml` in the working folder, overridden by flags."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay.app.benchmarks import get_source
from assay.core.errors import Problem, UsageError, explain_type_error, listing, suggest_name
from assay.core.origin import Origin

FILE = "assay-team.toml"


class DatasetDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The owner's description of a dataset, overriding its own registry: `[dataset.NAME]` in the file."""

    explanation: str | None = None
    """What it tests, in one sentence."""
    abilities: tuple[str, ...] | None = None
    """The abilities that it tests; leaderboards group by them."""
    metrics: tuple[str, ...] | None = None
    headline: str | None = None
    """The metric that a leaderboard shows."""
    settings: dict[str, Any] = {}
    """Default settings of `assay run` for evaluations of it."""


class TeamSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All settings of a team server."""

    home: str = "assay-team"
    """The server's folder: its database, uploads and logs."""
    database: str | None = None
    """A file, or `postgresql://...`. None: a file in `home`."""
    runs_dir: str = "runs"
    """Where the runs of evaluations are stored."""
    workers: Annotated[int, msgspec.Meta(ge=0, le=64)] = 1
    """Concurrent evaluations on this machine; 0: none, other machines run them."""
    datasets: tuple[str, ...] = ()
    """Folders whose tables are registered. Python code in them does not run."""
    allow_python: tuple[str, ...] = ()
    """Folders whose datasets are registered, including those written in Python, and benchmarks by name: their
    code runs."""
    data_root: str | None = None
    """The folder with data by name, for datasets that look for it there."""
    max_upload_mb: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 64
    """Maximum size of an uploaded dataset."""
    max_uploads_mb: Annotated[int, msgspec.Meta(ge=1)] = 2_048
    """Maximum total size of all uploads."""
    max_waiting: Annotated[int, msgspec.Meta(ge=1)] = 1_000
    """Maximum number of queued evaluations."""
    lease_s: Annotated[float, msgspec.Meta(ge=1)] = 15.0
    """How long a worker may be silent before its evaluation is given to another."""
    check_s: Annotated[float, msgspec.Meta(gt=0)] = 120.0
    """Time limit for checking a request or an upload."""
    check_mb: Annotated[int, msgspec.Meta(ge=200)] = 2_000
    """Memory limit for checking an upload."""
    offline: bool = False
    """Whether evaluations may connect only to the endpoints of their models."""
    dataset: dict[str, DatasetDescription] = {}
    """The owner's descriptions of datasets, by name."""

    @property
    def database_place(self) -> str:
        """Return the address of the database."""
        return self.database or str(Path(self.home) / "team.db")

    @property
    def uploads(self) -> Path:
        """Return the folder of uploaded datasets."""
        return Path(self.home) / "uploads"

    @property
    def logs(self) -> Path:
        """Return the folder of evaluation logs."""
        return Path(self.home) / "logs"


_KINDS = {field.name: field.type for field in msgspec.structs.fields(TeamSettings)}
_PATHS = ("home", "runs_dir", "data_root")
_FOLDERS = ("datasets", "allow_python")


def resolve_team_settings(flags: Mapping[str, Any], folder: Path) -> TeamSettings:
    """Combine the settings; a flag that was not given is None or empty. Paths become absolute."""
    path = folder / FILE
    from_file = _from_file(path)
    # Paths in the file are relative to the file, and paths in flags to the working folder.
    values = _make_paths_absolute(from_file, folder) | _make_paths_absolute(
        {name: value for name, value in flags.items() if value not in (None, ())}, Path.cwd()
    )
    converted: dict[str, Any] = {}
    for name, value in values.items():
        if name not in _KINDS:
            what = f"unknown setting {name!r}{suggest_name(name, _KINDS)}"
            raise UsageError(
                Problem("TEAM-050", what, f"use one of {listing(_KINDS, at_most=40)}", Origin(FILE))
            )
        try:
            converted[name] = msgspec.convert(value, _KINDS[name])
        except msgspec.ValidationError as error:
            what = f"setting {name!r} is {value!r}: {explain_type_error(error)}"
            raise UsageError(Problem("TEAM-050", what, "correct the value", Origin(FILE))) from error
    defaults = _make_paths_absolute(msgspec.structs.asdict(TeamSettings()), Path.cwd())
    settings = TeamSettings(**defaults | converted)
    for named in (*settings.datasets, *settings.allow_python):
        if get_source(named) is None and not Path(named).is_dir():
            what = f"the dataset folder {named!r} does not exist"
            raise UsageError(Problem("TEAM-051", what, "name an existing folder"))
    return settings


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        what = f"the file is not valid TOML: {error}"
        raise UsageError(Problem("TEAM-050", what, "correct the file", Origin(FILE))) from error


def _make_paths_absolute(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return settings whose paths do not depend on the working folder; values of wrong types are kept."""

    def make_absolute(path: Any) -> Any:
        is_path = isinstance(path, str) and get_source(path) is None
        return str((folder / path).absolute()) if is_path else path

    absolute = dict(values)
    for name in _PATHS:
        if name in absolute:
            absolute[name] = make_absolute(absolute[name])
    for name in _FOLDERS:
        if isinstance(absolute.get(name), list | tuple):
            absolute[name] = [make_absolute(path) for path in absolute[name]]
    if isinstance(database := absolute.get("database"), str) and "://" not in database:
        absolute["database"] = make_absolute(database)
    return absolute
