"""Parquet and Arrow files. The only module that imports pyarrow, an optional dependency."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from io import BufferedReader
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
"""Buffer size for one column of a parquet file."""
_IPC_FILE_MAGIC = b"ARROW1"
_FEATURES = b"huggingface"
"""The metadata key under which `datasets` stores the features of the columns."""


class _Info(msgspec.Struct):
    features: dict[str, Any] = {}


class _FeatureMetadata(msgspec.Struct):
    """The part of the `datasets` metadata that Assay uses."""

    info: _Info = msgspec.field(default_factory=_Info)


class _ColumnarSource(Source):
    """Base class of parquet and Arrow sources: a schema, then batches of rows."""

    kind: str

    @abstractmethod
    @contextmanager
    def _open_batches(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        """Open the file and yield its schema and its record batches."""

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
        """The names of integer labels, as declared in the `datasets` features of the file."""
        return read_label_names(self._features)

    @property
    def media_columns(self) -> Mapping[str, Medium]:
        """The columns that the features declare as media."""
        return read_media_columns(self._features)

    @property
    def column_types(self) -> Mapping[str, str]:
        """The column types, as declared by the features or else by the schema."""
        plain = {field.name: str(field.type) for field in self._schema}
        return {**plain, **read_type_names(self._features)}

    @cached_property
    def _features(self) -> Mapping[str, Any]:
        """The features that `datasets` stored in the file; empty if another program wrote it."""
        encoded = (self._schema.metadata or {}).get(_FEATURES, b"{}")
        try:
            metadata = msgspec.json.decode(encoded, type=_FeatureMetadata)
        except msgspec.DecodeError:
            # Unreadable metadata is ignored: the rows are still good.
            return {}
        return metadata.info.features

    def _read(self, report: Report) -> Iterator[Record]:
        path = self.path
        row = 0
        media = self.media_columns
        with self._translating_errors() as (schema, batches):
            for batch in batches:
                # Opening a file does not check offsets, and damaged ones would crash the process.
                batch.validate(full=True)
                # Batches can have any size. Convert a few rows at a time to Python objects.
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
        """Open the file. Turn pyarrow's errors, and a missing pyarrow, into errors that name the fix."""
        try:
            import pyarrow
        except ImportError:
            raise build_not_installed_error(self.path, self.kind, "pyarrow", "datasets") from None
        try:
            if os.stat(self.path).st_size == 0:
                raise build_no_rows_error(self.path, "zero bytes")
            with self._open_batches() as (schema, batches):
                require_column_names(schema.names, Origin(self.path))
                yield schema, batches
        except MemoryError:
            # Also one of pyarrow's errors, but not a fault of the file.
            raise
        except (FileNotFoundError, PermissionError) as error:
            raise build_unreadable_error(self.path, error) from None
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise build_damaged_error(self.path, self.kind, error) from None


class ParquetSource(_ColumnarSource):
    """A parquet file, read in parts of a row group."""

    kind = "parquet"

    @contextmanager
    def _open_batches(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        import pyarrow.parquet

        # A whole file can be one row group, so read its columns in pieces and do not buffer them first.
        with pyarrow.parquet.ParquetFile(self.path, buffer_size=_BYTES_AT_ONCE, pre_buffer=False) as table:
            yield table.schema_arrow, table.iter_batches(batch_size=_ROWS_AT_ONCE)


class ArrowSource(_ColumnarSource):
    """An Arrow IPC file: with a footer (Feather), or a bare stream, as the `datasets` library writes it."""

    kind = "arrow"

    @contextmanager
    def _open_batches(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        import pyarrow

        # Read instead of memory-mapped: a truncated mapped file ends the process with a bus error.
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


def open_zstd(path: str, stream: BufferedReader) -> Any:
    """Return a stream of the decompressed bytes of a zstd file."""
    try:
        import pyarrow
    except ImportError:
        raise build_not_installed_error(path, "zst", "pyarrow", "datasets") from None
    return pyarrow.input_stream(stream, compression="zstd")
