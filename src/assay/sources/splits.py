"""Split expressions: `train`, `train[5:]`, `validation[:10%]`, `train[-3:]`, `validation+test`.

Uses names and row numbers only. Percentages round to the nearest row, and a half to the even one, as in the
`datasets` library.
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
    "write NAME, NAME[start:stop] with rows or percentages such as train[5:] or test[:10%], "
    "or several of these joined with +"
)


class SplitPart(NamedTuple):
    """One part of a split expression: a name and a range of its rows."""

    name: str
    """The split as named in the data."""
    start: str | None = None
    """First row, or percentage with its `%`; negative values count from the end. None: from the beginning."""
    stop: str | None = None
    """The row, or percentage, at which the range ends (exclusive). None: at the end."""

    def rows(self, n_rows: int) -> slice:
        """Return the range of rows out of `n_rows`; raise if it is empty."""
        selected = slice(_row(self.start, n_rows, 0), _row(self.stop, n_rows, n_rows))
        if selected.start >= selected.stop:
            fix = "use a range of existing rows"
            raise AuthorError(
                Problem("DATA-002", f"the split {str(self)!r} selects none of the {n_rows:,} rows", fix)
            )
        return selected

    def __str__(self) -> str:
        is_whole = self.start is None and self.stop is None
        return self.name if is_whole else f"{self.name}[{self.start or ''}:{self.stop or ''}]"


def parse_split(text: str) -> tuple[SplitPart, ...]:
    """Return the parts of a split expression in order."""
    parts = []
    for part_text in text.split("+"):
        match = _PART.fullmatch(part_text.strip())
        if match is None:
            what = f"{text!r} is not a valid split: cannot parse {part_text.strip()!r}"
            raise AuthorError(Problem("DATA-002", what, _FIX))
        part = SplitPart(**match.groupdict())
        over = [
            edge for edge in (part.start, part.stop) if edge and edge[-1] == "%" and abs(int(edge[:-1])) > 100
        ]
        if over:
            raise AuthorError(
                Problem("DATA-002", f"{text!r} is not a valid split: {over[0]} is more than 100%", _FIX)
            )
        parts.append(part)
    return tuple(parts)


def _row(edge: str | None, n_rows: int, default: int) -> int:
    if edge is None:
        return default
    row = round(int(edge[:-1]) * n_rows / 100) if edge[-1] == "%" else int(edge)
    return min(max(n_rows + row, 0) if row < 0 else row, n_rows)
