"""Rows of a Python program: a list of dicts, a DataFrame, an Arrow table or a `datasets.Dataset`.

Values become what a JSON file can hold, so that every later step sees the same types as for a file. Nothing
is imported to recognise an object: the libraries of objects that exist are already loaded.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cached_property
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import msgspec

from assay.core.errors import AuthorError, Problem, listing
from assay.core.media import Medium
from assay.core.origin import Origin
from assay.core.python_objects import find_object
from assay.sources.faults import build_no_rows_error, require_column_names
from assay.sources.feature_types import read_label_names, read_media_columns
from assay.sources.media_files import format_media_address
from assay.sources.record import Record
from assay.sources.source import Report, Source
from assay.sources.stored_file import HASH_BYTES

_ROWS_AT_ONCE = 1024
_MISSING = ("NAType", "NaTType")
"""Types of pandas' markers for a missing value."""

Rows: TypeAlias = Iterator[tuple[int | str, Any]]
"""Rows with their indexes."""


class _Kind(NamedTuple):
    """How to read one kind of object."""

    read: Callable[[Any], Rows]
    columns: Callable[[Any], Iterable[str]] | None = None
    """None: the rows themselves say."""


def describe_kind(data: object) -> str | None:
    """Return what a kind of data is called, such as `DataFrame`; None if it holds no rows."""
    name = _find_kind_name(data)
    return None if name is None else name.rpartition(".")[2]


def open_rows(name: str) -> Source:
    """Return the source for the data behind `python:NAME`."""
    data = find_object(name)
    if data is None:
        what = f"{name!r} names data of a Python program, which exists only in the call of assay.run"
        fix = "pass the data to assay.run again, or save it as a file and name the file"
        raise AuthorError(Problem("PYTHON-004", what, fix, Origin(name)))
    return PythonRows(name, data)


