"""The datasets of a team, by name, with what each one is about and its main metric.

Datasets in folders are found again at every start of the server. Uploaded ones stay until they are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy
from sqlalchemy import Column, Connection, Double, Table, Text
from sqlalchemy.exc import IntegrityError

from assay.core.errors import Problem, StoreError, listing, suggest_name
from assay.core.team import Provenance, RegisteredDataset
from assay.ledger.schema import METADATA

if TYPE_CHECKING:
    from assay.ledger.database import Database


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

    def add(self, dataset: RegisteredDataset) -> RegisteredDataset:
        """Register a dataset under a unique name."""
        with self._database.begin_write() as connection:
            return self._insert(connection, dataset)

    def replace_folders(self, datasets: Sequence[RegisteredDataset]) -> None:
        """Replace the datasets of folders by those found now; uploads are not changed."""
        with self._database.begin_write() as connection:
            self._database.take_turns(connection)
            connection.execute(_datasets.delete().where(_c.provenance == Provenance.FOLDER))
            for dataset in datasets:
                self._insert(connection, dataset)

    def get(self, name: str) -> RegisteredDataset:
        """Return a dataset, or raise TEAM-041."""
        if "\0" in name:
            # PostgreSQL accepts no such text, not even in a query.
            raise self._build_unknown_error(name)
        with self._database.begin_read() as connection:
            row = connection.execute(sqlalchemy.select(_datasets).where(_c.name == name)).one_or_none()
        if row is None:
            raise self._build_unknown_error(name)
        return _dataset(row)

    def every(self) -> list[RegisteredDataset]:
        """Return all datasets, by name."""
        with self._database.begin_read() as connection:
            rows = connection.execute(sqlalchemy.select(_datasets))
            # Sorted here, because databases order names differently.
            return sorted(map(_dataset, rows), key=lambda dataset: dataset.name)

    def require(self, connection: Connection, datasets: Iterable[RegisteredDataset]) -> None:
        """Raise if a dataset is no longer registered; call it inside the transaction that relies on it."""
        places = {row.name: row.place for row in connection.execute(sqlalchemy.select(_c.name, _c.place))}
        for dataset in datasets:
            if places.get(dataset.name) != dataset.place:
                what = f"the dataset {dataset.name!r} has been deleted or replaced"
                raise StoreError(Problem("TEAM-041", what, "submit the request again"))

    def delete(self, name: str, require: Callable[[Connection], None] | None = None) -> RegisteredDataset:
        """Delete an uploaded dataset, unless `require` raises; return it.

        Datasets in folders belong to the owner.
        """
        dataset = self.get(name)
        if dataset.provenance is not Provenance.UPLOAD:
            what = f"the dataset {name!r} was not uploaded: it is in a folder of the server"
            raise StoreError(
                Problem("TEAM-042", what, "remove its file from the folder, and restart the server")
            )
        with self._database.begin_write() as connection:
            if require is not None:
                self._database.take_turns(connection)
                require(connection)
            n_deleted = connection.execute(_datasets.delete().where(_c.name == name)).rowcount
        if not n_deleted:
            # Another process has just deleted it.
            raise self._build_unknown_error(name)
        return dataset

    def _insert(self, connection: Connection, dataset: RegisteredDataset) -> RegisteredDataset:
        registered = msgspec.structs.replace(dataset, added_at=self._database.now(connection))
        row = msgspec.structs.asdict(registered)
        row |= {name: msgspec.json.encode(row[name]).decode() for name in _AS_JSON}
        try:
            connection.execute(_datasets.insert().values(row))
        except IntegrityError as error:
            what = f"a dataset {dataset.name!r} already exists"
            raise StoreError(
                Problem("TEAM-040", what, "choose another name, or delete the other one")
            ) from error
        return registered

    def _build_unknown_error(self, name: str) -> StoreError:
        known = [dataset.name for dataset in self.every()]
        what = f"there is no dataset {name!r}{suggest_name(name, known)}"
        fix = (
            f"use one of {listing(known)}"
            if known
            else "upload one, or start the server with a folder of datasets"
        )
        return StoreError(Problem("TEAM-041", what, fix))


def _dataset(row: sqlalchemy.Row[Any]) -> RegisteredDataset:
    as_json = {name: msgspec.json.decode(getattr(row, name)) for name in _AS_JSON}
    return msgspec.convert(
        {str(name): value for name, value in row._mapping.items()} | as_json, RegisteredDataset
    )
