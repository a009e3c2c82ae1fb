"""Rows as an author's evaluator knows them: what `datasets.Dataset` offers for reading, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload


class RowTable(Sequence[dict[str, Any]]):
    """A table that is read by row and by column."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows = [dict(row) for row in rows]

    @property
    def column_names(self) -> list[str]:
        """The columns, in order."""
        return list(dict.fromkeys(name for row in self._rows for name in row))

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    @overload
    def __getitem__(self, key: slice) -> Any: ...

    def __getitem__(self, key: int | str | slice) -> Any:
        if isinstance(key, str):
            if key not in self.column_names:
                raise KeyError(f"there is no column {key!r}; there are {self.column_names!r}")
            return [row.get(key) for row in self._rows]
        if isinstance(key, slice):
            # So `datasets` has it: a part of a table is its columns.
            return {name: [row.get(name) for row in self._rows[key]] for name in self.column_names}
        return dict(self._rows[key])

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(row) for row in self._rows)

    def select(self, indices: Iterable[int]) -> RowTable:
        """Return some rows."""
        return RowTable(self._rows[index] for index in indices)

    def to_list(self) -> list[dict[str, Any]]:
        """Return all rows."""
        return list(self)
