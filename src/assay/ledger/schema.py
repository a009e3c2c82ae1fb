"""The tables' versions: each step is applied once, in order, by whoever opens the database first.

A table is described in the file that owns it, on `METADATA`. Version 1 makes them as they are described. Once
a version has been released, a change of a table is a further step here, in SQL that both databases know.
"""

from __future__ import annotations

import sqlalchemy
from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, text

from assay.core.errors import Problem, StoreError

METADATA = MetaData()
VERSION = 1

_schema = Table("assay_schema", METADATA, Column("version", Integer, nullable=False))
_ONE_AT_A_TIME = 0x4153534159
"""The number of PostgreSQL's lock that whoever changes the tables holds."""


def migrate_schema(engine: Engine) -> None:
    """Make the tables of a new database, or change those of an older one."""
    with engine.connect().execution_options(is_writer=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ONE_AT_A_TIME})
        found = _version(connection)
        if found > VERSION:
            raise StoreError(
                Problem(
                    "STORE-022",
                    f"the database has tables of version {found}, this Assay knows {VERSION}",
                    "use the newer Assay that made it, or another database",
                )
            )
        if found < 1:
            METADATA.create_all(connection)
            connection.execute(_schema.insert().values(version=VERSION))


def _version(connection: Connection) -> int:
    if not sqlalchemy.inspect(connection).has_table(_schema.name):
        return 0
    version: int = connection.execute(sqlalchemy.select(_schema.c.version)).scalar_one()
    return version
