"""Parquet and Arrow files. The only file that knows pyarrow, which is an extra."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import msgspec

from assay.core.media import Medium
from assay.core.origin import Origin
from assay.sources.faults import (
    build_damaged_error,
    build_no_rows_error,
    build_not_installed_error,
    build_unreadable_error,
    require_column_names,
)
from assay.sources.feature_types import read_label_names, read_media_columns, read_type_names
from assay.sources.media_files import format_media_address
from assay.sources.record import Record
from assay.sources.source import Report, Source

_ROWS_AT_ONCE = 1024
_BYTES_AT_ONCE = 1 << 20
"""Of a column of a parquet file."""
_IPC_FILE_MAGIC = b"ARROW1"
_FEATURES = b"huggingface"
"""Under this name `datasets` writes what it knows of the columns into a file."""


class _Info(msgspec.Struct):
    features: dict[str, Any] = {}


class _FeatureMetadata(msgspec.Struct):
    """The part of that text which is used here."""

    info: _Info = msgspec.field(default_factory=_Info)


class _ColumnarSource(Source):
    """What parquet and arrow share: a schema, then batches of rows."""

    kind: str

    @abstractmethod
    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        """Open the file: its schema, and its record batches."""

    @cached_property
    def _schema(self) -> Any:
        with self._translating_errors() as (schema, _):
            return schema

    @property
    def columns(self) -> tuple[str, ...]:
        """The names in the schema."""
        return tuple(self._schema.names)

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """Names of integer labels, as the features that `datasets` writes into a file declare them."""
        return read_label_names(self._features)

    @property
    def media_columns(self) -> Mapping[str, Medium]:
        """Columns that the features declare to be media."""
        return read_media_columns(self._features)

    @property
    def column_types(self) -> Mapping[str, str]:
        """The types of the columns, as the features or else the schema declare them."""
        plain = {field.name: str(field.type) for field in self._schema}
        return {**plain, **read_type_names(self._features)}

    @cached_property
    def _features(self) -> Mapping[str, Any]:
        """What `datasets` wrote into the file about its columns; empty where it was written otherwise."""
        written = (self._schema.metadata or {}).get(_FEATURES, b"{}")
        try:
            said = msgspec.json.decode(written, type=_FeatureMetadata)
        except msgspec.DecodeError:
            # Of no use to us, and no fault of the rows.
            return {}
        return said.info.features

    def _read(self, report: Report) -> Iterator[Record]:
        path = self.path
        row = 0
        media = self.media_columns
        with self._translating_errors() as (schema, batches):
            for batch in batches:
                # Offsets are not checked when a file is opened: damaged ones would crash the process.
                batch.validate(full=True)
                # Writers make batches of any size; as Python objects only a few rows exist at a time.
                for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                    for fields in batch.slice(start, _ROWS_AT_ONCE).to_pylist():
                        row += 1
                        for column, medium in media.items():
                            fields[column] = format_media_address(fields[column], medium)
                        yield Record(fields, Origin(path, row))
        if not row:
            raise build_no_rows_error(path, f"a schema of {len(schema.names)} columns and no rows")

    @contextmanager
    def _translating_errors(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        """Open the file and turn pyarrow's errors, and its absence, into ones a person can mend."""
        try:
            import pyarrow
        except ImportError:
            raise build_not_installed_error(self.path, self.kind, "pyarrow", "datasets") from None
        try:
            if os.stat(self.path).st_size == 0:
                raise build_no_rows_error(self.path, "zero bytes")
            with self._opened() as (schema, batches):
                require_column_names(schema.names, Origin(self.path))
                yield schema, batches
        except MemoryError:
            # One of pyarrow's errors too, and no word on the file.
            raise
        except (FileNotFoundError, PermissionError) as error:
            raise build_unreadable_error(self.path, error) from None
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise build_damaged_error(self.path, self.kind, error) from None


class ParquetSource(_ColumnarSource):
    """A parquet file, read one part of a row group at a time."""

    kind = "parquet"

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        import pyarrow.parquet

        # A whole file may be one row group: its columns are read a piece at a time, and not beforehand.
        with pyarrow.parquet.ParquetFile(self.path, buffer_size=_BYTES_AT_ONCE, pre_buffer=False) as table:
            yield table.schema_arrow, table.iter_batches(batch_size=_ROWS_AT_ONCE)


class ArrowSource(_ColumnarSource):
    """An Arrow IPC file: with a footer (Feather), or a bare stream, as the datasets library writes."""

    kind = "arrow"

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        import pyarrow

        # Read, not mapped: a mapped file that is cut short ends the process with a bus error.
        with pyarrow.OSFile(self.path) as stored:
            is_file = stored.read(len(_IPC_FILE_MAGIC)) == _IPC_FILE_MAGIC
            stored.seek(0)
            if is_file:
                with pyarrow.ipc.open_file(stored) as table:
                    numbers = range(table.num_record_batches)
                    yield table.schema, (table.get_batch(number) for number in numbers)
            else:
                with pyarrow.ipc.open_stream(stored) as stream:
                    yield stream.schema, iter(stream)


def open_zstd(path: str) -> Any:
    """Open a file that zstd packed; what it unpacks to is read as bytes."""
    try:
        import pyarrow
    except ImportError:
        raise build_not_installed_error(path, "zst", "pyarrow", "datasets") from None
    return pyarrow.input_stream(path, compression="zstd")
