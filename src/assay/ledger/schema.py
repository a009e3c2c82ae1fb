"""Schema versions: each migration is applied once, in order, by the first process that opens the database.

Each table is declared in the module that owns it, on `METADATA`. Version 1 creates them as declared. After a
release, each change of a table is a further migration here, in SQL that both databases support.
"""

from __future__ import annotations

import sqlalchemy
from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, text

from assay.core.errors import Problem, StoreError

METADATA = MetaData()
VERSION = 2

_schema = Table("assay_schema", METADATA, Column("version", Integer, nullable=False))
_ONE_AT_A_TIME = 0x4153534159
"""The key of the PostgreSQL lock for changing the tables."""


def migrate_schema(engine: Engine) -> None:
    """Create the tables of a new database, or migrate those of an older one."""
    with engine.connect().execution_options(is_writer=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ONE_AT_A_TIME})
        version = _version(connection)
        if version > VERSION:
            raise StoreError(
                Problem(
                    "STORE-022",
                    f"the database has schema version {version}, but this Assay supports {VERSION}",
                    "use the newer Assay that created it, or another database",
                )
            )
        if version < 1:
            METADATA.create_all(connection)
            connection.execute(_schema.insert().values(version=VERSION))
        elif version < VERSION:
            # Version 2: tags and notes.
            METADATA.tables["assay_annotations"].create(connection, checkfirst=True)
            connection.execute(_schema.update().values(version=VERSION))


def _version(connection: Connection) -> int:
    if not sqlalchemy.inspect(connection).has_table(_schema.name):
        return 0
    version: int = connection.execute(sqlalchemy.select(_schema.c.version)).scalar_one()
    return version