class PythonRows(Source):
    """Rows in memory, read again for every pass."""

    def __init__(self, name: str, data: Any) -> None:
        """Check that the object holds rows; reads none of them."""
        super().__init__(name)
        kind = _find_kind_name(data)
        if kind is None:
            raise AuthorError(_build_unsupported_problem(name, data))
        self._data, self._kind = data, _KINDS[kind]
        self._features = _read_features(data)
        if self._kind.columns is not None:
            require_column_names(list(self._kind.columns(data)), Origin(name))

    def _read(self, report: Report) -> Iterator[Record]:
        row = 0
        media = self.media_columns
        for row, (index, values) in enumerate(self._kind.read(self._data), 1):
            where = Origin(self.path, row, index=index)
            try:
                fields = _read_row(values, where)
            except AuthorError as error:
                for problem in error.problems:
                    report(problem)
                continue
            for column, medium in media.items():
                fields[column] = format_media_address(fields[column], medium)
            yield Record(fields, where)
        if not row:
            raise build_no_rows_error(self.path, "the data are empty")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns; for a list of dicts, in order of first appearance."""
        if self._kind.columns is not None:
            return tuple(self._kind.columns(self._data))
        columns: tuple[str, ...] = super().columns
        return columns

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """The names of integer labels, as declared by the features of a `datasets.Dataset`."""
        return read_label_names(self._features)

    @property
    def media_columns(self) -> Mapping[str, Medium]:
        """The columns that the features declare as media."""
        return read_media_columns(self._features)

    def content_hash(self) -> str:
        """Return a hash of all rows, equal for equal rows whatever object holds them."""
        running = hashlib.blake2b(digest_size=HASH_BYTES)
        encode = msgspec.json.encode
        for record in self.records():
            running.update(encode(record.fields))
            running.update(b"\n")
        return running.hexdigest()


def _read_row(values: object, where: Origin) -> dict[str, Any]:
    """Return the values of a row by column; raise PYTHON-002 for values that no file could hold."""
    if not isinstance(values, Mapping):
        what = f"the row is a {type(values).__name__}; expected a dict with a value for each column"
        fix = 'write each row as {"question": ..., "answer": ...}'
        raise AuthorError(Problem("PYTHON-002", what, fix, where))
    fields: dict[str, Any] = {}
    for column, value in values.items():
        if not isinstance(column, str):
            what = f"the column name {column!r} is a {type(column).__name__}; expected a string"
            raise AuthorError(Problem("PYTHON-002", what, "use strings as the keys of each row", where))
        fields[column] = _to_plain(value, where.at(column))
    return fields


def _to_plain(value: Any, where: Origin) -> Any:
    """Return a value as JSON would hold it; raise PYTHON-002 if it cannot."""
    if value is None or type(value) in (str, bool, int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            what = "the value is infinite, which no dataset file can hold"
            raise AuthorError(Problem("PYTHON-002", what, "replace it by a number or None", where))
        return None if math.isnan(value) else float(value)
    if isinstance(value, Mapping):
        return {str(key): _to_plain(part, where) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_plain(part, where) for part in value]
    if type(value).__name__ in _MISSING:
        return None
    for kinds, convert in _CONVERTERS:
        if isinstance(value, kinds):
            return _to_plain(convert(value), where)
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        return _to_plain(value.tolist(), where)
    what = f"a {type(value).__name__} is not a value that Assay can read"
    fix = "convert the column to texts, numbers, booleans, lists or dicts; give media as paths of files"
    raise AuthorError(Problem("PYTHON-002", what, fix, where))


_CONVERTERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (Enum, lambda value: value.value),
    (Decimal, lambda value: int(value) if value == value.to_integral_value() else float(value)),
    (str, str),
    (int, int),
    ((date, time), lambda value: value.isoformat()),
    ((UUID, PurePath, timedelta), str),
)
"""Types of values, and what they become. Subclasses of str and int, such as those of numpy, become plain."""


# --- kinds of objects ---


def _read_list(rows: Sequence[Any]) -> Rows:
    return enumerate(rows)


def _list_pandas_columns(frame: Any) -> list[str]:
    return [str(name) for name in (*_list_index_names(frame), *frame.columns)]


def _list_index_names(frame: Any) -> list[Any]:
    """Return the names of index levels, which are columns too; an index without a name only counts rows."""
    return [name for name in frame.index.names if name is not None]


def _read_pandas(frame: Any) -> Rows:
    names = _list_pandas_columns(frame)
    for start in range(0, len(frame), _ROWS_AT_ONCE):
        part = frame.iloc[start : start + _ROWS_AT_ONCE]
        levels = [part.index.get_level_values(name) for name in _list_index_names(frame)]
        columns = [level.tolist() for level in levels]
        columns += [part.iloc[:, at].tolist() for at in range(part.shape[1])]
        for label, values in zip(part.index.tolist(), zip(*columns, strict=True), strict=True):
            yield _to_index(label), dict(zip(names, values, strict=True))


def _to_index(label: Any) -> int | str:
    return label if isinstance(label, int) else str(label)


def _read_polars(frame: Any) -> Rows:
    return enumerate(frame.iter_rows(named=True))


def _read_arrow(table: Any) -> Rows:
    rows = (row for batch in table.to_batches(_ROWS_AT_ONCE) for row in batch.to_pylist())
    return enumerate(rows)


def _read_dataset(dataset: Any) -> Rows:
    # As Arrow: decoding would open every image.
    stored = dataset.with_format("arrow")
    starts = range(0, len(dataset), _ROWS_AT_ONCE)
    rows = (row for at in starts for row in stored[at : at + _ROWS_AT_ONCE].to_pylist())
    return enumerate(rows)


_KINDS = {
    "builtins.list": _Kind(_read_list),
    "builtins.tuple": _Kind(_read_list),
    "pandas.DataFrame": _Kind(_read_pandas, _list_pandas_columns),
    "polars.DataFrame": _Kind(_read_polars, lambda frame: frame.columns),
    "pyarrow.Table": _Kind(_read_arrow, lambda table: table.column_names),
    "datasets.Dataset": _Kind(_read_dataset, lambda dataset: dataset.column_names),
}
"""Library and class of the objects that hold rows."""


def _list_class_names(data: object) -> list[str]:
    """Return the library and name of each class of an object: `pandas.DataFrame`."""
    return [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(data).__mro__]


def _find_kind_name(data: object) -> str | None:
    return next((name for name in _list_class_names(data) if name in _KINDS), None)


def _read_features(data: Any) -> Mapping[str, Any]:
    """Return the features that a `datasets.Dataset` declares; empty for other data."""
    if _find_kind_name(data) != "datasets.Dataset":
        return {}
    features: Mapping[str, Any] = data.features.to_dict()
    return features


def _build_unsupported_problem(name: str, data: Any) -> Problem:
    """Return the problem of an object that holds no rows, with the nearest object that does."""
    known = _list_class_names(data)
    what = f"a {type(data).__name__} is not a dataset"
    fix = "pass a path, a list of dicts, a DataFrame, a pyarrow.Table or a datasets.Dataset"
    if {"datasets.DatasetDict", "datasets.IterableDatasetDict"} & set(known):
        what = f"a {type(data).__name__} holds several splits: {listing(data)}"
        fix = f"pass one of them: data[{next(iter(data), 'test')!r}]"
    elif "polars.LazyFrame" in known:
        fix = "pass the rows: frame.collect()"
    elif "pandas.Series" in known or "polars.Series" in known:
        fix = "pass a DataFrame with a column for the question and one for the answer"
    elif isinstance(data, Iterable) and not isinstance(data, (Mapping, set, frozenset)):
        what += ", because its rows can be read only once"
        fix = "pass a list: list(data)"
    elif isinstance(data, Mapping):
        fix = "pass a list of rows, each a dict; a dict of columns becomes one with pandas.DataFrame(data)"
    return Problem("PYTHON-001", what, fix, Origin(name))
