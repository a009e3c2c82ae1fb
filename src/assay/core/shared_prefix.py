"""The common beginning of two texts or lists of tokens."""

from __future__ import annotations

from collections.abc import Sequence


def count_shared_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the length of the common prefix of two sequences, comparing slices at memory speed."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
