"""A sequence whose items are computed from rows on access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

Row = TypeVar("Row")
Made = TypeVar("Made")


class LazyRows(Sequence[Made], Generic[Row, Made]):
    """A sequence that stores no items, because rows and items may not fit into memory."""

    def __init__(self, rows: Sequence[Row], make: Callable[[Row], Made]) -> None:
        """Store the rows and a function that returns the same item for a row on every call."""
        self._rows = rows
        self._make = make

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Made]:
        return map(self._make, self._rows)

    @overload
    def __getitem__(self, at: int) -> Made: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Made]: ...

    def __getitem__(self, at: int | slice) -> Made | Sequence[Made]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        return self._make(self._rows[at])
