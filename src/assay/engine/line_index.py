"""An index of the lines of a file by a name in them: sixteen bytes per line, on disk for many lines.

A run of ten million requests must be resumable without keeping its answers in memory. Names are stored as
hashes. The caller reads the line anyway, and checks that it is the right one.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.int64]

_FEW = 20_000
"""Maximum lines that are sorted without importing numpy."""
_MAX_IN_MEMORY = 1_000_000
"""Maximum numbers of a column kept in memory."""


class LineIndex:
    """The lines of a file. Add all lines first, then look them up."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "rb")  # noqa: SIM115 (closed by close)
        self._hashes = _Column(path.parent)
        self._places = _Column(path.parent)
        self._in_order: tuple[Sequence[int], Sequence[int]] | None = None
        self._n_names = 0

    def add(self, name: str, place: int) -> None:
        """Add a line that begins at a position; lines with the same name in order."""
        # Python's own hash: fast, and only used within this process.
        self._hashes.append(hash(name))
        self._places.append(place)

    def __len__(self) -> int:
        """Return the number of different names."""
        self._sort_lines()
        return self._n_names

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines with this name, the latest first; rarely also a line with another name."""
        hashes, places = self._sort_lines()
        wanted = hash(name)
        at = bisect_left(hashes, wanted)
        if at == len(hashes) or hashes[at] != wanted:
            return
        for nth in reversed(range(at, bisect_right(hashes, wanted, at))):
            self._file.seek(places[nth])
            yield self._file.readline()

    def close(self) -> None:
        """Close the file and drop the index."""
        self._file.close()
        self._in_order = ((), ())
        for column in (self._hashes, self._places):
            column.close()

    def _sort_lines(self) -> tuple[Sequence[int], Sequence[int]]:
        """Return the sorted hashes and the position of each; equal hashes in the order of the file."""
        if self._in_order is None:
            n = len(self._hashes)
            self._in_order = self._sort_with_numpy() if n > _FEW else self._sort_without_numpy()
        return self._in_order

    def _sort_without_numpy(self) -> tuple[Sequence[int], Sequence[int]]:
        hashes, places = self._hashes.held, self._places.held
        self._n_names = len(set(hashes))
        order = sorted(range(len(hashes)), key=hashes.__getitem__)
        return array("q", map(hashes.__getitem__, order)), array("q", map(places.__getitem__, order))

    def _sort_with_numpy(self) -> tuple[Sequence[int], Sequence[int]]:
        import numpy as np

        order = np.argsort(self._hashes.numbers(), kind="stable")
        hashes, places = self._hashes.take_order(order), self._places.take_order(order)
        self._n_names = 1 + int(np.count_nonzero(hashes[1:] != hashes[:-1]))
        # Python reads numbers from a memory view several times faster than from a numpy array.
        return cast(Sequence[int], hashes.data), cast(Sequence[int], places.data)


class _Column:
    """A column of integers; if there are many, the first ones are in an unnamed temporary file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._n_stored = 0
        self.held = array("q")
        """Numbers that are not in the file."""

    def __len__(self) -> int:
        return self._n_stored + len(self.held)

    def append(self, number: int) -> None:
        """Add a number."""
        self.held.append(number)
        if len(self.held) >= _MAX_IN_MEMORY:
            self._store()

    def numbers(self) -> Numbers:
        """Return all numbers."""
        import numpy as np

        if self._file is None:
            return np.frombuffer(self.held, dtype=np.int64)
        if self.held:
            self._store()
        return np.memmap(self._file, dtype=np.int64, mode="r+")

    def take_order(self, order: Numbers) -> Numbers:
        """Return the numbers in another order, and release them here."""
        import numpy as np

        numbers = self.numbers()
        if self._file is None:
            reordered = numbers[order]
        else:
            with self._new_file() as file:
                reordered = np.memmap(file, dtype=np.int64, mode="w+", shape=order.shape)
            np.take(numbers, order, out=reordered, mode="clip")
        self.close()
        return reordered

    def close(self) -> None:
        """Release all numbers."""
        self.held = array("q")
        if self._file is not None:
            self._file.close()
            self._file = None

    def _store(self) -> None:
        if self._file is None:
            self._file = self._new_file()
        self.held.tofile(self._file)
        self._file.flush()
        self._n_stored += len(self.held)
        self.held = array("q")

    def _new_file(self) -> BinaryIO:
        # Next to the lines, where there is disk space. The system's temporary folder can be in memory, and is
        # only used if the folder of the lines is read-only.
        folder = self._folder if os.access(self._folder, os.W_OK) else None
        return cast(BinaryIO, tempfile.TemporaryFile(dir=folder))
