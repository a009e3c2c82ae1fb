"""Lines of a file that another process may still be writing, each with the place where it begins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


class Tail:
    """Reads what was appended since it last looked; half a line at the end waits for its other half."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = 0

    @property
    def identity(self) -> tuple[int, int]:
        """Return which file it is now; a file that was put in its place is another one."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return (0, 0)
        return (found.st_dev, found.st_ino)

    @property
    def is_cut(self) -> bool:
        """Whether the file has become shorter than what was read of it."""
        try:
            return os.stat(self.path).st_size < self.place
        except FileNotFoundError:
            return self.place > 0

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each further whole line with its place."""
        try:
            file = open(self.path, "rb")  # noqa: SIM115 (closed below; a missing file has no lines)
        except FileNotFoundError:
            return
        with file:
            file.seek(self.place)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                place = self.place
                self.place += len(line)
                yield place, line


def line_at(file: int, place: int) -> bytes:
    """Return the line of an open file that begins at a place, without its end."""
    size = 1 << 13
    line = os.pread(file, size, place)
    while b"\n" not in line:
        more = os.pread(file, size, place + len(line))
        if not more:
            return line
        line += more
        size *= 4
    return line[: line.index(b"\n")]
