"""The index of runs: the content of their folders, so that models can be compared from the database alone.

A run has one row, a row for each of its metrics, one for the samples of each task, and one for the values of
the samples by each metric. Machines that share a database see each other's runs without the folders.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import sqlalchemy
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from assay.core.errors import Problem, StoreError
from assay.core.ids import digest
from assay.core.origin import Origin
from assay.core.run_index import IndexedRun, MetricValues, RunIndexEntry, SampleValues, TaskSamples
from assay.core.score import Metric
from assay.ledger.schema import METADATA

if TYPE_CHECKING:
    from assay.ledger.database import Database


def upsert(connection: Connection, table: Table, key: Sequence[str], values: Mapping[str, Any]) -> Any:
    """Insert a row, or update the one with the same key; return its primary key.

    Locks the row until the transaction ends: another writer of the same key waits.
    """
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    others = {name: value for name, value in values.items() if name not in key}
    statement = insert(table).values(**values).on_conflict_do_update(index_elements=list(key), set_=others)
    return connection.execute(statement.returning(*table.primary_key)).scalar_one()


_runs = Table(
    "assay_runs",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("host", String, nullable=False),
    Column("root", String, nullable=False),
    Column("name", String, nullable=False),
    Column("stamp", String, nullable=False),
    Column("model_name", String, nullable=False, index=True),
    Column("model_digest", String, nullable=False, index=True),
    Column("status", String, nullable=False),
    Column("started", String, nullable=False),
    Column("finished", String),
    Column("fingerprint", String, nullable=False, index=True),
    # The whole IndexedRun; the columns above are for queries.
    Column("facts", LargeBinary, nullable=False),
    UniqueConstraint("host", "root", "name"),
)


def _build_run_column(**arguments: Any) -> Column[int]:
    return Column("run", Integer, ForeignKey(_runs.c.id, ondelete="CASCADE"), primary_key=True, **arguments)


_metrics = Table(
    "assay_run_metrics",
    METADATA,
    _build_run_column(),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("task", String, nullable=False),
    Column("method", String, nullable=False),
    Column("metric", String, nullable=False),
    Column("group", String),
    Column("value", Float(53)),
    Column("low", Float(53)),
    Column("high", Float(53)),
    Column("n", Integer, nullable=False),
    Column("n_scored", Integer, nullable=False),
    Column("n_unanswered", Integer, nullable=False),
    Column("n_truncated", Integer, nullable=False),
    Column("n_failed", Integer, nullable=False),
    Column("stderr", Float(53)),
    Column("higher_is_better", Boolean, nullable=False),
    Column("is_headline", Boolean, nullable=False),
    Column("is_share", Boolean, nullable=False),
)

_METRIC_COLUMNS = tuple(name for name in Metric.__struct_fields__ if name in _metrics.c)
"""The columns of a metric that the index stores: no texts."""

_samples = Table(
    "assay_run_samples",
    METADATA,
    _build_run_column(),
    Column("task", String, primary_key=True),
    Column("ids", LargeBinary, nullable=False),
    Column("clusters", LargeBinary),
)

_values = Table(
    "assay_run_values",
    METADATA,
    _build_run_column(),
    Column("task", String, primary_key=True),
    Column("method", String, primary_key=True),
    Column("metric", String, primary_key=True),
    Column("samples", LargeBinary, nullable=False),
    Column("weights", LargeBinary),
    Column("is_exponential", Boolean, nullable=False),
)


class IndexEntry(NamedTuple):
    """A run in the index."""

    key: int
    run: IndexedRun


class RunIndex:
    """The runs in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, entry: RunIndexEntry) -> None:
        """Store a run in one transaction, replacing the previous entry of the same folder."""
        run = entry.run
        try:
            with self._database.begin_write() as connection:
                # Locks the run's row first, so that two readers of the same folder write one after the other.
                key = upsert(connection, _runs, ("host", "root", "name"), _row(run))
                for table in (_metrics, _samples, _values):
                    connection.execute(table.delete().where(table.c.run == key))
                _insert(connection, _metrics, _metric_rows(key, entry.metrics))
                _insert(connection, _samples, _sample_rows(key, entry.samples))
                _insert(connection, _values, _value_rows(key, entry.values))
        except DBAPIError as error:
            raise StoreError(
                Problem(
                    "BOARD-002",
                    f"the database rejects the run: {_first_line(error)}",
                    "a name in it may contain what the database cannot store, such as a zero byte; "
                    "or use SQLite",
                    Origin(f"{run.root}/{run.name}"),
                )
            ) from error

    def remove(self, host: str, root: str, names: Collection[str]) -> None:
        """Delete runs whose folders no longer exist."""
        with self._database.begin_write() as connection:
            for name in names:
                connection.execute(_runs.delete().where(*_place(host, root), _runs.c.name == name))

    def stamps(self, host: str, root: str) -> dict[str, str]:
        """Return the indexed runs of one folder: the name and the stamp of each."""
        query = sqlalchemy.select(_runs.c.name, _runs.c.stamp).where(*_place(host, root))
        with self._database.begin_read() as connection:
            return {row.name: row.stamp for row in connection.execute(query)}

    def revision(self) -> str:
        """Return a hash that changes with any change of the index."""
        query = sqlalchemy.select(_runs.c.id, _runs.c.stamp).order_by(_runs.c.id)
        with self._database.begin_read() as connection:
            return digest([tuple(row) for row in connection.execute(query)])

    def runs(self) -> list[IndexEntry]:
        """Return every run, the earliest first."""
        query = sqlalchemy.select(_runs.c.id, _runs.c.facts)
        with self._database.begin_read() as connection:
            entries = [
                IndexEntry(row.id, msgspec.json.decode(row.facts, type=IndexedRun))
                for row in connection.execute(query)
            ]
        # Sorted here, because databases order texts differently.
        return sorted(
            entries, key=lambda entry: (entry.run.started, entry.run.host, entry.run.root, entry.run.name)
        )

    def metrics(self) -> dict[int, list[Metric]]:
        """Return the metrics of every run, by the run's key."""
        query = sqlalchemy.select(_metrics.c.run, *(_metrics.c[name] for name in _METRIC_COLUMNS))
        metrics: dict[int, list[Metric]] = {}
        with self._database.begin_read() as connection:
            for row in connection.execute(query.order_by(_metrics.c.run, _metrics.c.place)):
                metric = Metric(**dict(zip(_METRIC_COLUMNS, row[1:], strict=True)))
                metrics.setdefault(row.run, []).append(metric)
        return metrics

    def values(self, key: int, task: str, method: str, metric: str) -> SampleValues | None:
        """Return the value of each sample by a metric; None if the metric is not based on such values."""
        query = (
            sqlalchemy.select(_samples.c.ids, _samples.c.clusters, _values)
            .join_from(
                _values,
                _samples,
                sqlalchemy.and_(_samples.c.run == _values.c.run, _samples.c.task == _values.c.task),
            )
            .where(_values.c.run == key, _values.c.task == task)
            .where(_values.c.method == method, _values.c.metric == metric)
        )
        with self._database.begin_read() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        samples = TaskSamples(
            _unpack_digests(row.ids), None if row.clusters is None else _unpack_digests(row.clusters)
        )
        weights = None if row.weights is None else _unpack_numbers(row.weights)
        return SampleValues.of(
            samples, MetricValues(_unpack_numbers(row.samples), weights, row.is_exponential)
        )


