"""csv and tsv files: a header or given column names, then one record per row. Every value is a string."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.core.sizes import LONGEST_CELL
from assay.sources.decimal_comma import shows_decimal_comma
from assay.sources.faults import build_no_rows_error
from assay.sources.file_settings import FileReading, FileSettings, UndecidedFile
from assay.sources.header import TableHead, read_table_head, require_header
from assay.sources.record import Record
from assay.sources.source import Report
from assay.sources.stream import StoredText
from assay.sources.text_source import TextSource

if TYPE_CHECKING:
    from _csv import Reader

# Passages can be longer than the module's default of 128 KiB. The limit is global, so set it once.
csv.field_size_limit(LONGEST_CELL)

SEPARATORS = (",", ";", "\t", "|")
_SEPARATOR_NAMES = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'"}
_SAMPLE_CHARS = 1 << 16
"""Characters from which the separator and the header are inferred. Later rows are checked one by one."""
_SAMPLE_ROWS = 1_000
_COMPARED_ROWS = 200
"""Rows with which the header is compared."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_MOST_NOTES = 10
"""Maximum lines of notes above a table."""
_SEP_LINE = re.compile(r"\ufeff?sep=(.)\r?\n", re.IGNORECASE)
"""The line that names the separator for Excel."""


class _Form(NamedTuple):
    """How the rows of a file are written: separator, quoting, skipped lines."""

    separator: str
    quotes: bool
    n_skipped: int = 0
    """Lines above the header."""
    decimal_comma: bool = False


