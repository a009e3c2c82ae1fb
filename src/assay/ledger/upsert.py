"""Writing a row that may be there already: the one thing both databases can do and spell alike, but apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(connection: Connection, table: Table, key: Sequence[str], values: Mapping[str, Any]) -> Any:
    """Insert a row, or change the one with the same key; return its primary key.

    The row is then held until the transaction ends: another writer of the same key waits.
    """
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    others = {name: value for name, value in values.items() if name not in key}
    statement = insert(table).values(**values).on_conflict_do_update(index_elements=list(key), set_=others)
    return connection.execute(statement.returning(*table.primary_key)).scalar_one()
