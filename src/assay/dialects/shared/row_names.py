"""Row names: a hash of the content, numbered for equal rows."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import cast, overload

_MARK = "-"
"""Precedes the number of a repeated row; a hash never contains it."""
_NUMPY_THRESHOLD = 20_000
"""Number of rows up to which sorting does not import numpy."""


def name_rows(digests: Sequence[str]) -> list[str]:
    """Return a name for each row, given the content hashes; equal rows are numbered."""
    return list(RowNames(digests))


def get_content_hash(name: str) -> str:
    """Return the content hash in a row's name."""
    return name.partition(_MARK)[0]


class RowNames(Sequence[str]):
    """The names of many rows, at 24 bytes each, with lookup by name."""

    def __init__(self, digests: Iterable[str]) -> None:
        """Store the hash of each row's content, as returned by `core.ids.digest`."""
        self._contents = array("Q", (int(one, 16) for one in digests))
        self._ordered, self._places = _sort_contents(self._contents)
        """The sorted content hashes and their positions; equal ones in row order."""
        self._are_different = all(
            one != following for one, following in zip(self._ordered, self._ordered[1:], strict=False)
        )

    def __len__(self) -> int:
        return len(self._contents)

    def __iter__(self) -> Iterator[str]:
        return map(self._name, range(len(self)))

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...

    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return [self._name(place) for place in range(*at.indices(len(self)))]
        return self._name(range(len(self))[at])

    def number(self, name: str) -> int:
        """Return the index of the row with this name; raise KeyError if there is none."""
        content, _, nth = name.partition(_MARK)
        try:
            at = bisect_left(self._ordered, int(content, 16)) + (int(nth) - 1 if nth else 0)
        except ValueError:
            raise KeyError(name) from None
        if at >= len(self) or self._name(self._places[at]) != name:
            raise KeyError(name)
        return self._places[at]

    @property
    def contents(self) -> Iterator[str]:
        """Yield the hash of each row's content."""
        return (f"{content:016x}" for content in self._contents)

    def _name(self, at: int) -> str:
        content = self._contents[at]
        if self._are_different:
            return f"{content:016x}"
        first = bisect_left(self._ordered, content)
        last = bisect_right(self._ordered, content, first)
        nth = bisect_left(self._places, at, first, last) - first + 1
        return f"{content:016x}" if nth == 1 else f"{content:016x}{_MARK}{nth}"


def hash_contents(*several: Iterable[str]) -> str:
    """Return `core.ids.digest` of several lists of contents, without keeping them in memory."""
    found = hashlib.blake2b(digest_size=16)
    for nth, contents in enumerate(several):
        found.update(b",[" if nth else b"[[")
        for at, content in enumerate(contents):
            found.update(f',"{content}"'.encode() if at else f'"{content}"'.encode())
        found.update(b"]")
    found.update(b"]")
    return found.hexdigest()


def _sort_contents(numbers: array[int]) -> tuple[Sequence[int], Sequence[int]]:
    if len(numbers) <= _NUMPY_THRESHOLD:
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        return array("Q", map(numbers.__getitem__, order)), array("q", order)
    import numpy as np

    found = np.frombuffer(numbers, dtype=np.uint64)
    places = np.argsort(found, kind="stable")
    # Reading an item is several times faster from a memoryview than from a numpy array.
    return cast(Sequence[int], found[places].data), cast(Sequence[int], places.data)