class DelimitedSource(TextSource):
    """A csv or tsv file, with or without a byte order mark.

    csv: values with separators, quotes or line breaks are in double quotes, and a quote inside is doubled
    (RFC 4180). A quote that is never closed, or that is closed in the middle of a value, is an error.

    tsv: tabs, and no quoting unless the file uses it: a quote is an ordinary character, as in the public tsv
    datasets KorSTS, KorNLI and XNLI. A value then contains neither a tab nor a line break.

    Blank lines are skipped. Without settings, the suffix alone decides. With settings, everything they leave
    open is inferred from the first rows.
    """

    kind = "a csv or tsv file"
    understands = TextSource.understands | {
        *("has_header", "header_row", "columns", "separator", "quotes", "decimal_comma")
    }

    def __init__(self, stored: StoredText, separator: str, settings: FileSettings | None = None) -> None:
        super().__init__(stored, settings)
        self._by_suffix = separator

    @cached_property
    def _form(self) -> _Form:
        quotes = self._by_suffix != "\t"
        if self.settings is None:
            return _Form(self._by_suffix, quotes)
        settings = self.settings
        n_skipped = (settings.header_row or 1) - 1
        text = self._sample()
        separator = settings.separator
        if (line := _SEP_LINE.match(text)) is not None:
            n_skipped = max(1, n_skipped)
            separator = separator or line[1]
        text = "".join(text.splitlines(keepends=True)[n_skipped:]) if n_skipped else text
        if separator is None:
            separator = infer_separator(self.path, text, self._by_suffix)
        quotes = separator != "\t" or _has_quoted_values(text)
        quotes = quotes if settings.quotes is None else settings.quotes
        rows = list(islice(split_sample(text, separator, quotes=quotes), _COMPARED_ROWS))
        if not settings.says_header and rows:
            names, *values = [row for _, row in rows]
            require_header(names, values, Origin(self.path, line=n_skipped + rows[0][0]))
        decimal_comma = settings.decimal_comma
        if decimal_comma is None:
            cells = (cell for _, row in split_sample(text, separator, quotes=quotes) for cell in row)
            decimal_comma = separator != "," and shows_decimal_comma(cells)
        return _Form(separator, quotes, n_skipped, decimal_comma)

    @property
    def has_decimal_comma(self) -> bool:
        """Whether the settings say so, or the numbers of a file not separated by commas show it."""
        return self._form.decimal_comma

    @property
    def notes(self) -> tuple[str, ...]:
        """What was inferred about the file beyond its suffix."""
        notes = list(super().notes)
        if self._form.separator != self._by_suffix and self.settings and self.settings.separator is None:
            notes.append(f"columns are separated by {_format_separator(self._form.separator)}")
        if (
            self._form.separator == "\t"
            and self._form.quotes
            and self.settings
            and self.settings.quotes is None
        ):
            notes.append("values in double quotes are unquoted")
        if self._form.decimal_comma and self.settings and self.settings.decimal_comma is None:
            notes.append("numbers have a decimal comma: the right answer 3,5 is the number 3.5")
        return tuple(notes)

    def _sample(self) -> str:
        """Return the beginning of the file, without an incomplete last line."""
        with self._open_bytes() as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="").read(_SAMPLE_CHARS)
        if len(text) < _SAMPLE_CHARS:
            return text
        return text[: max(text.rfind("\n"), text.rfind("\r")) + 1]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names in the header, or those given with --columns."""
        with self._rows() as rows:
            return self._head(rows)[0].columns

    def _read(self, report: Report) -> Iterator[Record]:
        path, columns = self.path, self.columns
        for row, line, values in self._scan_rows(report):
            yield Record(dict(zip(columns, values, strict=True)), Origin(path, row, line))

    def _scan_rows(self, report: Report) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the number, the line and the values of each valid row."""
        path = self.path
        row = 0
        with self._rows() as rows:
            head, begins = self._head(rows)
            width = len(head.columns)
            line = rows.line_num
            if head.first is not None:
                row = 1
                yield row, begins, cast(list[str], head.first)
            is_done = False
            while not is_done:
                try:
                    # The hot loop: only what every row needs.
                    for values in rows:
                        begins = line + 1
                        line = rows.line_num
                        if len(values) == width:
                            row += 1
                            yield row, begins, values
                        elif len(values) > 1 or (values and values[0].strip()):
                            row += 1
                            report(
                                self._build_ragged_problem(head.columns, values, Origin(path, row, begins))
                            )
                    is_done = True
                except csv.Error as error:
                    # The reader drops the broken row and can continue with the next line.
                    row += 1
                    report(self._build_split_problem(error, Origin(path, row, line + 1), rows.line_num))
                    line = rows.line_num
        if not row:
            raise build_no_rows_error(path, f"a header of {width} columns and nothing below it")

    @contextmanager
    def _rows(self) -> Iterator[Reader]:
        form = self._form
        # newline="" leaves line breaks to the csv module, which knows whether they are quoted.
        with self._open_bytes() as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            yield _reader(text, form.separator, quotes=form.quotes, strict=True)

    def _head(self, rows: Reader) -> tuple[TableHead, int]:
        """Return the column names and the line number of the first row."""
        line = 0
        try:
            for names in rows:
                if line >= self._form.n_skipped and (len(names) > 1 or (names and names[0].strip())):
                    break
                line = rows.line_num
            else:
                raise build_no_rows_error(self.path, "only blank lines")
        except csv.Error as error:
            where = Origin(self.path, line=line + 1)
            raise AuthorError(
                Problem("SOURCE-009", f"the header cannot be split into columns: {error}", _QUOTE_FIX, where)
            ) from None
        settings = self.settings or FileSettings()
        if len(names) == 1 and settings.separator is None:
            self._require_own_separator(names[0], line + 1)
        where = Origin(self.path, line=line + 1)
        return read_table_head(settings, names, where), line + 1

    def _require_own_separator(self, header: str, line: int) -> None:
        mine = self._form.separator
        for other in SEPARATORS[:3]:
            if other != mine and other in header:
                fix = "write the file with commas and name it .csv, or with tabs and name it .tsv"
                if self.settings is not None:
                    fix = f"if so, add --separator {'tab' if other == chr(9) else repr(other)}"
                elif mine == "," and other == "\t":
                    fix = "name the file .tsv"
                elif mine == "\t" and other == ",":
                    fix = "name the file .csv"
                what = (
                    f"the header {header[:80]!r} has only one column when split at {_format_separator(mine)};"
                    f" the separator seems to be {_format_separator(other)}"
                )
                raise AuthorError(Problem("SOURCE-009", what, fix, Origin(self.path, line=line)))

    def _build_ragged_problem(self, columns: tuple[str, ...], values: list[str], where: Origin) -> Problem:
        counts = f"found {len(values)} fields, expected {len(columns)}"
        if len(values) < len(columns):
            missing = listing(columns[len(values) :])
            what = f"{counts}; no value for the columns {missing}"
            fix = "add the missing fields; an empty one still needs its delimiter"
            if any("\n" in value for value in values):
                fix += "; a value in this row contains a line break, so look for an unclosed quote"
        else:
            extra = listing((value[:40] for value in values[len(columns) :]), at_most=3)
            what = f"{counts}; extra values: {extra}"
            fix = _QUOTE_FIX if self._form.quotes else "remove the tab inside a value"
        return Problem("SOURCE-005", what, fix, where)

    def _build_split_problem(self, error: csv.Error, where: Origin, last: int) -> Problem:
        if "field limit" in str(error):
            what = f"a value has more than {LONGEST_CELL:,} characters, up to line {last}"
            fix = "look for an unclosed quote, or put the text into a separate file"
            return Problem("SOURCE-005", what, fix, where)
        if "unexpected end" in str(error):
            what = f"a quote is opened in this row and never closed; the value continues to line {last}"
        else:
            what = f"a quote is closed in the middle of a value on line {last} ({error})"
        fix = _QUOTE_FIX
        if self._form.separator == "\t":
            fix += "; if quotes are part of the text, add --no-quotes"
        return Problem("SOURCE-005", what, fix, where)


