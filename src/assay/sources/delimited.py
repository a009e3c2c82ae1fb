"""csv and tsv: a header, then one record for each row. Every value is a string."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.sources.faults import no_rows, require_good_names
from assay.sources.record import Record
from assay.sources.source import Report, Source
from assay.sources.stream import reading

if TYPE_CHECKING:
    from _csv import Reader

LONGEST_CELL = 33_000_000
"""Characters. The csv module takes eight bytes for each while it reads the cell."""
# Passages are longer than the module's default of 128 KiB. The limit is the process's own, hence set once.
csv.field_size_limit(LONGEST_CELL)

_SPOKEN = {",": "','", ";": "';'", "\t": "a tab"}


class DelimitedSource(Source):
    """A csv or tsv file in UTF-8, with or without a byte order mark.

    csv: commas, values with commas, quotes or line breaks stand in double quotes, a quote inside is
    doubled (RFC 4180). A quote that is never closed, or is closed in mid-value, is an error.

    tsv: tabs, and no quoting at all: a quote is a character like any other, as the public tsv datasets
    write it (KorSTS, KorNLI, XNLI). A value can hold neither a tab nor a line break.

    Blank lines are skipped.
    """

    def __init__(self, path: str | Path, delimiter: str) -> None:
        super().__init__(path)
        self.delimiter = delimiter

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The header."""
        with self._rows() as rows:
            return self._header(rows)

    def _read(self, report: Report) -> Iterator[Record]:
        path, columns = self.path, self.columns
        for row, line, values in self._glance(report):
            yield Record(dict(zip(columns, values, strict=True)), Origin(path, row, line))

    def _glance(self, report: Report) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the number, the line and the values of each good row."""
        path = self.path
        row = 0
        with self._rows() as rows:
            columns = self._header(rows)
            width = len(columns)
            line = rows.line_num
            is_done = False
            while not is_done:
                try:
                    # The hot loop: nothing but what every row needs.
                    for values in rows:
                        begins = line + 1
                        line = rows.line_num
                        if len(values) == width:
                            row += 1
                            yield row, begins, values
                        elif len(values) > 1 or (values and values[0].strip()):
                            row += 1
                            report(self._ragged(columns, values, Origin(path, row, begins)))
                    is_done = True
                except csv.Error as error:
                    # The reader forgets the broken row and can go on with the next line.
                    row += 1
                    report(self._unsplittable(error, Origin(path, row, line + 1), rows.line_num))
                    line = rows.line_num
        if not row:
            raise no_rows(path, f"a header of {width} columns and nothing below it")

    @contextmanager
    def _rows(self) -> Iterator[Reader]:
        # newline="" leaves line breaks to the csv module, which knows which of them are quoted.
        with reading(self.path) as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            if self.delimiter == "\t":
                yield csv.reader(text, delimiter="\t", quoting=csv.QUOTE_NONE)
            else:
                yield csv.reader(text, delimiter=self.delimiter, strict=True)

    def _header(self, rows: Reader) -> tuple[str, ...]:
        line = 0
        try:
            for names in rows:
                if len(names) > 1 or (names and names[0].strip()):
                    break
                line = rows.line_num
            else:
                raise no_rows(self.path, "only blank lines")
        except csv.Error as error:
            where = Origin(self.path, line=line + 1)
            raise AuthorError(
                Problem("SOURCE-009", f"the header cannot be split into columns: {error}", _QUOTE_FIX, where)
            ) from None
        if len(names) == 1:
            self._require_own_delimiter(names[0], line + 1)
        require_good_names(self.path, names, line + 1)
        return tuple(names)

    def _require_own_delimiter(self, header: str, line: int) -> None:
        for other in (";", "\t", ","):
            if other != self.delimiter and other in header:
                fix = "write the file with commas and name it .csv, or with tabs and name it .tsv"
                if self.delimiter == "," and other == "\t":
                    fix = "name the file .tsv"
                elif self.delimiter == "\t" and other == ",":
                    fix = "name the file .csv"
                what = (
                    f"the header {header[:80]!r} is one column, read with {_SPOKEN[self.delimiter]} between"
                    f" columns; the delimiter seems to be {_SPOKEN[other]}"
                )
                raise AuthorError(Problem("SOURCE-009", what, fix, Origin(self.path, line=line)))

    def _ragged(self, columns: tuple[str, ...], values: list[str], where: Origin) -> Problem:
        found = f"found {len(values)} fields, expected {len(columns)}"
        if len(values) < len(columns):
            missing = listing(columns[len(values) :])
            what = f"{found}; nothing for the columns {missing}"
            fix = "add the missing fields; an empty one still needs its delimiter"
            if any("\n" in value for value in values):
                fix += "; a value of this row spans lines, so look for a quote that is not closed"
        else:
            extra = listing((value[:40] for value in values[len(columns) :]), at_most=3)
            what = f"{found}; left over: {extra}"
            fix = _QUOTE_FIX if self.delimiter == "," else "remove the tab inside a value"
        return Problem("SOURCE-005", what, fix, where)

    def _unsplittable(self, error: csv.Error, where: Origin, last: int) -> Problem:
        if "field limit" in str(error):
            what = f"a value has more than {LONGEST_CELL:,} characters, up to line {last}"
            fix = "look for a quote that is not closed, or put the text into a file of its own"
            return Problem("SOURCE-005", what, fix, where)
        if "unexpected end" in str(error):
            what = f"a quote is opened in this row and never closed; it swallows everything up to line {last}"
        else:
            what = f"a quote is closed in the middle of a value on line {last} ({error})"
        return Problem("SOURCE-005", what, _QUOTE_FIX, where)


_QUOTE_FIX = 'put values that hold a comma, a quote or a line break in "...", and write a quote in them as ""'
