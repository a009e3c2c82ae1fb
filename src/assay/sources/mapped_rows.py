"""Rows that the `datasets` library keeps in a file, read when they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, overload

_IN_MEMORY_BYTES = 64_000_000
"""Maximum size of rows kept as Python objects, including `_ROW_BYTES` of overhead per row."""
_ROW_BYTES = 1_000
_READ_AT_ONCE = 1_000
_READ_ALONE = 256
"""Number of rows cached when rows are read in random order."""


def read_dataset_rows(dataset: Any, numbers: Sequence[int] | None = None) -> Sequence[dict[str, Any]]:
    """Return rows of a `datasets.Dataset` as plain dicts, in the order of `numbers`; None: all rows.

    A small dataset is loaded into memory, where access is fast. A large one stays in the library's file.
    """
    chosen = range(len(dataset)) if numbers is None else numbers
    if not hasattr(dataset, "with_format") or _size(dataset, len(chosen)) <= _IN_MEMORY_BYTES:
        rows: list[dict[str, Any]] = dataset.to_list()
        return [rows[number] for number in chosen]
    return MappedRows(dataset, chosen)


def _size(dataset: Any, n: int) -> float:
    """Estimate the memory that `n` rows need as Python objects."""
    table = dataset.data  # the whole table, before rows were selected
    bytes_per_row: float = table.nbytes / max(1, table.num_rows)
    return n * (_ROW_BYTES + bytes_per_row)


class MappedRows(Sequence[dict[str, Any]]):
    """A read-only list of rows. Sequential access reads a part at a time, so memory stays constant."""

    def __init__(self, dataset: Any, numbers: Sequence[int]) -> None:
        """Take the rows with these numbers as `to_list` returns them: not decoded, not transformed."""
        self._tables = dataset.with_format("arrow")
        self._numbers = numbers
        self._begin, self._part = 0, list[dict[str, Any]]()
        self._next = 0
        """The row after the one read last, at which sequential access continues."""
        self._alone = lru_cache(_READ_ALONE)(lambda at: self._read(at, at + 1)[0])

    @property
    def columns(self) -> list[str]:
        """The column names of every row."""
        names: list[str] = self._tables.column_names
        return names

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for begin in range(0, len(self), _READ_AT_ONCE):
            yield from self._read(begin, begin + _READ_AT_ONCE)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[dict[str, Any]]: ...

    def __getitem__(self, at: int | slice) -> dict[str, Any] | Sequence[dict[str, Any]]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        at %= len(self)
        is_sequential, self._next = at == self._next, at + 1
        if not self._begin <= at < self._begin + len(self._part):
            if not is_sequential:
                return self._alone(at)
            self._begin, self._part = at, self._read(at, at + _READ_AT_ONCE)
        return self._part[at - self._begin]

    def _read(self, begin: int, end: int) -> list[dict[str, Any]]:
        numbers = self._numbers[begin:end]
        is_range = isinstance(numbers, range) and numbers.step == 1
        key = slice(numbers[0], numbers[-1] + 1) if is_range and numbers else list(numbers)
        rows: list[dict[str, Any]] = self._tables[key].to_pylist()
        return rows
