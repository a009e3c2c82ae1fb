"""The models that a team may evaluate, by name. No secret is here: arguments name environment variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy
from sqlalchemy import Column, Double, Integer, Table, Text
from sqlalchemy.exc import IntegrityError

from assay.core.errors import Problem, StoreError, listing, suggest_name
from assay.ledger.schema import METADATA

if TYPE_CHECKING:
    from assay.ledger.database import Database


class Model(msgspec.Struct, frozen=True):
    """A model that may be evaluated."""

    name: str
    spec: str
    """What `--model` takes, such as `openai:qwen@http://127.0.0.1:8000/v1`."""
    args: dict[str, str] = {}
    """What `--model-arg` takes; a secret stands here as the name of an environment variable (`key_env`)."""
    description: str = ""
    workers: int | None = None
    """What `--workers` takes: so many copies of it answer."""
    on: str | None = None
    """What `--on` takes: the cluster that they are on."""
    registered_by: str = ""
    registered_at: float = 0.0
    """Seconds since 1970."""


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

    def add(self, model: Model) -> Model:
        """Register a model; a name that is taken is refused: evaluations were made of the other one."""
        with self._database.writing() as connection:
            made = msgspec.structs.replace(model, registered_at=self._database.now(connection))
            row = {**msgspec.structs.asdict(made), "args": msgspec.json.encode(made.args).decode()}
            try:
                connection.execute(_models.insert().values(row))
            except IntegrityError as error:
                what = f"there is a model {model.name!r} already"
                raise StoreError(
                    Problem("TEAM-030", what, "delete it first, or choose another name")
                ) from error
            return made

    def get(self, name: str) -> Model:
        """Return a model, or raise TEAM-031."""
        if "\0" in name:
            # PostgreSQL takes no such text, not even to look for it.
            raise self._build_unknown_error(name)
        with self._database.reading() as connection:
            row = connection.execute(sqlalchemy.select(_models).where(_c.name == name)).one_or_none()
        if row is None:
            raise self._build_unknown_error(name)
        return _model(row)

    def every(self) -> list[Model]:
        """Return all models, by name."""
        with self._database.reading() as connection:
            rows = connection.execute(sqlalchemy.select(_models))
            return sorted(map(_model, rows), key=lambda model: model.name)

    def delete(self, name: str) -> None:
        """Forget a model; evaluations of it stay."""
        found = self.get(name)
        with self._database.writing() as connection:
            connection.execute(_models.delete().where(_c.name == found.name))

    def _build_unknown_error(self, name: str) -> StoreError:
        known = [model.name for model in self.every()]
        what = f"there is no model {name!r}{suggest_name(name, known)}"
        fix = f"use one of {listing(known)}" if known else "have the owner register one"
        return StoreError(Problem("TEAM-031", what, fix))


def _model(row: sqlalchemy.Row[Any]) -> Model:
    return Model(
        row.name,
        row.spec,
        msgspec.json.decode(row.args),
        row.description,
        row.workers,
        row.on,
        row.registered_by,
        row.registered_at,
    )
