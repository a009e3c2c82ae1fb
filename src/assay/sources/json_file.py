"""A .json file with a table: a list of objects, an object that contains one, or columns of values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem, format_count, listing, suggest_name
from assay.core.origin import Origin
from assay.sources.faults import build_no_rows_error
from assay.sources.file_settings import FileReading, FileSettings, UndecidedFile
from assay.sources.json_keys import build_repeated_key_problem, find_repeated_key
from assay.sources.jsonl import JsonLinesSource, describe_kind, explain_json_error
from assay.sources.record import Record
from assay.sources.source import Report, raise_problem
from assay.sources.text_source import TextSource


def find_tables(document: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the lists of objects in a document, by key."""
    return {key: value for key, value in document.items() if _is_table(value)}


def convert_columns(document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of a table written by columns, by index, or as names and lists of values.

    Supports `{"question": [...], "answer": [...]}` and pandas' `to_json` with `orient` "columns" (its
    default), "index" and "split". Returns None if the document is not certainly one of these.
    """
    if _is_split(document):
        return [dict(zip(document["columns"], row, strict=True)) for row in document["data"]]
    values = list(document.values())
    if not values:
        return None
    if all(isinstance(value, list) for value in values):
        lengths = {len(value) for value in values}
        if len(values) > 1 and len(lengths) == 1 and lengths != {0}:
            return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]
        return None
    if not all(isinstance(value, dict) and value for value in values):
        return None
    inner = {name: None for value in values for name in value}
    if _are_numbered(document) and not _are_numbered(inner):
        return values
    if _are_numbered(inner) and all(value.keys() == inner.keys() for value in values):
        return [{name: column[index] for name, column in document.items()} for index in inner]
    return None


def extract_nested_questions(rows: list[Any]) -> list[dict[str, Any]] | None:
    """Return SQuAD's questions, `paragraphs[].qas[]`, with title and context; None for other rows."""
    flat: list[dict[str, Any]] = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("paragraphs"), list):
            return None
        above = {name: value for name, value in row.items() if name != "paragraphs"}
        for paragraph in row["paragraphs"]:
            if not isinstance(paragraph, dict) or not _is_table(paragraph.get("qas")):
                return None
            inner = {name: value for name, value in paragraph.items() if name != "qas"}
            flat += [{**above, **inner, **question} for question in paragraph["qas"]]
    return flat or None


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _is_split(document: dict[str, Any]) -> bool:
    names, rows = document.get("columns"), document.get("data")
    return (
        isinstance(names, list)
        and isinstance(rows, list)
        and bool(rows)
        and document.keys() <= {"columns", "index", "data"}
        and all(isinstance(name, str) for name in names)
        and all(isinstance(row, list) and len(row) == len(names) for row in rows)
    )


def _are_numbered(names: dict[str, Any]) -> bool:
    return bool(names) and all(name.isdecimal() for name in names)


_FIX = 'write a list of objects, [{...}, ...], or an object with one such list, {"examples": [{...}, ...]}'


class JsonSource(TextSource):
    """A JSON document, loaded completely: `[{...}, ...]` or `{"examples": [{...}, ...], ...}`.

    Many public datasets call JSON lines .json. A document whose first line is an object, with more text after
    it, is read as lines. Otherwise records have a row but no line. With settings, tables written by columns
    and SQuAD's nested questions are supported too.
    """

    kind = "a JSON document"
    understands = TextSource.understands | {"sheet"}

    def _read(self, report: Report) -> Iterator[Record]:
        with self._open_bytes(whole=True) as stream:
            text = stream.read()
            if text.isspace():
                raise build_no_rows_error(self.path, "only blank lines")
            document, is_lines = None, False
            try:
                document = msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError) as error:
                is_lines = _is_lines(text)
                if not is_lines:
                    raise self._build_broken_error(text.decode(), error) from None
        if (
            not is_lines
            and report is not raise_problem
            and (key := find_repeated_key(text, document)) is not None
        ):
            raise AuthorError(build_repeated_key_problem(key, Origin(self.path)))
        del text
        if is_lines:
            yield from JsonLinesSource(self.stored, self.settings)._read(report)
            return
        rows = self._table(document)
        if not rows:
            raise build_no_rows_error(self.path, "an empty list")
        for row, fields in enumerate(rows, 1):
            where = Origin(self.path, row)
            if isinstance(fields, dict):
                yield Record(fields, where)
            else:
                report(
                    Problem("SOURCE-007", f"expected an object, found {describe_kind(fields)}", _FIX, where)
                )

    def _table(self, document: object) -> list[Any]:
        if isinstance(document, list):
            # If no item is an object, report the document and not its rows.
            if not document or any(isinstance(item, dict) for item in document):
                return self._flatten_questions(document)
            found = f"a list of {len(document)} whose first item is {describe_kind(document[0])}"
        elif isinstance(document, dict):
            tables = find_tables(document)
            rows = (
                None if self.settings is None or len(tables) == len(document) else convert_columns(document)
            )
            if rows is not None:
                return rows
            if self.settings is not None and self.settings.sheet is not None:
                tables = {self.settings.sheet: self._choose_table(tables, self.settings.sheet)}
            if len(tables) == 1:
                return self._flatten_questions(next(iter(tables.values())))
            if tables:
                raise self._several(tables)
            if document and all(value == [] for value in document.values()):
                return []
            found = f"an object without a list of objects; its keys are {listing(document)}"
        else:
            found = describe_kind(document)
        what = f"expected a table of objects, found {found}"
        raise AuthorError(Problem("SOURCE-007", what, _FIX, Origin(self.path)))

    def _flatten_questions(self, rows: list[Any]) -> list[Any]:
        """Return SQuAD's questions, each with its context; return other rows unchanged."""
        questions = None if self.settings is None else extract_nested_questions(rows)
        return rows if questions is None else questions

    def _choose_table(self, tables: dict[str, list[Any]], name: str) -> list[Any]:
        if name in tables:
            return tables[name]
        what = f"the document has no list of objects named {name!r}{suggest_name(name, tables)}"
        fix = f"use one of {listing(tables)}" if tables else "omit --sheet: the document has no such list"
        raise AuthorError(Problem("SOURCE-016", what, fix, Origin(self.path)))

    def _several(self, tables: dict[str, list[Any]]) -> AuthorError:
        what = f"the document has several lists of objects: {listing(tables)}"
        if self.settings is None:
            return AuthorError(
                Problem("SOURCE-007", f"expected a table of objects; {what}", _FIX, Origin(self.path))
            )
        readings = [
            FileReading(format_count(len(rows), "row"), FileSettings(sheet=name))
            for name, rows in tables.items()
        ]
        return UndecidedFile("SOURCE-016", what, readings, Origin(self.path))

    def _build_broken_error(self, text: str, error: Exception) -> AuthorError:
        fault, place = explain_json_error(text, error)
        line = None
        if place is not None:
            before = text[: place - 1]
            line = before.count("\n") + 1
            fault += f" at column {len(before) - before.rfind(chr(10))}"
        where = Origin(self.path, line=line)
        return AuthorError(
            Problem("SOURCE-006", f"broken JSON: {fault}", "fix the file at this position", where)
        )


def _is_lines(text: bytes) -> bool:
    """Return whether the first line is an object by itself."""
    try:
        msgspec.json.decode(text.lstrip().split(b"\n", 1)[0], type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
