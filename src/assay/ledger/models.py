"""The models of a team, by name. Contains no secrets: arguments name environment variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy
from sqlalchemy import Column, Double, Integer, Table, Text
from sqlalchemy.exc import IntegrityError

from assay.core.errors import Problem, StoreError, listing, suggest_name
from assay.core.team import RegisteredModel
from assay.ledger.schema import METADATA

if TYPE_CHECKING:
    from assay.ledger.database import Database


_models = Table(
    "assay_models",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("spec", Text, nullable=False),
    Column("args", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("workers", Integer),
    Column("on", Text),
    Column("registered_by", Text, nullable=False),
    Column("registered_at", Double, nullable=False),
)
_c = _models.c


class Models:
    """The registered models of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, model: RegisteredModel) -> RegisteredModel:
        """Register a model. Rejects a name that is in use, because evaluations refer to it."""
        with self._database.begin_write() as connection:
            registered = msgspec.structs.replace(model, registered_at=self._database.now(connection))
            row = {
                **msgspec.structs.asdict(registered),
                "args": msgspec.json.encode(registered.args).decode(),
            }
            try:
                connection.execute(_models.insert().values(row))
            except IntegrityError as error:
                what = f"a model {model.name!r} already exists"
                raise StoreError(
                    Problem("TEAM-030", what, "delete it first, or choose another name")
                ) from error
            return registered

    def get(self, name: str) -> RegisteredModel:
        """Return a model, or raise TEAM-031."""
        if "\0" in name:
            # PostgreSQL accepts no such text, not even in a query.
            raise self._build_unknown_error(name)
        with self._database.begin_read() as connection:
            row = connection.execute(sqlalchemy.select(_models).where(_c.name == name)).one_or_none()
        if row is None:
            raise self._build_unknown_error(name)
        return _model(row)

    def every(self) -> list[RegisteredModel]:
        """Return all models, by name."""
        with self._database.begin_read() as connection:
            rows = connection.execute(sqlalchemy.select(_models))
            return sorted(map(_model, rows), key=lambda model: model.name)

    def delete(self, name: str) -> None:
        """Delete a model; its evaluations stay."""
        model = self.get(name)
        with self._database.begin_write() as connection:
            connection.execute(_models.delete().where(_c.name == model.name))

    def _build_unknown_error(self, name: str) -> StoreError:
        known = [model.name for model in self.every()]
        what = f"there is no model {name!r}{suggest_name(name, known)}"
        fix = f"use one of {listing(known)}" if known else "ask the owner to register one"
        return StoreError(Problem("TEAM-031", what, fix))


def _model(row: sqlalchemy.Row[Any]) -> RegisteredModel:
    return RegisteredModel(
        row.name,
        row.spec,
        msgspec.json.decode(row.args),
        row.description,
        row.workers,
        row.on,
        row.registered_by,
        row.registered_at,
    )
