"""Reading lines, with their byte offsets, of a file that another process may still be writing."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

_BUFFER_BYTES = 1 << 18
"""Lines have kilobytes: the default buffer would need a call of the system for each."""
_SKIPPED_AT_ONCE = 1 << 20


class Tail:
    """Reads the lines appended since the last call; an incomplete last line waits until it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = 0

    @property
    def identity(self) -> tuple[int, int]:
        """Return the device and inode, which change when the file is replaced."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return (0, 0)
        return (found.st_dev, found.st_ino)

    @property
    def is_cut(self) -> bool:
        """Whether the file is shorter than what was already read."""
        try:
            return os.stat(self.path).st_size < self.place
        except FileNotFoundError:
            return self.place > 0

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each further complete line with its offset."""
        try:
            file = open(self.path, "rb", _BUFFER_BYTES)  # noqa: SIM115 (closed below)
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
        """Skip all further complete lines; return their number."""
        try:
            file = open(self.path, "rb")  # noqa: SIM115 (closed below)
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
    """An open file whose lines are read by offset; a missing file counts as empty."""

    def __init__(self, path: Path) -> None:
        """Open the file."""

    def at(self, place: int) -> bytes:
        """Return the line at an offset, without its newline."""

    def close(self) -> None:
        """Close the file."""


class PreadLineReader:
    """Lines of a file that may be truncated while it is read."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path if path.exists() else os.devnull, os.O_RDONLY)

    def at(self, place: int) -> bytes:
        """Return the line at an offset, without its newline."""
        return read_line_at(self._file, place)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class MappedLineReader:
    """Lines of a finished file: three times as fast, but the file must not be truncated meanwhile."""

    def __init__(self, path: Path) -> None:
        self._bytes: mmap.mmap | bytes = b""
        if path.exists() and path.stat().st_size:
            with open(path, "rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def at(self, place: int) -> bytes:
        """Return the line at an offset, without its newline."""
        end = self._bytes.find(b"\n", place)
        return self._bytes[place : end if end >= 0 else len(self._bytes)]

    def close(self) -> None:
        """Close the file."""
        if isinstance(self._bytes, mmap.mmap):
            self._bytes.close()


def read_line_at(file: int, place: int) -> bytes:
    """Return the line of an open file at an offset, without its newline."""
    size = 1 << 12
    line = os.pread(file, size, place)
    while b"\n" not in line:
        more = os.pread(file, size, place + len(line))
        if not more:
            return line
        line += more
        size *= 4
    return line[: line.index(b"\n")]
