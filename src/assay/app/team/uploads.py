"""Store uploaded datasets: only tables, of limited size, and checked before they are stored."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

import msgspec

from assay.app.team.messages import Check
from assay.app.team.plan import EvaluationSettings, make_plan
from assay.app.team.registering import check_name
from assay.app.team.team import Team
from assay.core.disk_space import reporting_disk_full
from assay.core.errors import AuthorError, Problem, UsageError, listing
from assay.core.roles import Bearer
from assay.core.team import Provenance, RegisteredDataset, RegisteredModel

SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
"""File types that may be uploaded: nothing executable and no archives."""
_MB = 1_000_000


class Upload(msgspec.Struct, frozen=True):
    """An uploaded dataset."""

    name: str
    """The name under which it is registered."""
    file_name: str
    """The original file name; only the suffix is used."""
    content: bytes
    meta: bytes | None = None
    """Describes its columns, like `<file>.meta.json`."""
    explanation: str = ""
    abilities: tuple[str, ...] = ()
    headline: str | None = None


def store_upload(team: Team, upload: Upload, by: Bearer) -> RegisteredDataset:
    """Check a dataset like `assay check` does, and register it."""
    name = check_name(upload.name)
    suffix = _suffix(upload.file_name)
    _check_upload_size(team, len(upload.content) + len(upload.meta or b""))
    folder = team.settings.uploads / f"{name}-{secrets.token_hex(4)}"
    path = folder / f"{name}{suffix}"
    try:
        with reporting_disk_full(Path(name), "ask the owner to free space on the server's disk"):
            folder.mkdir(parents=True)
            path.write_bytes(upload.content)
            if upload.meta is not None:
                path.with_name(path.name + ".meta.json").write_bytes(upload.meta)
        dataset = RegisteredDataset(
            name,
            str(path),
            "table",
            Provenance.UPLOAD,
            upload.explanation,
            upload.abilities,
            headline=upload.headline,
            added_by=by.name,
        )
        _check(team, dataset)
        return team.datasets.add(dataset)
    except BaseException:
        if folder.exists():
            shutil.rmtree(folder)
        raise


def delete_upload(team: Team, name: str) -> None:
    """Delete an uploaded dataset and its file, unless an evaluation still needs it.

    Its runs do not depend on it and stay.
    """
    dataset = team.datasets.delete(
        name, lambda connection: team.queue.require_unused_dataset(connection, name)
    )
    shutil.rmtree(Path(dataset.place).parent)


def _check(team: Team, dataset: RegisteredDataset) -> None:
    path = Path(dataset.place)
    here = msgspec.structs.replace(dataset, place=path.name)
    plan = make_plan(RegisteredModel("mock", "mock"), [here], EvaluationSettings(), judge=None, of_server={})
    team.asker.ask(
        Check(
            plan,
            (),
            folder=str(path.parent),
            headline=dataset.headline,
            memory_mb=team.settings.check_mb,
        )
    )


def _suffix(file_name: str) -> str:
    suffix = Path(file_name).suffix.lower()
    if suffix not in SUFFIXES:
        what = f"files such as {file_name[-40:]!r} cannot be uploaded"
        fix = f"upload one of {listing(SUFFIXES)}; the owner can put other datasets into a server folder"
        raise AuthorError(Problem("TEAM-043", what, fix))
    return suffix


def _check_upload_size(team: Team, n_bytes: int) -> None:
    of_one, of_all = team.settings.max_upload_mb * _MB, team.settings.max_uploads_mb * _MB
    if n_bytes > of_one:
        what = f"the dataset has {n_bytes:,} bytes, but the limit is {of_one:,}"
        raise UsageError(
            Problem("TEAM-044", what, "upload a part of it, or ask the owner to put it into a server folder")
        )
    stored = sum(path.stat().st_size for path in team.settings.uploads.rglob("*") if path.is_file())
    if stored + n_bytes > of_all:
        what = f"all uploads together would have {stored + n_bytes:,} bytes, but the limit is {of_all:,}"
        raise UsageError(Problem("TEAM-044", what, "delete some uploads first"))
