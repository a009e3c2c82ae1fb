"""Parquet and Arrow files. The only file that knows pyarrow, which is an extra."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.sources.faults import damaged, no_rows, require_good_names, unreadable
from assay.sources.record import Record
from assay.sources.source import Report, Source

_ROWS_AT_ONCE = 1024
_BYTES_AT_ONCE = 1 << 20
"""Of a column of a parquet file."""
_IPC_FILE_MAGIC = b"ARROW1"


class _ColumnarSource(Source):
    """What parquet and arrow share: a schema, then batches of rows."""

    kind: str

    @abstractmethod
    @contextmanager
    def _opened(self) -> Iterator[tuple[list[str], Iterator[Any]]]:
        """Open the file: its column names, and its record batches."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names in the schema."""
        with self._guarded() as (names, _):
            return tuple(names)

    def _read(self, report: Report) -> Iterator[Record]:
        path = self.path
        row = 0
        with self._guarded() as (names, batches):
            for batch in batches:
                # Offsets are not checked when a file is opened: damaged ones would crash the process.
                batch.validate(full=True)
                # Writers make batches of any size; as Python objects only a few rows exist at a time.
                for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                    for fields in batch.slice(start, _ROWS_AT_ONCE).to_pylist():
                        row += 1
                        yield Record(fields, Origin(path, row))
        if not row:
            raise no_rows(path, f"a schema of {len(names)} columns and no rows")

    @contextmanager
    def _guarded(self) -> Iterator[tuple[list[str], Iterator[Any]]]:
        """Open the file and turn pyarrow's errors, and its absence, into ones a person can mend."""
        try:
            import pyarrow
        except ImportError:
            what = f"reading {self.kind} files needs pyarrow, which is not installed"
            fix = "pip install 'assay-eval[datasets]'"
            raise AuthorError(Problem("SOURCE-008", what, fix, Origin(self.path))) from None
        try:
            if os.stat(self.path).st_size == 0:
                raise no_rows(self.path, "zero bytes")
            with self._opened() as (names, batches):
                require_good_names(self.path, names)
                yield names, batches
        except MemoryError:
            # One of pyarrow's errors too, and no word on the file.
            raise
        except (FileNotFoundError, PermissionError) as error:
            raise unreadable(self.path, error) from None
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise damaged(self.path, self.kind, error) from None


class ParquetSource(_ColumnarSource):
    """A parquet file, read one part of a row group at a time."""

    kind = "parquet"

    @contextmanager
    def _opened(self) -> Iterator[tuple[list[str], Iterator[Any]]]:
        import pyarrow.parquet

        # A whole file may be one row group: its columns are read a piece at a time, and not beforehand.
        with pyarrow.parquet.ParquetFile(self.path, buffer_size=_BYTES_AT_ONCE, pre_buffer=False) as table:
            yield table.schema_arrow.names, table.iter_batches(batch_size=_ROWS_AT_ONCE)


class ArrowSource(_ColumnarSource):
    """An Arrow IPC file: with a footer (Feather), or a bare stream, as the datasets library writes."""

    kind = "arrow"

    @contextmanager
    def _opened(self) -> Iterator[tuple[list[str], Iterator[Any]]]:
        import pyarrow

        # Read, not mapped: a mapped file that is cut short ends the process with a bus error.
        with pyarrow.OSFile(self.path) as stored:
            is_file = stored.read(len(_IPC_FILE_MAGIC)) == _IPC_FILE_MAGIC
            stored.seek(0)
            if is_file:
                with pyarrow.ipc.open_file(stored) as table:
                    numbers = range(table.num_record_batches)
                    yield table.schema.names, (table.get_batch(number) for number in numbers)
            else:
                with pyarrow.ipc.open_stream(stored) as stream:
                    yield stream.schema.names, iter(stream)
