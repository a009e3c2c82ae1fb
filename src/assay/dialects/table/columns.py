"""Properties of columns, computed from a bounded sample of rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from statistics import median
from typing import Any

from assay.dialects.shared.template import get_field
from assay.dialects.table.cells import (
    parse_printed,
    parse_printed_answers,
    read_boolean,
    read_options,
    read_targets,
)
from assay.dialects.table.column_words import RoleSuggestion, suggest_role

SAMPLE_ROWS = 1000
"""Rows from which columns are inferred. Every row is checked afterwards."""
_SAMPLE_CHARACTERS = 4_000_000
"""Maximum characters of the sample; with long rows it has fewer rows."""
_LONG_TEXT = 100
"""Median length from which on a text column contains passages rather than names."""


_SENTENCE_WORDS = 4
"""Words from which a text that ends with a full stop is a sentence."""
_CODE = re.compile(r"[!-~]*[@_/\\\d][!-~]*")
_SENTENCE = 30
"""Median length from which on list items are sentences rather than names."""


class Column:
    """One column of a sample, or one field of its objects (`question.stem`)."""

    def __init__(self, name: str, cells: Sequence[Any], parent: Column | None = None) -> None:
        self.name = name
        self.cells = cells
        """The value in each row of the sample."""
        self.parent = parent
        self.filled = [cell for cell in cells if not is_empty(cell)]

    @cached_property
    def suggestion(self) -> RoleSuggestion | None:
        """What the name suggests; of an object's field, its own name."""
        if self.parent is None:
            return suggest_role(self.name)
        return suggest_role(self.name.removeprefix(f"{self.parent.name}."))

    @cached_property
    def is_text(self) -> bool:
        """Whether every filled cell is a text, and not a printed list or object."""
        return bool(self.filled) and all(type(cell) is str for cell in self.filled) and not self.is_printed

    @cached_property
    def is_printed(self) -> bool:
        """Whether every filled cell is a printed list or object."""
        return bool(self.filled) and all(
            type(cell) is str and cell[:1] in "[{(a" and parse_printed(cell) is not None
            for cell in self.filled
        )

    @cached_property
    def is_text_list(self) -> bool:
        """Whether every filled cell is a list of texts, possibly nested."""
        return bool(self.filled) and all(
            isinstance(cell, (list, tuple)) and bool(cell) and _holds_text(cell) for cell in self.filled
        )

    @cached_property
    def is_scalar(self) -> bool:
        """Whether every filled cell is a text, a number or a boolean."""
        kinds = set(map(type, self.filled))
        return bool(kinds) and not any(issubclass(kind, (Mapping, list, tuple)) for kind in kinds)

    @cached_property
    def integers(self) -> list[int] | None:
        """The filled cells as integers; None if any cell is something else."""
        found = []
        for cell in self.filled:
            if isinstance(cell, bool) or not isinstance(cell, (int, float, str)):
                return None
            text = str(cell).strip().removesuffix(".0")
            if not text.lstrip("-").isdecimal():
                return None
            found.append(int(text))
        return found or None

    @cached_property
    def is_boolean(self) -> bool:
        """Whether every filled cell is a boolean."""
        return bool(self.filled) and all(read_boolean(cell) is not None for cell in self.filled)

    @cached_property
    def is_counter(self) -> bool:
        """Whether the cells number the rows."""
        numbers = self.integers
        return (
            numbers is not None
            and len(numbers) >= 2
            and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        )

    @cached_property
    def median_length(self) -> float:
        """Median length of the filled cells."""
        return median(len(str(cell)) for cell in self.filled) if self.filled else 0.0

    @cached_property
    def is_long(self) -> bool:
        """Whether the column contains passages."""
        if self.is_text_list:
            items = [len(item) for cell in self.filled for item in cell if isinstance(item, str)]
            # A list of names or keywords is not a passage.
            return self.median_length >= _LONG_TEXT and (not items or median(items) >= _SENTENCE)
        return self.is_text and self.median_length >= _LONG_TEXT

    @cached_property
    def is_prose(self) -> bool:
        """Whether most cells are sentences."""
        if not self.is_text:
            return False
        n = sum(len(text.split()) >= _SENTENCE_WORDS and text.rstrip()[-1:] in ".!?" for text in self.filled)
        n += sum(text.rstrip()[-1:] in "。！？" for text in self.filled)
        return n * 2 > len(self.filled)

    @cached_property
    def is_code(self) -> bool:
        """Whether every cell is one string of letters and signs: an address, a file's name, a key."""
        return self.is_text and all(_CODE.fullmatch(text.strip()) for text in self.filled)

    @cached_property
    def asks(self) -> bool:
        """Whether most cells end like a question, or have a blank to fill in."""
        if not self.is_text:
            return False
        texts: list[str] = self.filled
        n = sum(text.rstrip().endswith(("?", "？", "؟")) or "__" in text for text in texts)
        return n * 2 > len(texts)

    @cached_property
    def distinct(self) -> list[str]:
        """The distinct values as texts, in order."""
        return sorted({str(cell).strip() for cell in self.filled}) if self.is_scalar else []

    @cached_property
    def holds_options(self) -> bool:
        """Whether every filled cell contains at least two options."""
        # Most columns hold none, and their first cell shows it: later ones are not read.
        return bool(self.filled) and all(
            (options := read_options(cell)) is not None and len(options.texts) >= 2 for cell in self.filled
        )

    @cached_property
    def marks_right(self) -> bool:
        """Whether every filled cell contains options and marks the right ones."""
        return bool(self.filled) and all(
            (options := read_options(cell)) is not None and options.right is not None for cell in self.filled
        )

    @cached_property
    def holds_targets(self) -> bool:
        """Whether every filled cell contains one or more accepted answers."""
        cells = self.filled
        if self.is_printed:
            cells = [parse_printed_answers(cell) or cell for cell in cells]
        found = [read_targets(cell) for cell in cells]
        return bool(found) and all(one is not None for one in found) and any(found)

    def is_contained_in(self, other: Column) -> bool:
        """Whether another column's text contains this one's in every row."""
        if not (self.is_text and other.is_text) or not self.filled:
            return False
        pairs = zip(self.cells, other.cells, strict=True)
        return all(
            is_empty(mine) or (not is_empty(its) and str(mine).strip() in str(its)) for mine, its in pairs
        )


def is_empty(value: Any) -> bool:
    """Whether a cell is empty."""
    # Hot path of every table: most cells are texts.
    if type(value) is str:
        return not value or value.isspace()
    return (
        value is None
        or value == ""
        or value == []
        or value == {}
        or (isinstance(value, Mapping) and all(map(is_empty, value.values())))
    )


def _holds_text(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_holds_text, value))
    return isinstance(value, str)


def sample_columns(names: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> list[Column]:
    """Return the columns of a table's first rows; the fields of objects become columns too."""
    kept = []
    n_characters = 0
    for row in islice(rows, SAMPLE_ROWS):
        kept.append(row)
        n_characters += sum(len(value) for value in row.values() if isinstance(value, str))
        if n_characters > _SAMPLE_CHARACTERS:
            break
    columns: list[Column] = []
    for name in names:
        column = Column(name, [row.get(name) for row in kept])
        columns.append(column)
        if column.filled and all(isinstance(cell, Mapping) for cell in column.filled):
            keys = dict.fromkeys(str(key) for cell in column.filled for key in cell)
            columns += [
                Column(path, [get_field(row, path, None) for row in kept], column)
                for path in (f"{name}.{key}" for key in keys)
            ]
    return columns
