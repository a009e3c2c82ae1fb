"""csv tables with one row per sample and method."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import StoreError
from assay.core.origin import Origin
from assay.core.sizes import LONGEST_CELL
from assay.results.draft_file import draft_path
from assay.results.exchange.formats import LogFormat
from assay.results.exchange.imported import ImportedRun
from assay.results.exchange.log_files import build_damaged_log_error, build_log_error
from assay.results.exchange.table_rows import COLUMNS, build_rows, describe_missing_columns, read_table
from assay.results.read import StoredRun

NAME = "csv"
_EMPTY = "\\0"
"""Stands for an empty text, because an empty cell means that there is no value."""


def find_mismatch(path: Path) -> str | None:
    """Return why a path is not such a table; None if it is one."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return "not a .csv file"
    try:
        columns = _read_header(path)
    except (StoreError, OSError):
        return "its first line cannot be read"
    return describe_missing_columns(columns)


def read(path: Path) -> ImportedRun:
    """Return the run in a csv table."""
    columns = _read_header(path)
    if (missing := describe_missing_columns(columns)) is not None:
        raise build_log_error(
            "LOG-003", missing, "rename the column of the score to `value` and of the sample to `id`", path
        )
    return read_table(NAME, path, columns, _CsvRows(path))


def write(run: StoredRun, target: Path) -> Sequence[Path]:
    """Write a run as a csv table."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = draft_path(target)
    with open(draft, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in build_rows(run):
            writer.writerow({name: _format_cell(value) for name, value in row.items()})
    draft.replace(target)
    return [target]


def _format_cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return _EMPTY if value == "" else value


class _CsvRows:
    """The rows of a csv file with their line numbers; can be read repeatedly."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        with open(self._path, encoding="utf-8-sig", newline="") as file:
            reader = _open_reader(file)
            line = 1
            try:
                for row in reader:
                    line = reader.line_num
                    if None in row:
                        why = ValueError(
                            f"the row has more cells than the {len(reader.fieldnames or ())} columns"
                        )
                        raise build_damaged_log_error(why, Origin(str(self._path), line=line))
                    yield line, {name: _read_cell(value) for name, value in row.items()}
            except (csv.Error, UnicodeDecodeError) as error:
                raise build_damaged_log_error(error, Origin(str(self._path), line=line + 1)) from error


def _read_cell(value: str | None) -> str | None:
    return None if not value else "" if value == _EMPTY else value


def _open_reader(file: Any) -> csv.DictReader[str]:
    # For the whole process, so it must be the limit with which datasets are read.
    csv.field_size_limit(LONGEST_CELL)
    return csv.DictReader(file)


def _read_header(path: Path) -> Sequence[str]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return _open_reader(file).fieldnames or ()
    except (csv.Error, UnicodeDecodeError) as error:
        raise build_damaged_log_error(error, Origin(str(path), line=1)) from error


FORMAT = LogFormat(NAME, "csv (one row per sample and method)", find_mismatch, read, write, suffix=".csv")
