"""A file's bytes, unpacked. Turns what a disk or a packer can do wrong into errors a person can mend."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from typing import Any, cast

from assay.sources.encoding import looks_like_utf16, not_utf8
from assay.sources.faults import damaged, no_rows, too_large, unreadable

LONGEST_LINE = 64_000_000
"""Bytes. A row is kept in memory, several times over while it is split and checked."""
MOST_UNPACKED = 1_000_000_000
"""Bytes of a packed file that is read whole: a few thousand packed ones can unpack to any number."""
_BLOCK = 1 << 17


@contextmanager
def reading(path: str, *, whole: bool = False) -> Iterator[BufferedReader]:
    """Open a text file's bytes for reading: unpacked, the byte order mark left out.

    Lines are bounded; with `whole`, what the file unpacks to is. An error that bad bytes cause anywhere in
    the block is raised as an AuthorError.
    """
    try:
        try:
            with open_bytes(path, whole=whole) as stream:
                head = stream.peek(4096)
                if not head:
                    raise no_rows(path, "zero bytes")
                if looks_like_utf16(head):
                    # Without a mark, English UTF-16 is valid UTF-8 full of NULs: no decoder would complain.
                    raise UnicodeDecodeError("utf-8", head[:4], 0, 1, "UTF-16")
                if head.startswith(codecs.BOM_UTF8):
                    stream.read(len(codecs.BOM_UTF8))
                yield stream
        except UnicodeDecodeError:
            raise not_utf8(path, partial(open_bytes, path, whole=whole)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        # Outermost: a damaged gzip file yields bytes that are not UTF-8 before it is found out.
        raise damaged(path, "gzip", error) from None


def open_bytes(path: str, *, whole: bool = False) -> BufferedReader:
    """Open a file for reading, through gzip when its name ends in .gz."""
    is_packed = path.lower().endswith(".gz")
    try:
        if whole and not is_packed:
            return open(path, "rb")
        inner = gzip.open(path, "rb") if is_packed else open(path, "rb", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise unreadable(path, error) from None
    return BufferedReader(_Bounded(path, cast(io.RawIOBase, inner), whole=whole), _BLOCK)


class _Bounded(io.RawIOBase):
    """Bytes that are counted block by block, so that no reader above gathers more than it may."""

    def __init__(self, path: str, inner: io.RawIOBase, *, whole: bool) -> None:
        self._path = path
        self._inner = inner
        self._is_whole = whole
        self._n = 0
        """Bytes since the last line break, or of the whole file."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._inner.readinto(buffer) or 0
        end = -1 if self._is_whole else bytes(buffer[:n]).rfind(b"\n")
        self._n = self._n + n if end < 0 else n - end - 1
        if self._n > (MOST_UNPACKED if self._is_whole else LONGEST_LINE):
            raise too_large(
                self._path, MOST_UNPACKED if self._is_whole else LONGEST_LINE, whole=self._is_whole
            )
        return n

    def close(self) -> None:
        self._inner.close()
        super().close()
