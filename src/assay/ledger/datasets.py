"""The datasets that a team evaluates on, by name, with what each is about and the metric it is judged by.

Those of folders are found anew at every start of the server; those that were uploaded stay until they are
deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy
from sqlalchemy import Column, Connection, Double, Table, Text
from sqlalchemy.exc import IntegrityError

from assay.core.errors import Problem, StoreError, listing, suggest_name
from assay.ledger.schema import METADATA

if TYPE_CHECKING:
    from assay.ledger.database import Database


class Provenance(StrEnum):
    """How a dataset came here."""

    FOLDER = "folder"
    """From a folder that the owner named."""
    UPLOAD = "upload"


class Dataset(msgspec.Struct, frozen=True):
    """A dataset that a model may be evaluated on."""

    name: str
    place: str
    """What `assay run` takes: a path, or `folder:name`."""
    dialect: str
    """The language that it is written in."""
    provenance: Provenance
    explanation: str = ""
    """What it tests, in a sentence."""
    abilities: tuple[str, ...] = ()
    """The abilities that it tests: leaderboards group by them."""
    metrics: tuple[str, ...] = ()
    headline: str | None = None
    """The one metric that a leaderboard shows; None: the one that its method is judged by."""
    settings: dict[str, Any] = {}
    """What evaluations of it are set to unless they say otherwise."""
    added_by: str = ""
    added_at: float = 0.0
    """Seconds since 1970."""


_datasets = Table(
    "assay_datasets",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("place", Text, nullable=False),
    Column("dialect", Text, nullable=False),
    Column("provenance", Text, nullable=False),
    Column("explanation", Text, nullable=False),
    Column("abilities", Text, nullable=False),
    Column("metrics", Text, nullable=False),
    Column("headline", Text),
    Column("settings", Text, nullable=False),
    Column("added_by", Text, nullable=False),
    Column("added_at", Double, nullable=False),
)
_c = _datasets.c
_AS_JSON = ("abilities", "metrics", "settings")


class Datasets:
    """The registered datasets of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, dataset: Dataset) -> Dataset:
        """Register a dataset under a name of its own."""
        with self._database.writing() as connection:
            return self._insert(connection, dataset)

    def replace_folders(self, found: Sequence[Dataset]) -> None:
        """Have those of folders be exactly the ones that were found now; uploads stay as they are."""
        with self._database.writing() as connection:
            self._database.take_turns(connection)
            connection.execute(_datasets.delete().where(_c.provenance == Provenance.FOLDER))
            for dataset in found:
                self._insert(connection, dataset)

    def get(self, name: str) -> Dataset:
        """Return a dataset, or raise TEAM-041."""
        if "\0" in name:
            # PostgreSQL takes no such text, not even to look for it.
            raise self._build_unknown_error(name)
        with self._database.reading() as connection:
            row = connection.execute(sqlalchemy.select(_datasets).where(_c.name == name)).one_or_none()
        if row is None:
            raise self._build_unknown_error(name)
        return _dataset(row)

    def every(self) -> list[Dataset]:
        """Return all datasets, by name."""
        with self._database.reading() as connection:
            rows = connection.execute(sqlalchemy.select(_datasets))
            # Sorted here: databases do not agree on the order of names.
            return sorted(map(_dataset, rows), key=lambda dataset: dataset.name)

    def require(self, connection: Connection, datasets: Iterable[Dataset]) -> None:
        """Raise where a dataset is not registered any more; inside the transaction that relies on it."""
        places = {row.name: row.place for row in connection.execute(sqlalchemy.select(_c.name, _c.place))}
        for dataset in datasets:
            if places.get(dataset.name) != dataset.place:
                what = f"the dataset {dataset.name!r} was deleted or replaced in the meantime"
                raise StoreError(Problem("TEAM-041", what, "ask again"))

    def delete(self, name: str, require: Callable[[Connection], None] | None = None) -> Dataset:
        """Forget an uploaded dataset, unless `require` raises; return what it was.

        Those of folders are the owner's files.
        """
        dataset = self.get(name)
        if dataset.provenance is not Provenance.UPLOAD:
            what = f"the dataset {name!r} was not uploaded: it lies in a folder of the server"
            raise StoreError(
                Problem("TEAM-042", what, "take its file out of the folder, and start the server anew")
            )
        with self._database.writing() as connection:
            if require is not None:
                self._database.take_turns(connection)
                require(connection)
            gone = connection.execute(_datasets.delete().where(_c.name == name)).rowcount
        if not gone:
            # Somebody else has just deleted it.
            raise self._build_unknown_error(name)
        return dataset

    def _insert(self, connection: Connection, dataset: Dataset) -> Dataset:
        made = msgspec.structs.replace(dataset, added_at=self._database.now(connection))
        row = msgspec.structs.asdict(made)
        row |= {name: msgspec.json.encode(row[name]).decode() for name in _AS_JSON}
        try:
            connection.execute(_datasets.insert().values(row))
        except IntegrityError as error:
            what = f"there is a dataset {dataset.name!r} already"
            raise StoreError(
                Problem("TEAM-040", what, "choose another name, or delete the other one")
            ) from error
        return made

    def _build_unknown_error(self, name: str) -> StoreError:
        known = [dataset.name for dataset in self.every()]
        what = f"there is no dataset {name!r}{suggest_name(name, known)}"
        fix = (
            f"use one of {listing(known)}" if known else "upload one, or name a folder of some to the server"
        )
        return StoreError(Problem("TEAM-041", what, fix))


def _dataset(row: sqlalchemy.Row[Any]) -> Dataset:
    as_json = {name: msgspec.json.decode(getattr(row, name)) for name in _AS_JSON}
    return msgspec.convert({str(name): value for name, value in row._mapping.items()} | as_json, Dataset)
