"""The rows of a file as the `datasets` library returns them: typed columns, every column in every row.

- csv and tsv: a column of integers, of numbers, or of true and false has that type; an empty value is None.
  Unlike in pandas, words such as `None` or `NA` stay words and `007` stays a text.
- txt: one row per line, in the field `text`.
- A column that a row lacks is None in that row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from assay.sources.files import find_suffix, open_source

Rows: TypeAlias = list[dict[str, Any]]

_COLUMN_TYPES: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"0|-?[1-9][0-9]*"), int),
    (re.compile(r"-?([0-9]+\.[0-9]*|\.[0-9]+|0|[1-9][0-9]*)([eE][-+]?[0-9]+)?"), float),
    (re.compile(r"true|false", re.IGNORECASE), lambda text: text.lower() == "true"),
)


def read_rows(path: Path) -> Rows:
    """Return the rows of a data file as plain dicts that belong to the caller."""
    suffix = (find_suffix(path.name) or "").removesuffix(".gz")
    rows = [record.fields for record in open_source(path).records()]
    if suffix == ".txt":
        return [{"text": line} for line in _lines(rows[0]["text"])]
    if suffix in (".csv", ".tsv"):
        return typed_columns(rows)
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


def _lines(text: str) -> list[str]:
    # Not splitlines(): it also splits at form feeds and Unicode separators inside a text.
    lines = re.split(r"\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


def typed_columns(rows: Rows) -> Rows:
    """Convert the texts of a delimited file to the type of their whole column, in place."""
    for name in rows[0]:
        make = _type_of([row[name] for row in rows if row[name]])
        for row in rows:
            row[name] = make(row[name]) if row[name] else None
    return rows


def _type_of(values: list[str]) -> Callable[[str], Any]:
    return next((make for form, make in _COLUMN_TYPES if all(map(form.fullmatch, values))), str)
