"""Sheets of .xlsx and .ods workbooks. The only module that imports python-calamine, an extra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import ExpatError

from assay.core.errors import AuthorError, Problem, format_count, listing, suggest_name
from assay.core.origin import Origin
from assay.sources.faults import (
    build_damaged_error,
    build_no_rows_error,
    build_not_installed_error,
    build_unreadable_error,
)
from assay.sources.file_settings import FileReading, FileSettings, UndecidedFile
from assay.sources.header import TableHead, read_table_head, require_header
from assay.sources.record import Record
from assay.sources.source import Report, Source
from assay.sources.stream import ZIP_FAULTS
from assay.sources.workbook_cells import MergedRange, SheetCells, cell_name, is_protected, read_cells

_LOOKED_AT = 200
"""Number of rows from which the header is inferred."""
_LISTED_SHEETS = 12
_WITHIN = 20
"""Number of first rows that may contain the header."""
_LARGEST_WHOLE = 10**15
"""Larger numbers are not stored exactly: Excel keeps fifteen digits."""


class _Sheet(NamedTuple):
    """A table within a sheet. Rows and columns count from 0."""

    cells: SheetCells
    head: TableHead
    first_row: int
    """The first row of data."""
    places: tuple[int, ...]
    """The columns of the sheet that belong to the table."""


class WorkbookSource(Source):
    """One sheet of a workbook.

    The header is the first row that is not empty, and the table extends as far as its cells. Formulas are
    read as the values stored with them. A cell that shows an error, or was never calculated, is a problem of
    its row. A cell merged over several rows has its value in each of them.

    The whole sheet is kept in memory.
    """

    def __init__(self, path: str, settings: FileSettings | None = None) -> None:
        super().__init__(path)
        self.settings = settings or FileSettings()
        self._infers = settings is not None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names in the header, or those given with --columns."""
        return self._sheet.head.columns

    @property
    def notes(self) -> tuple[str, ...]:
        """What was inferred about the workbook."""
        notes = []
        others = [sheet.name for sheet in self._all if sheet.name != self._sheet.cells.name]
        if others:
            notes.append(f"sheet {self._sheet.cells.name!r} is read; not read: {listing(others)}")
        filled = [merged for merged in self._sheet.cells.merged if merged.top >= self._sheet.first_row]
        if filled:
            merged = filled[0]
            place = f"{cell_name(merged.top, merged.left)}:{cell_name(merged.bottom, merged.right)}"
            notes.append(f"merged cells have the same value in every row, for example {place}")
        if dates := self._date_example:
            notes.append(f"dates are read as text such as {dates[1]!r}, for example in column {dates[0]!r}")
        return tuple(notes)

    def _read(self, report: Report) -> Iterator[Record]:
        path, sheet = self.path, self._sheet
        name, names, faults = sheet.cells.name, sheet.head.columns, sheet.cells.faults
        merged = _MergedCells(sheet)
        row = 0
        for at, values in self._rows(sheet.cells):
            if at < sheet.first_row:
                continue
            bad = [place for place in sheet.places if (at, place) in faults] if faults else []
            is_blank = not bad and all(values[place] == "" for place in sheet.places)
            merged.fill(at, values)
            if is_blank:
                continue
            row += 1
            where = Origin(path, row, at + 1, sheet=name)
            if bad or at in merged.across:
                for problem in _find_cell_problems(sheet, at, bad, merged.across.get(at), where):
                    report(problem)
                continue
            yield Record({names[k]: values[place] for k, place in enumerate(sheet.places)}, where)
        if not row:
            found = f"a header of {len(names)} columns and nothing below it in sheet {name!r}"
            raise build_no_rows_error(path, found)

    @cached_property
    def _date_example(self) -> tuple[str, str] | None:
        """The first column that contains dates, and one of them."""
        for at, values in self._rows(self._sheet.cells, converts=False):
            if at >= self._sheet.first_row + _LOOKED_AT:
                break
            for place, name in zip(self._sheet.places, self._sheet.head.columns, strict=True):
                if at >= self._sheet.first_row and isinstance(values[place], date | time | timedelta):
                    return name, str(_convert_value(values[place]))
        return None

    @cached_property
    def _all(self) -> list[SheetCells]:
        with self._translating_errors():
            return read_cells(self.file)

    @cached_property
    def _sheet(self) -> _Sheet:
        cells = self._choose_sheet()
        settings = self.settings
        rows = self._first_rows(cells, (settings.header_row or 1) - 1)
        if not rows:
            raise build_no_rows_error(self.path, f"sheet {cells.name!r} is empty")
        at, first = rows[0]
        places = tuple(k for k in range(len(first)) if first[k] != "" or cells.bottoms.get(k, 0) > at)
        if not settings.is_headerless:
            self._require_names(cells, rows, places)
        texts = [[str(values[place]) for place in places] for _, values in rows]
        where = Origin(self.path, line=at + 1, sheet=cells.name)
        if self._infers and not settings.says_header:
            require_header(texts[0], texts[1:], where)
        head = read_table_head(settings, texts[0], where)
        return _Sheet(cells, head, at if head.first is not None else at + 1, places)

    def _require_names(
        self, cells: SheetCells, rows: list[tuple[int, list[Any]]], places: Sequence[int]
    ) -> None:
        """Raise if a column has values but no name, and suggest the row that could be the header."""
        at, first = rows[0]
        unnamed = [place for place in places if first[place] == ""]
        if not unnamed or (
            unnamed == [places[0]] and _is_index([values[places[0]] for _, values in rows[1:]])
        ):
            return
        where = Origin(self.path, line=at + 1, sheet=cells.name)
        for later, values in rows[1:_WITHIN] if self.settings.header_row is None else ():
            if all(isinstance(values[place], str) and values[place] for place in places):
                above = listing(str(value) for value in first if value != "")
                what = f"the first row, {above}, names {len(places) - len(unnamed)} of {len(places)} columns"
                header = f"the header is {listing(filter(None, values))}"
                raise UndecidedFile(
                    "SOURCE-015", what, [FileReading(header, FileSettings(header_row=later + 1))], where
                )
        what = f"cell {cell_name(at, unnamed[0])} is empty, so the column below it has no name"
        fix = "write a name into it, or pass the header's row with --header-row N"
        raise AuthorError(Problem("SOURCE-009", what, fix, where))

    def _choose_sheet(self) -> SheetCells:
        """Return the sheet that --sheet names, or the only one that is not empty."""
        sheets = {sheet.name: sheet for sheet in self._all}
        wanted = self.settings.sheet
        if wanted is not None:
            if wanted not in sheets:
                what = f"the workbook has no sheet {wanted!r}{suggest_name(wanted, sheets)}"
                fix = f"use one of {listing(sheets)}"
                raise AuthorError(Problem("SOURCE-016", what, fix, Origin(self.path)))
            return sheets[wanted]
        hidden = self._list_hidden_sheets()
        filled = [sheet for sheet in sheets.values() if sheet.n_filled]
        visible = [sheet for sheet in filled if sheet.name not in hidden] or filled
        if not visible:
            raise build_no_rows_error(self.path, f"the sheets {listing(sheets)} are empty")
        if len(visible) > 1:
            what = f"the workbook has {len(visible)} sheets that are not empty: "
            what += listing(sheet.name for sheet in visible)
            readings = [
                FileReading(format_count(_n_rows(sheet), "row"), FileSettings(sheet=sheet.name))
                for sheet in visible[:_LISTED_SHEETS]
            ]
            raise UndecidedFile("SOURCE-016", what, readings, Origin(self.path))
        return visible[0]

    def _list_hidden_sheets(self) -> set[str]:
        with self._open_workbook() as workbook:
            return {sheet.name for sheet in workbook.sheets_metadata if str(sheet.visible).endswith("Hidden")}

    def _first_rows(self, cells: SheetCells, begin: int) -> list[tuple[int, list[Any]]]:
        """Return the first rows that are not empty, starting at row `begin`."""
        rows = (row for row in self._rows(cells) if row[0] >= begin and any(value != "" for value in row[1]))
        return list(islice(rows, _LOOKED_AT))

    def _rows(self, cells: SheetCells, *, converts: bool = True) -> Iterator[tuple[int, list[Any]]]:
        """Yield the number and the values of each row of the sheet, starting at its first row and column."""
        with self._open_workbook() as workbook:
            sheet = workbook.get_sheet_by_name(cells.name)
            before = [""] * (sheet.start or (0, 0))[1]
            # Count cells without a value too: the reader may end the sheet before them.
            width = max(cells.last[1] + 1, len(before) + sheet.width)
            at = -1
            for at, values in enumerate(sheet.iter_rows()):
                row = [*before, *map(_convert_value, values)] if converts else [*before, *values]
                yield at, row + [""] * (width - len(row))
            for rest in range(at + 1, cells.last[0] + 1):
                yield rest, [""] * width

    @contextmanager
    def _open_workbook(self) -> Iterator[Any]:
        _ = self._all  # Check the size before the reader loads the file into memory.
        with self._translating_errors():
            from python_calamine import CalamineWorkbook

            # Opened by content instead of by name: pandas writes xlsx into a `Path` that ends in .ods.
            with self.file.open() as stream, CalamineWorkbook.from_filelike(stream) as workbook:
                yield workbook

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        """Turn errors of the file and of its reader, and a missing reader, into clear ones."""
        try:
            from python_calamine import CalamineError
        except ImportError:
            raise build_not_installed_error(self.path, "xlsx and ods", "python-calamine", "xlsx") from None
        try:
            yield
        except (FileNotFoundError, PermissionError) as error:
            raise build_unreadable_error(self.path, error) from None
        except (*ZIP_FAULTS, CalamineError, ParseError, ExpatError) as error:
            raise self._build_broken_error(error) from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            raise self._build_broken_error(RuntimeError(str(error))) from None

    def _build_broken_error(self, error: Exception) -> AuthorError:
        if is_protected(self.file):
            what = "the workbook is password-protected, or is an .xls workbook with another suffix"
            fix = "open it, remove the password, and save it as .xlsx"
            return AuthorError(Problem("SOURCE-011", what, fix, Origin(self.path)))
        return build_damaged_error(self.path, "xlsx or ods", error)


