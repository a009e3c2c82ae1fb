"""Duplicates in a long list of numbers, at eight bytes per number.

A dataset may be larger than memory, so its ids and rows are compared by hashes, and only the duplicates are
kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import pairwise

_NUMPY_THRESHOLD = 20_000
"""Length up to which numbers are sorted without importing numpy."""


class DuplicateNumbers:
    """The numbers that occur more than once in a list."""

    def __init__(self, numbers: array[int] | None = None) -> None:
        """Find the duplicates among integers from 0 to 2^64 - 1."""
        self._known = array("Q")
        """Each duplicated number once, sorted."""
        self.n_more = 0
        """The number of repeated occurrences."""
        self.first: tuple[int, int] | None = None
        """The positions of the first duplicate's first and second occurrence."""
        if numbers:
            self._find_duplicates(numbers)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, number: int) -> bool:
        return self.place(number) is not None

    def place(self, number: int) -> int | None:
        """Return the position of a number among the duplicates; None if it occurs once."""
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
    """Return numbers in ascending order."""
    if len(numbers) <= _NUMPY_THRESHOLD:
        return array("Q", sorted(numbers))
    import numpy as np

    ordered = array("Q", numbers)
    np.frombuffer(ordered, dtype=np.uint64).sort()
    return ordered
