"""Which numbers of a long list come again. Eight bytes for each number, whatever it stands for.

A dataset may be larger than memory: its ids and its rows are compared by hashes, and only those that come
again are kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import pairwise

_NUMPY_THRESHOLD = 20_000
"""Numbers that are put in order before numpy would be imported."""


class DuplicateNumbers:
    """The numbers of a list that come more than once."""

    def __init__(self, numbers: array[int] | None = None) -> None:
        """Look through whole numbers from 0 to 2^64 - 1."""
        self._known = array("Q")
        """Each of them once, in order."""
        self.n_more = 0
        """How often a number came that had come before."""
        self.first: tuple[int, int] | None = None
        """Where the first of them comes for the first and the second time."""
        if numbers:
            self._find_duplicates(numbers)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, number: int) -> bool:
        return self.place(number) is not None

    def place(self, number: int) -> int | None:
        """Return where a number stands among those that come again; None: it comes once."""
        at = bisect_left(self._known, number)
        return at if at < len(self._known) and self._known[at] == number else None

    def _find_duplicates(self, numbers: array[int]) -> None:
        for number, following in pairwise(sort_numbers(numbers)):
            if number == following:
                self.n_more += 1
                if not self._known or self._known[-1] != number:
                    self._known.append(number)
        if self._known:
            at = next(at for at, number in enumerate(numbers) if number in self)
            self.first = at, numbers.index(numbers[at], at + 1)


def sort_numbers(numbers: array[int]) -> array[int]:
    """Return numbers from the least to the greatest."""
    if len(numbers) <= _NUMPY_THRESHOLD:
        return array("Q", sorted(numbers))
    import numpy as np

    ordered = array("Q", numbers)
    np.frombuffer(ordered, dtype=np.uint64).sort()
    return ordered
