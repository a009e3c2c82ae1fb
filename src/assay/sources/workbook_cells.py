"""The cells of a workbook, read from its XML: their extent, cells without a value, merged cells.

The reader of the values (`python-calamine`) keeps a whole sheet in memory, even if its cells are far apart,
and returns an empty text for error values and for formulas that were never calculated. This module finds
those cells first, in bounded memory.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from functools import lru_cache
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

import msgspec

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.sources.faults import build_too_large_error
from assay.sources.stored_file import StoredFile
from assay.sources.stream import LONGEST_LINE, MOST_UNPACKED, ZIP_FAULTS

MOST_CELLS = 40_000_000
"""Maximum cells from the first to the last: the reader keeps all of them, empty ones too, 32 bytes each."""
_MOST_FAULTS = 10_000
_BLOCK = 1 << 20
_CELL = re.compile(
    rb"<(?:\w+:)?c(?: r=\"([A-Z]+)(\d+)\")?((?:\s+[\w:]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*"
    rb"(?:/>|>(.*?)</(?:\w+:)?c>)",
    re.DOTALL,
)
"""A cell: its place if that is the first attribute, its other attributes and its content."""
_REFERENCE = re.compile(rb"\sr\s*=\s*[\"']([A-Z]+)(\d+)[\"']")
_IS_ERROR = re.compile(rb"\st\s*=\s*[\"']e[\"']")
_IS_TEXT = re.compile(rb"\st\s*=\s*[\"']str[\"']")
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
_VALUE = re.compile(rb"<(?:\w+:)?v(?:\s[^>]*)?>([^<]+)<")
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*ref\s*=\s*[\"']([A-Z]+)(\d+):([A-Z]+)(\d+)[\"']")
_FILLED = re.compile(rb"<(?:\w+:)?(?:v(?:\s[^>]*)?>[^<]|is[\s>]|f[\s/>])")
_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_CALC = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"


class MergedRange(NamedTuple):
    """A range of cells that shows one value. Rows and columns count from 0."""

    top: int
    left: int
    bottom: int
    right: int


class SheetCells(msgspec.Struct):
    """The cells of one sheet. Rows and columns count from 0."""

    name: str
    path: str
    n_filled: int = 0
    first: tuple[int, int] | None = None
    """The top row and the left column."""
    last: tuple[int, int] = (0, 0)
    """The bottom row and the right column."""
    bottoms: dict[int, int] = {}
    """The last non-empty row of each column."""
    faults: dict[tuple[int, int], str] = {}
    """Cells without a value: the error they show, or an empty text for a formula that was not calculated."""
    merged: list[MergedRange] = []

    @property
    def n_spanned(self) -> int:
        """The number of cells between the first and the last."""
        top, left = self.first or (0, 0)
        return (self.last[0] - top + 1) * (self.last[1] - left + 1)

    def add(self, row: int, column: int, *, n_rows: int = 1, n_columns: int = 1) -> None:
        """Add a non-empty cell; raise SOURCE-013 if it is too far from the others."""
        self.n_filled += n_rows * n_columns
        bottom, right = row + n_rows - 1, column + n_columns - 1
        if self.first is None or row < self.first[0] or column < self.first[1]:
            top, left = self.first or (row, column)
            self.first = min(top, row), min(left, column)
        if bottom > self.last[0] or right > self.last[1]:
            self.last = max(self.last[0], bottom), max(self.last[1], right)
            self._require_bounds()
        for at in range(column, right + 1):
            if bottom > self.bottoms.get(at, -1):
                self.bottoms[at] = bottom

    def _require_bounds(self) -> None:
        if self.n_spanned > MOST_CELLS:
            corners = f"{cell_name(*self.first or (0, 0))}:{cell_name(*self.last)}"
            what = f"the sheet spans {self.n_spanned:,} cells ({corners}), most of them empty or repeated"
            fix = f"delete the cells around {cell_name(*self.last)}, or save the sheet as .csv"
            raise AuthorError(Problem("SOURCE-013", what, fix, Origin(self.path, sheet=self.name)))

    def add_fault(self, row: int, column: int, text: str) -> None:
        """Add a cell that has no value."""
        if len(self.faults) < _MOST_FAULTS:
            self.faults[row, column] = text


def read_cells(file: StoredFile) -> list[SheetCells]:
    """Return the cells of every sheet of a workbook; raise SOURCE-013 if it unpacks to too many bytes."""
    path = file.path
    with zipfile.ZipFile(file.open()) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_UNPACKED:
            raise build_too_large_error(path, MOST_UNPACKED, whole=True)
        is_open_document = "content.xml" in archive.namelist()
        return _read_open_document(path, archive) if is_open_document else _read_office_open(path, archive)


def is_protected(file: StoredFile) -> bool:
    """Return whether a workbook is encrypted: Office stores it in another container format."""
    with file.open() as stream:
        if stream.read(8) == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            return True
    try:
        with zipfile.ZipFile(file.open()) as archive:
            return b"encryption-data" in archive.read("META-INF/manifest.xml")
    except ZIP_FAULTS:
        return False


def cell_name(row: int, column: int) -> str:
    """Return the name of a cell in a spreadsheet, such as `AB12`."""
    letters = ""
    column += 1
    while column:
        column, at = divmod(column - 1, 26)
        letters = chr(ord("A") + at) + letters
    return f"{letters}{row + 1}"


def _read_office_open(path: str, archive: zipfile.ZipFile) -> list[SheetCells]:
    workbook = list(ElementTree.fromstring(archive.read("xl/workbook.xml")).iter())
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {relation.get("Id"): relation.get("Target", "") for relation in relations}
    # Libraries that write formulas without calculating them store a zero and request a calculation.
    recalculates = any(
        element.tag.endswith("}calcPr") and element.get("fullCalcOnLoad") in ("1", "true")
        for element in workbook
    )
    sheets = []
    for element in workbook:
        if not element.tag.endswith("}sheet"):
            continue
        relation = next((value for key, value in element.attrib.items() if key.endswith("}id")), None)
        target = targets.get(relation, "")
        place = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
        if "worksheet" in place and place in archive.namelist():
            cells = SheetCells(element.get("name", ""), path)
            _read_sheet(cells, archive, place, recalculates=recalculates)
            sheets.append(cells)
    return sheets


def _read_sheet(cells: SheetCells, archive: zipfile.ZipFile, place: str, *, recalculates: bool) -> None:
    row = column = -1
    text = b""
    with archive.open(place) as stream:
        while block := stream.read(_BLOCK):
            text += block
            end = 0
            for match in _CELL.finditer(text):
                end = match.end()
                letters, number, attributes, content = match.groups()
                if letters is None and (given := _REFERENCE.search(attributes)):
                    letters, number = given.groups()
                if letters is None:
                    # A cell without a place follows the previous one.
                    row, column = max(row, 0), column + 1
                else:
                    row, column = int(number) - 1, _column_number(letters)
                if content and _FILLED.search(content):
                    cells.add(row, column)
                    if recalculates or b"<f" in content or b":f" in content or _IS_ERROR.search(attributes):
                        fault = _find_fault(attributes, content, recalculates=recalculates)
                        if fault is not None:
                            cells.add_fault(row, column, fault)
            text = text[end:]
            if len(text) > LONGEST_LINE:
                raise build_too_large_error(cells.path, LONGEST_LINE, whole=False)
    # The remaining text is everything after the last cell.
    for merged in _MERGED.finditer(text):
        left, top, right, bottom = merged.groups()
        cells.merged.append(
            MergedRange(int(top) - 1, _column_number(left), int(bottom) - 1, _column_number(right))
        )


def _find_fault(attributes: bytes, content: bytes, *, recalculates: bool) -> str | None:
    """Return the error a cell shows, empty for a formula without a value; None if it has a value."""
    value = _VALUE.search(content)
    if _IS_ERROR.search(attributes):
        return value[1].decode(errors="replace") if value else "#ERROR"
    if _FORMULA.search(content) is None:
        return None
    has_value = value is not None or _IS_TEXT.search(attributes) is not None
    return None if has_value and not recalculates else ""


@lru_cache(maxsize=1 << 15)
def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number - 1


def _read_open_document(path: str, archive: zipfile.ZipFile) -> list[SheetCells]:
    reader = _OpenDocument(path)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    with archive.open("content.xml") as stream:
        parser.ParseFile(stream)
    return reader.sheets


class _OpenDocument:
    """Handlers for the XML elements of an OpenDocument sheet."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.sheets: list[SheetCells] = []
        self._row = self._column = 0
        self._n_rows = 1
        self._error: tuple[int, int] | None = None
        self._text = ""
        self._depth = 0
        """Nesting of tables: a table inside a table is not a sheet."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        space, _, tag = name.partition(" ")
        if space != _TABLE:
            return
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                self.sheets.append(SheetCells(attributes.get(f"{_TABLE} name", ""), self._path))
                self._row = 0
        elif tag == "table-row":
            self._column, self._n_rows = 0, _count(attributes, "number-rows-repeated")
        elif tag in ("table-cell", "covered-table-cell"):
            self._cell(attributes)

    def _cell(self, attributes: dict[str, str]) -> None:
        cells, row, column = self.sheets[-1], self._row, self._column
        n_columns = _count(attributes, "number-columns-repeated")
        kind = attributes.get(f"{_OFFICE} value-type")
        has_formula = f"{_TABLE} formula" in attributes
        if kind is not None or has_formula:
            cells.add(row, column, n_rows=self._n_rows, n_columns=n_columns)
        if attributes.get(f"{_CALC} value-type") == "error":
            self._error = row, column
            for at in range(column, column + n_columns):
                cells.add_fault(row, at, "#ERROR")
        elif has_formula and kind is None:
            cells.add_fault(row, column, "")
        n_down, n_across = (
            _count(attributes, "number-rows-spanned"),
            _count(attributes, "number-columns-spanned"),
        )
        if n_down > 1 or n_across > 1:
            cells.merged.append(MergedRange(row, column, row + n_down - 1, column + n_across - 1))
        self._column += n_columns

    def text(self, data: str) -> None:
        if self._error is not None:
            self._text += data

    def end(self, name: str) -> None:
        tag = name.partition(" ")[2]
        if tag == "table-row":
            self._row += self._n_rows
        elif tag == "table-cell" and self._error is not None:
            self.sheets[-1].add_fault(*self._error, self._text or "#ERROR")
            self._error, self._text = None, ""
        elif tag == "table" and name.startswith(_TABLE):
            self._depth -= 1


def _count(attributes: dict[str, Any], name: str) -> int:
    given = attributes.get(f"{_TABLE} {name}", "1")
    return int(given) if given.isdecimal() else 1