def _place(host: str, root: str) -> tuple[sqlalchemy.ColumnElement[bool], ...]:
    return _runs.c.host == host, _runs.c.root == root


def _insert(connection: sqlalchemy.Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(table.insert(), list(rows))


def _row(run: IndexedRun) -> dict[str, Any]:
    return {
        "host": run.host,
        "root": run.root,
        "name": run.name,
        "stamp": run.stamp,
        "model_name": run.model.name,
        "model_digest": run.model.digest,
        "status": run.status.value,
        "started": run.started,
        "finished": run.finished,
        "fingerprint": run.fingerprint,
        "facts": msgspec.json.encode(run),
    }


def _metric_rows(key: int, metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    return [
        {"run": key, "place": place, **{name: getattr(metric, name) for name in _METRIC_COLUMNS}}
        for place, metric in enumerate(metrics)
    ]


def _sample_rows(key: int, samples: Mapping[str, TaskSamples]) -> list[dict[str, Any]]:
    return [
        {
            "run": key,
            "task": task,
            "ids": _pack_numbers(task_samples.ids),
            "clusters": None if task_samples.clusters is None else _pack_numbers(task_samples.clusters),
        }
        for task, task_samples in samples.items()
    ]


def _value_rows(key: int, values: Mapping[tuple[str, str, str], MetricValues]) -> list[dict[str, Any]]:
    return [
        {
            "run": key,
            "task": task,
            "method": method,
            "metric": metric,
            "samples": _pack_numbers(metric_values.values),
            "weights": None if metric_values.weights is None else _pack_numbers(metric_values.weights),
            "is_exponential": metric_values.is_exponential,
        }
        for (task, method, metric), metric_values in values.items()
    ]


def _pack_numbers(numbers: np.ndarray[Any, Any]) -> bytes:
    """Return numbers as compressed bytes, independent of the machine's byte order."""
    return zlib.compress(np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<")).tobytes(), 6)


def _unpack_digests(packed: bytes) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.frombuffer(zlib.decompress(packed), "<u8").astype(np.uint64)


def _unpack_numbers(packed: bytes) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.frombuffer(zlib.decompress(packed), "<f8").astype(np.float64)


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]
