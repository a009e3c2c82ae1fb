"""The place in a file that an error can point at."""

from __future__ import annotations

import msgspec

from assay.core.text_preview import MAX_VALUE_CHARS, shorten_text


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place in a file that a person can open."""

    path: str
    """The file, as the user named it."""
    row: int | None = None
    """Record number, counted from 1 without the header."""
    line: int | None = None
    """Physical line on which the record begins, counted from 1; in a sheet, its row."""
    column: str | None = None
    """The field of the record."""
    sheet: str | None = None
    """The sheet of a workbook; `line` then counts its rows."""
    index: int | str | None = None
    """The index of the record in data of a Python program: its position, or its label in a DataFrame."""

    def at(self, column: str) -> Origin:
        """Return the place of the same record, narrowed to one column."""
        return msgspec.structs.replace(self, column=column)

    def __str__(self) -> str:
        text = self.path
        if self.sheet is not None:
            text += f" sheet {shorten_text(repr(self.sheet), MAX_VALUE_CHARS)}"
            # People see the row numbers of a sheet, so show those.
            text += "" if self.line is None else f" row {self.line}"
        elif self.row is not None:
            text += f" row {self.row}"
            if self.line is not None:
                text += f" (line {self.line})"
            elif self.index is not None:
                text += f" (index {shorten_text(str(self.index), MAX_VALUE_CHARS)})"
        elif self.line is not None:
            text += f" line {self.line}"
        if self.column is not None:
            text += f", column {shorten_text(repr(self.column), MAX_VALUE_CHARS)}"
        return text
