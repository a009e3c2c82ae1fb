"""Tags and notes of runs and samples."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy
from sqlalchemy import Column, Double, Table, Text

from assay.core.annotation import Annotation
from assay.ledger.schema import METADATA

if TYPE_CHECKING:
    from assay.ledger.database import Database

_annotations = Table(
    "assay_annotations",
    METADATA,
    Column("run", Text, primary_key=True),
    Column("task", Text, primary_key=True),
    Column("sample", Text, primary_key=True),
    Column("tags", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("changed_at", Double, nullable=False),
)
_c = _annotations.c


class Annotations:
    """The tags and notes in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, annotation: Annotation) -> Annotation:
        """Replace the tags and the note of a run or a sample; an empty annotation is removed."""
        with self._database.begin_write() as connection:
            stored = msgspec.structs.replace(annotation, changed_at=self._database.now(connection))
            connection.execute(
                _annotations.delete().where(
                    _c.run == stored.run, _c.task == stored.task, _c.sample == stored.sample
                )
            )
            if not stored.is_empty:
                row = {**msgspec.structs.asdict(stored), "tags": msgspec.json.encode(stored.tags).decode()}
                connection.execute(_annotations.insert().values(row))
            return stored

    def of_run(self, run: str) -> list[Annotation]:
        """Return the annotations of a run, its own first, then those of samples by task and id."""
        with self._database.begin_read() as connection:
            query = sqlalchemy.select(_annotations).where(_c.run == run).order_by(_c.task, _c.sample)
            return [_read_row(row) for row in connection.execute(query)]

    def of_runs(self, names: Collection[str]) -> list[Annotation]:
        """Return the annotations of runs themselves, without those of their samples."""
        with self._database.begin_read() as connection:
            query = sqlalchemy.select(_annotations).where(_c.task == "", _c.sample == "")
            return [found for row in connection.execute(query) if (found := _read_row(row)).run in names]


def _read_row(row: sqlalchemy.Row[Any]) -> Annotation:
    return Annotation(
        row.run,
        row.task,
        row.sample,
        msgspec.json.decode(row.tags, type=tuple[str, ...]),
        row.note,
        row.author,
        row.changed_at,
    )