def infer_separator(path: str, text: str, usual: str) -> str:
    """Return the separator of a file, inferred from a sample of it. `usual` is the one its suffix implies.

    A separator fits if the header contains it and every row has as many columns as the header. If several
    fit, raise SOURCE-017.
    """
    # If quotes are ordinary text, quoted parsing would make rows of a tab-separated file look broken.
    widths = {
        separator: [
            (line, len(row))
            for line, row in split_sample(
                text, separator, quotes=separator != "\t" or _has_quoted_values(text)
            )
        ]
        for separator in (usual, *(other for other in SEPARATORS if other != usual))
    }
    shares = {
        separator: sum(width == rows[0][1] for _, width in rows[1:]) / max(1, len(rows) - 1)
        for separator, rows in widths.items()
        if rows and rows[0][1] > 1
    }
    fitting = [separator for separator, share in shares.items() if share == 1]
    if len(fitting) > 1:
        header, named = (
            _read_first_line(text.lstrip()).strip(),
            " and ".join(map(_format_separator, fitting)),
        )
        what = f"{named} each split every row into as many columns as the header {header[:80]!r}"
        readings = [
            FileReading(
                f"{_format_separator(separator)} separates columns", FileSettings(separator=separator)
            )
            for separator in fitting
        ]
        raise UndecidedFile("SOURCE-017", what, readings, Origin(path))
    if fitting:
        return fitting[0]
    begins = {separator: line for separator, rows in widths.items() if (line := _find_header_line(rows))}
    if len(begins) == 1:
        ((separator, line),) = begins.items()
        what = f"line 1 has fewer columns than the rows from line {line} on"
        settings = FileSettings(header_row=line, separator=None if separator == usual else separator)
        reading = FileReading(f"the header is in line {line}", settings)
        raise UndecidedFile("SOURCE-015", what, [reading], Origin(path, line=1))
    best = max(shares, key=lambda separator: shares[separator], default=usual)
    # Most rows fit: report the others one by one. Otherwise report problems as the suffix implies.
    return best if shares.get(usual, 0) < 0.5 < shares.get(best, 0) else usual


def _find_header_line(widths: list[tuple[int, int]]) -> int | None:
    """Return the line of a header below notes: from that line on, all rows have the same width."""
    if len(widths) < 3 or (width := widths[-1][1]) < 2:
        return None
    at = next((at for at in range(len(widths), 0, -1) if widths[at - 1][1] != width), 0)
    is_below = 0 < at <= min(_MOST_NOTES, len(widths) - 2) and all(other < width for _, other in widths[:at])
    return widths[at][0] if is_below else None


def split_sample(text: str, separator: str, *, quotes: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the values of each row of a sample, until a row cannot be split.

    Omits the last row of a long sample, which may be incomplete.
    """
    line = n = 0
    pending: tuple[int, list[str]] | None = None
    # Line by line, to avoid a second copy of the sample.
    lines = (match[0] for match in _LINE.finditer(text))
    reader = _reader(lines, separator, quotes=quotes, strict=False)
    try:
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                if pending is not None:
                    yield pending
                pending, n = (line + 1, row), n + 1
            line = reader.line_num
            if n > _SAMPLE_ROWS:
                return
    except csv.Error:
        return
    if pending is not None and len(text) <= _SAMPLE_CHARS // 2:
        yield pending


def _reader(lines: Iterable[str], separator: str, *, quotes: bool, strict: bool) -> Reader:
    if quotes:
        return csv.reader(lines, delimiter=separator, strict=strict)
    return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)


_QUOTE_OPENS = re.compile(r'(?:^|(?<=[\t\r\n]))"((?:[^"]|"")*"(?=[\t\r\n]|$))?')
"""A quote at the beginning of a value; if the value is quoted, with the rest of it."""


def _has_quoted_values(text: str) -> bool:
    """Return whether a tab-separated file writes values in quotes.

    Every value that begins with a quote must be quoted, and at least one must need it: it contains a doubled
    quote, a tab or a line break. Otherwise quotes are part of the text.
    """
    is_needed = False
    for match in _QUOTE_OPENS.finditer(text):
        if match[1] is None:
            return False
        value = match[1][:-1]
        is_needed = is_needed or '""' in value or "\t" in value or "\n" in value or "\r" in value
    header = _read_first_line(text).split("\t")
    return is_needed or all(len(name) > 1 and name[0] == name[-1] == '"' for name in header)


def _read_first_line(text: str) -> str:
    return re.split(r"[\r\n]", text, maxsplit=1)[0]


def _format_separator(separator: str) -> str:
    return _SEPARATOR_NAMES.get(separator, repr(separator))


_QUOTE_FIX = 'put values with a comma, a quote or a line break in "...", and write a quote inside as ""'
