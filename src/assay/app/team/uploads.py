"""Datasets that come over the network: tables only, bounded, and looked at before they are kept."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

import msgspec

from assay.app.team.messages import Check
from assay.app.team.plan import AskedSettings, make_plan
from assay.app.team.registering import check_name
from assay.app.team.team import Team
from assay.core.errors import AuthorError, Problem, UsageError, listing
from assay.core.roles import Bearer
from assay.ledger.datasets import Dataset, Provenance
from assay.ledger.models import Model
from assay.results.disk_space import reporting_disk_full

SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
"""What may be uploaded: nothing that is run, and nothing that unpacks."""
_MB = 1_000_000


class Upload(msgspec.Struct, frozen=True):
    """A dataset as it came."""

    name: str
    """Under which it is registered."""
    file_name: str
    """What its file was called; only the suffix is used."""
    content: bytes
    meta: bytes | None = None
    """What describes its columns, as `<file>.meta.json` does."""
    explanation: str = ""
    abilities: tuple[str, ...] = ()
    headline: str | None = None


def store_upload(team: Team, upload: Upload, by: Bearer) -> Dataset:
    """Check a dataset as `assay check` does, and register it."""
    name = check_name(upload.name)
    suffix = _suffix(upload.file_name)
    _check_upload_size(team, len(upload.content) + len(upload.meta or b""))
    folder = team.settings.uploads / f"{name}-{secrets.token_hex(4)}"
    path = folder / f"{name}{suffix}"
    try:
        with reporting_disk_full(Path(name), "have the owner make room on the server's disk"):
            folder.mkdir(parents=True)
            path.write_bytes(upload.content)
            if upload.meta is not None:
                path.with_name(path.name + ".meta.json").write_bytes(upload.meta)
        dataset = Dataset(
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
    """Forget an uploaded dataset, with its file, unless an evaluation still needs it.

    Runs on it stand alone, and stay.
    """
    dataset = team.datasets.delete(
        name, lambda connection: team.queue.require_unused_dataset(connection, name)
    )
    shutil.rmtree(Path(dataset.place).parent)


def _check(team: Team, dataset: Dataset) -> None:
    path = Path(dataset.place)
    here = msgspec.structs.replace(dataset, place=path.name)
    plan = make_plan(Model("mock", "mock"), [here], AskedSettings(), judge=None, of_server={})
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
        what = f"a file {file_name[-40:]!r} is not taken"
        fix = f"upload one of {listing(SUFFIXES)}; the owner puts other datasets into a folder of the server"
        raise AuthorError(Problem("TEAM-043", what, fix))
    return suffix


def _check_upload_size(team: Team, n_bytes: int) -> None:
    of_one, of_all = team.settings.max_upload_mb * _MB, team.settings.max_uploads_mb * _MB
    if n_bytes > of_one:
        what = f"the dataset has {n_bytes:,} bytes, {of_one:,} are allowed"
        raise UsageError(
            Problem("TEAM-044", what, "upload a part of it, or have the owner put it into a folder")
        )
    kept = sum(path.stat().st_size for path in team.settings.uploads.rglob("*") if path.is_file())
    if kept + n_bytes > of_all:
        what = f"all uploads together would have {kept + n_bytes:,} bytes, {of_all:,} are allowed"
        raise UsageError(Problem("TEAM-044", what, "delete some first"))
