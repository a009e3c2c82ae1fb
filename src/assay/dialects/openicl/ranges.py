"""Which rows of a split are read: `test_range` and `train_range` of a config."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from assay.dialects.openicl.config.entry import RowRange

_SLICES = re.compile(r"(?:\[\s*-?\d*\s*(?::\s*-?\d*\s*){1,2}\])+")
_SLICE = re.compile(r"\[([^\]]*)\]")


def select_range_rows(wanted: RowRange, total: int) -> Sequence[int]:
    """Return the numbers of the rows that are read, from 0 on; ValueError where the range says none.

    A number is so many rows drawn at random, a fraction that share of them; the draw depends on the number
    alone and is the original's. A text is a slice, or several that are taken one after the other.
    """
    if wanted is None:
        return range(total)
    if isinstance(wanted, str):
        return _slice_rows(wanted.strip(), total)
    if wanted <= 0 or wanted >= total:
        return range(total)
    size = max(1, int(wanted * total)) if wanted < 1 else int(wanted)
    rows = list(range(total))
    random.Random(size).shuffle(rows)
    return rows[:size]


def _slice_rows(text: str, total: int) -> Sequence[int]:
    rows: Sequence[int] = range(total)
    if not text:
        return rows
    if not _SLICES.fullmatch(text):
        raise ValueError("expected a number, or a slice such as '[0:100]'")
    for part in _SLICE.findall(text):
        rows = rows[slice(*(int(bound) if bound.strip() else None for bound in part.split(":")))]
    return rows
