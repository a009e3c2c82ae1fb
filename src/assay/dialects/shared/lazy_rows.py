"""What is made of each row only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

Row = TypeVar("Row")
Made = TypeVar("Made")


class LazyRows(Sequence[Made], Generic[Row, Made]):
    """A list that holds nothing: rows may be more than fit into memory, and so is what is made of them."""

    def __init__(self, rows: Sequence[Row], make: Callable[[Row], Made]) -> None:
        """Take the rows, and what makes the same of a row whenever it is called."""
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
