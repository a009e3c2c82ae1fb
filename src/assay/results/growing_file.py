"""Lines of a file that another process may still be writing, each with the place where it begins."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

_SKIPPED_AT_ONCE = 1 << 20


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

    def skip(self) -> int:
        """Pass over all further whole lines; return how many there were."""
        try:
            file = open(self.path, "rb")  # noqa: SIM115 (closed below; a missing file has no lines)
        except FileNotFoundError:
            return 0
        n, begin = 0, self.place
        with file:
            file.seek(begin)
            while block := file.read(_SKIPPED_AT_ONCE):
                n += block.count(b"\n")
                if (end := block.rfind(b"\n")) >= 0:
                    self.place = begin + end + 1
                begin += len(block)
        return n


class LineReader(Protocol):
    """An open file of which lines are read by their places; one that is not there is empty."""

    def __init__(self, path: Path) -> None:
        """Open it."""

    def at(self, place: int) -> bytes:
        """Return the line that begins at a place, without its end."""

    def close(self) -> None:
        """Let go of it."""


class PreadLineReader:
    """Lines of a file that may be cut while it is read."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path if path.exists() else os.devnull, os.O_RDONLY)

    def at(self, place: int) -> bytes:
        """Return the line that begins at a place, without its end."""
        return read_line_at(self._file, place)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._file)


class MappedLineReader:
    """Lines of a file that nobody writes any more: three times as quick, but it must not be cut meanwhile."""

    def __init__(self, path: Path) -> None:
        self._bytes: mmap.mmap | bytes = b""
        if path.exists() and path.stat().st_size:
            with open(path, "rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def at(self, place: int) -> bytes:
        """Return the line that begins at a place, without its end."""
        end = self._bytes.find(b"\n", place)
        return self._bytes[place : end if end >= 0 else len(self._bytes)]

    def close(self) -> None:
        """Let go of it."""
        if isinstance(self._bytes, mmap.mmap):
            self._bytes.close()


def read_line_at(file: int, place: int) -> bytes:
    """Return the line of an open file that begins at a place, without its end."""
    size = 1 << 12
    line = os.pread(file, size, place)
    while b"\n" not in line:
        more = os.pread(file, size, place + len(line))
        if not more:
            return line
        line += more
        size *= 4
    return line[: line.index(b"\n")]
