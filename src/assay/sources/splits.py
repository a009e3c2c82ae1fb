"""The slice syntax of splits: `train`, `train[5:]`, `validation[:10%]`, `train[-3:]`, `validation+test`.

Knows names and row numbers, not where rows come from. Percentages round to the nearest row, a half to the
even one, as the `datasets` library does.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from assay.core.errors import AuthorError, Problem

_PART = re.compile(
    r"(?P<name>\w+(?:[.-]\w+)*)"
    r"(?:\[(?P<start>-?\d+%?)?:(?P<stop>-?\d+%?)?\])?"
)
_FIX = (
    "write NAME, NAME[start:stop] with rows or percentages such as train[5:] or test[:10%], or a sum of these"
)


class SplitPart(NamedTuple):
    """One summand of a split: a name and the stretch of its rows that is taken."""

    name: str
    """The split as the data names it."""
    start: str | None = None
    """First row, or percentage with its `%`; negative ones count from the end. None: from the beginning."""
    stop: str | None = None
    """The row, or percentage, before which the stretch ends. None: at the end."""

    def rows(self, n_rows: int) -> slice:
        """Return which of `n_rows` rows are taken; raise when it is none."""
        taken = slice(_row(self.start, n_rows, 0), _row(self.stop, n_rows, n_rows))
        if taken.start >= taken.stop:
            fix = "ask for rows that are there"
            raise AuthorError(
                Problem("DATA-002", f"the split {str(self)!r} takes none of {n_rows:,} rows", fix)
            )
        return taken

    def __str__(self) -> str:
        is_whole = self.start is None and self.stop is None
        return self.name if is_whole else f"{self.name}[{self.start or ''}:{self.stop or ''}]"


def parse_split(text: str) -> tuple[SplitPart, ...]:
    """Return the summands of a split in their order."""
    parts = []
    for summand in text.split("+"):
        match = _PART.fullmatch(summand.strip())
        if match is None:
            what = f"{text!r} is not a split: {summand.strip()!r} cannot be read"
            raise AuthorError(Problem("DATA-002", what, _FIX))
        part = SplitPart(**match.groupdict())
        over = [
            edge for edge in (part.start, part.stop) if edge and edge[-1] == "%" and abs(int(edge[:-1])) > 100
        ]
        if over:
            raise AuthorError(Problem("DATA-002", f"{text!r} is not a split: {over[0]} is beyond 100%", _FIX))
        parts.append(part)
    return tuple(parts)


def _row(edge: str | None, n_rows: int, default: int) -> int:
    if edge is None:
        return default
    row = round(int(edge[:-1]) * n_rows / 100) if edge[-1] == "%" else int(edge)
    return min(max(n_rows + row, 0) if row < 0 else row, n_rows)
