"""Parquet tables with one row per sample and method. Owns the import of pyarrow for logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from assay.core.errors import Problem, UsageError
from assay.results.draft_file import draft_path
from assay.results.exchange.formats import LogFormat
from assay.results.exchange.imported import ImportedRun
from assay.results.exchange.log_files import build_damaged_log_error, build_log_error
from assay.results.exchange.table_rows import COLUMNS, build_rows, describe_missing_columns, read_table
from assay.results.read import StoredRun

NAME = "parquet"
_ROWS_AT_ONCE = 512
_MAGIC = b"PAR1"


def find_mismatch(path: Path) -> str | None:
    """Return why a path is not such a table; None if it is one."""
    try:
        with open(path, "rb") as file:
            is_parquet = file.read(4) == _MAGIC
    except OSError:
        is_parquet = False
    if not is_parquet:
        return "not a Parquet file"
    return describe_missing_columns(_read_columns(path))


def read(path: Path) -> ImportedRun:
    """Return the run in a Parquet table."""
    columns = _read_columns(path)
    if (missing := describe_missing_columns(columns)) is not None:
        raise build_log_error(
            "LOG-003", missing, "rename the column of the score to `value` and of the sample to `id`", path
        )
    return read_table(NAME, path, columns, _ParquetRows(path))


def write(run: StoredRun, target: Path) -> Sequence[Path]:
    """Write a run as a Parquet table."""
    pyarrow = _import_pyarrow()
    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = draft_path(target)
    rows = build_rows(run)
    with pyarrow.parquet.ParquetWriter(draft, schema) as writer:
        while several := list(islice(rows, _ROWS_AT_ONCE)):
            writer.write_table(pyarrow.Table.from_pylist(several, schema))
    draft.replace(target)
    return [target]


class _ParquetRows:
    """The rows of a Parquet file with their numbers; can be read repeatedly."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        pyarrow = _import_pyarrow()
        number = 0
        try:
            with pyarrow.parquet.ParquetFile(self._path) as file:
                for batch in file.iter_batches(_ROWS_AT_ONCE):
                    for row in batch.to_pylist():
                        number += 1
                        yield number, row
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise build_damaged_log_error(error, self._path) from error


def _read_columns(path: Path) -> list[str]:
    pyarrow = _import_pyarrow()
    try:
        return list(pyarrow.parquet.read_schema(path).names)
    except (pyarrow.ArrowException, OSError) as error:
        raise build_damaged_log_error(error, path) from error


def _import_pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(
            Problem("LOG-007", "Parquet files need pyarrow", 'pip install "assay-eval[datasets]"')
        ) from error
    return pyarrow


FORMAT = LogFormat(
    NAME, "Parquet (one row per sample and method)", find_mismatch, read, write, suffix=".parquet"
)
