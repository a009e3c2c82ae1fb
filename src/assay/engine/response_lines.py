"""The responses in a journal file, one JSON line each.

A line that cannot be read is skipped and counted, wherever it is: whoever needs its response asks again. Half
a line at the end is what a process that was killed leaves, and no damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from assay.core.response import Response

_decode = msgspec.json.Decoder(Response).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_response(line: bytes) -> Response | None:
    """Return the response in a line; None where the line is damaged."""
    try:
        return _decode(line)
    except _UNREADABLE:
        return None


class ResponseLines:
    """Reads a journal once, from its beginning."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.n_damaged = 0
        """Whole lines that could not be read."""
        self.end = 0
        """The place behind the last whole line."""
        self.is_torn = False
        """Whether half a line follows that."""

    def __iter__(self) -> Iterator[tuple[int, Response]]:
        """Yield each response with the place of its line."""
        for line in self._file:
            if not line.endswith(b"\n"):
                self.is_torn = True
                return
            place = self.end
            self.end += len(line)
            response = read_response(line)
            if response is None:
                self.n_damaged += 1
            else:
                yield place, response


def describe_damage(name: str, n_damaged: int, consequence: str) -> tuple[str, ...]:
    """Return a note about the damaged lines of a journal; nothing where it has none."""
    if not n_damaged:
        return ()
    lines = "1 damaged line, which was" if n_damaged == 1 else f"{n_damaged:,} damaged lines, which were"
    return (f"{name} has {lines} skipped: {consequence}",)
