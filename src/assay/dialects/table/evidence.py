"""The evidence about a table: a sample of its columns, and everything inferred so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from assay.dialects.shared.choices import Options
from assay.dialects.shared.request_selection import MAX_TOKENS
from assay.dialects.table.cells import extract_after_hashes, extract_last_boxed
from assay.dialects.table.column_words import find_numbered_families, is_weak_answer
from assay.dialects.table.columns import Column
from assay.dialects.table.meta import TableMeta


class Evidence:
    """The state of the inference for one table."""

    def __init__(
        self, path: str, columns: list[Column], given: TableMeta, label_names: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.path = path
        self.columns = {column.name: column for column in columns}
        self.given = given
        """The given settings."""
        self.label_names = label_names
        """The dataset's own names for integer labels, by column."""
        self.meta: dict[str, Any] = {}
        """The inferred settings, by meta file key."""
        self.reasons: dict[str, str] = {}
        """The reason for each inferred part."""
        self.taken: set[str] = set()
        """Columns that already have a role."""
        self.option_rows: list[Options | None] | None = None
        """The options of each row of the sample, once they are known."""
        self._take_given()

    def _take_given(self) -> None:
        given = self.given
        for names in (given.input_columns, given.context_columns, given.options, given.distractors):
            self.taken.update((names,) if isinstance(names, str) else names or ())
        if given.output_column:
            self.taken.add(given.output_column)

    def free(self) -> Iterator[Column]:
        """Yield the columns that have values and no role yet."""
        for column in self.columns.values():
            owner = column.name if column.parent is None else column.parent.name
            if column.filled and column.name not in self.taken and owner not in self.taken:
                yield column

    def role(self, column: Column) -> str | None:
        """Return the role that a column's name suggests, or None."""
        if column.parent is not None and (parent := column.parent.suggestion) is not None:
            # Fields of an object inherit its role, unless their names clearly suggest another one.
            own = column.suggestion
            if parent.role in ("context", "metadata", "id", "answer", "explanation"):
                return parent.role if own is None or own.role in (parent.role, "statement") else None
        return None if column.suggestion is None else column.suggestion.role

    @cached_property
    def flags(self) -> frozenset[str]:
        """The columns that mark one option each: `is_correct_1`, `is_correct_2`."""
        names = tuple(name for name, column in self.columns.items() if column.parent is None)
        return frozenset(
            name
            for _, family, _ in find_numbered_families(names)
            if all(_is_flag(self.columns[one]) for one in family)
            for name in family
        )

    def unused(self) -> tuple[str, ...]:
        """Return the columns without a role."""
        parts = {name.split(".")[0] for name in self.taken} | self.taken | {"id", MAX_TOKENS}
        return tuple(
            column.name
            for column in self.columns.values()
            if column.parent is None and column.name not in parts
        )


def find_named_answers(table: Evidence) -> list[Column]:
    """Return the columns whose names suggest the right answer, the clearest first."""
    has_q = any(name.casefold() == "q" for name in table.columns)

    def is_named(column: Column) -> bool:
        role = table.role(column)
        is_solution = role == "explanation" and _is_solution(column)
        return role == "answer" or is_solution or (has_q and column.name.casefold() == "a")

    found = [
        column
        for column in table.free()
        if column.parent is None
        and column.name not in table.flags
        and is_named(column)
        and (column.is_scalar or column.holds_targets)
    ]

    def strength(column: Column) -> tuple[bool, int]:
        hint = column.suggestion
        return is_weak_answer(column.name), -(hint.strength if hint and hint.role == "answer" else 0)

    return sorted(found, key=strength)


def _is_flag(column: Column) -> bool:
    return column.is_boolean or set(column.integers or (2,)) <= {0, 1}


def _is_solution(column: Column) -> bool:
    """Whether every cell is a worked solution that ends with the answer."""
    return column.is_text and all(
        extract_after_hashes(cell) is not None or extract_last_boxed(cell) is not None
        for cell in column.filled
    )