def _find_cell_problems(
    sheet: _Sheet, at: int, bad: Sequence[int], across: MergedRange | None, where: Origin
) -> Iterator[Problem]:
    """Yield the problems of the cells of a row."""
    for place in bad:
        error = sheet.cells.faults[at, place]
        what = f"cell {cell_name(at, place)} shows the error {error}"
        fix = "fix the formula or enter the value; clear the cell if it has none"
        if not error:
            what = f"cell {cell_name(at, place)} has a formula whose value was never calculated"
            fix = _RECALCULATE
        column = sheet.head.columns[sheet.places.index(place)]
        yield Problem("SOURCE-018", what, fix, where.at(column))
    if across is not None:
        corners = f"{cell_name(across.top, across.left)}:{cell_name(across.bottom, across.right)}"
        what = f"cells {corners} are merged across columns"
        yield Problem("SOURCE-018", what, "unmerge them and fill each column, or delete the row", where)


_RECALCULATE = "open the workbook in a spreadsheet program and save it, to store the values of formulas"


def _convert_value(value: Any) -> Any:
    """Return a value in its JSON form: whole numbers as int, dates and times as ISO text."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _LARGEST_WHOLE else value
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return value


def _n_rows(sheet: SheetCells) -> int:
    """Return the approximate number of rows of a sheet, including its header."""
    return sheet.last[0] - (sheet.first or (0, 0))[0] + 1


def _is_index(values: Sequence[Any]) -> bool:
    """Return whether an unnamed column counts the rows, as the index that pandas writes does."""
    return bool(values) and list(values) == list(range(len(values)))


class _MergedCells:
    """Copies the value of a cell merged over rows into each of them, as the rows are read."""

    def __init__(self, sheet: _Sheet) -> None:
        inside = [merged for merged in sheet.cells.merged if merged.top >= sheet.first_row]
        self._beginning: dict[int, list[MergedRange]] = {}
        self.across: dict[int, MergedRange] = {}
        """Ranges over several columns, by row. Their meaning is not clear."""
        for merged in inside:
            if merged.left == merged.right:
                self._beginning.setdefault(merged.top, []).append(merged)
            else:
                self.across |= dict.fromkeys(range(merged.top, merged.bottom + 1), merged)
        self._current: dict[int, tuple[int, Any]] = {}

    def fill(self, at: int, values: list[Any]) -> None:
        """Write the values of the ranges that contain this row."""
        self._current = {place: entry for place, entry in self._current.items() if at <= entry[0]}
        for place, (_, value) in self._current.items():
            values[place] = value
        for merged in self._beginning.get(at, ()):
            self._current[merged.left] = merged.bottom, values[merged.left]
