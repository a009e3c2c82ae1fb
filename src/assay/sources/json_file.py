"""A .json file that holds a table: a list of objects, or an object around one such list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.sources.faults import no_rows
from assay.sources.json_keys import repeated_key, repeated_problem
from assay.sources.jsonl import JsonLinesSource, explain, kind_of
from assay.sources.record import Record
from assay.sources.source import Report, Source, raise_problem
from assay.sources.stream import reading

_FIX = 'write a list of objects, [{...}, ...], or an object around one such list, {"examples": [{...}, ...]}'


class JsonSource(Source):
    """A JSON document, loaded whole: `[{...}, ...]` or `{"examples": [{...}, ...], ...}`.

    Many public datasets name JSON lines .json; a document whose first line is an object and which goes
    on after it is read as lines. Otherwise records have a row and no line.
    """

    def _read(self, report: Report) -> Iterator[Record]:
        with reading(self.path, whole=True) as stream:
            text = stream.read()
            if text.isspace():
                raise no_rows(self.path, "only blank lines")
            document, is_lines = None, False
            try:
                document = msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError) as error:
                is_lines = _is_lines(text)
                if not is_lines:
                    raise self._broken(text.decode(), error) from None
        if not is_lines and report is not raise_problem and (key := repeated_key(text, document)) is not None:
            raise AuthorError(repeated_problem(key, Origin(self.path)))
        del text
        if is_lines:
            yield from JsonLinesSource(self.path)._read(report)
            return
        rows = self._table(document)
        if not rows:
            raise no_rows(self.path, "an empty list")
        for row, fields in enumerate(rows, 1):
            where = Origin(self.path, row)
            if isinstance(fields, dict):
                yield Record(fields, where)
            else:
                report(Problem("SOURCE-007", f"expected an object, found {kind_of(fields)}", _FIX, where))

    def _table(self, document: object) -> list[Any]:
        if isinstance(document, list):
            # When no item is an object the shape is wrong, not the rows.
            if not document or any(isinstance(item, dict) for item in document):
                return document
            found = f"a list of {len(document)} whose first item is {kind_of(document[0])}"
        elif isinstance(document, dict):
            tables = {key: value for key, value in document.items() if _is_table(value)}
            if len(tables) == 1:
                return next(iter(tables.values()))
            if tables:
                found = f"an object with several lists of objects: {listing(tables)}"
            elif document and all(value == [] for value in document.values()):
                return []
            else:
                found = f"an object without a list of objects, with the keys {listing(document)}"
        else:
            found = kind_of(document)
        what = f"expected a table of objects, found {found}"
        raise AuthorError(Problem("SOURCE-007", what, _FIX, Origin(self.path)))

    def _broken(self, text: str, error: Exception) -> AuthorError:
        fault, place = explain(text, error)
        line = None
        if place is not None:
            before = text[: place - 1]
            line = before.count("\n") + 1
            fault += f" at column {len(before) - before.rfind(chr(10))}"
        where = Origin(self.path, line=line)
        return AuthorError(
            Problem("SOURCE-006", f"broken JSON: {fault}", "mend the file at this place", where)
        )


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _is_lines(text: bytes) -> bool:
    """Whether the first line is an object of its own."""
    try:
        msgspec.json.decode(text.lstrip().split(b"\n", 1)[0], type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
