"""Read a text file as UTF-8 bytes, unpacked and decoded. Reports I/O and decompression errors clearly."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from typing import Any, NamedTuple, cast

from assay.sources.arrow import open_zstd
from assay.sources.encoding import (
    build_encoding_error,
    build_utf8_error,
    find_byte_order_mark,
    looks_like_utf16,
)
from assay.sources.faults import (
    build_damaged_error,
    build_no_rows_error,
    build_too_large_error,
    build_unreadable_error,
)
from assay.sources.stored_file import StoredFile

LONGEST_LINE = 64_000_000
"""Bytes. A row is kept in memory, several times while it is split and checked."""
MOST_UNPACKED = 1_000_000_000
"""Bytes of a packed file that is loaded completely: a few thousand packed bytes can unpack to any size."""
_BLOCK = 1 << 17
PACKERS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
"""Suffixes of packed files, and the names of their formats."""


ZIP_FAULTS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(KeyError, ValueError, NotImplementedError, RuntimeError, struct.error),
)
"""Exceptions that reading a damaged zip archive can raise."""


class StoredText(NamedTuple):
    """Where a text is stored and its encoding."""

    file: StoredFile
    member: str | None = None
    """The file inside a zip archive."""
    encoding: str | None = None
    """None: UTF-8, or the encoding of the byte order mark."""

    @property
    def path(self) -> str:
        """The path of the file, as the user named it."""
        return self.file.path

    @property
    def packer(self) -> str | None:
        """The compression format; None if the file is not packed."""
        if self.member is not None:
            return "zip"
        lowered = self.path.lower()
        return next((kind for suffix, kind in PACKERS.items() if lowered.endswith(suffix)), None)


@contextmanager
def reading(stored: StoredText, *, whole: bool = False) -> Iterator[BufferedReader]:
    """Open a text file's bytes for reading: unpacked, in UTF-8, without a byte order mark.

    Limits the length of lines or, with `whole`, the unpacked size. Raises an AuthorError for an error that
    bad bytes cause anywhere inside the block.
    """
    path = stored.path
    try:
        try:
            with open_bytes(stored, whole=whole) as stream:
                head = stream.peek(4096)
                if not head:
                    raise build_no_rows_error(path, "zero bytes")
                if looks_like_utf16(head):
                    # Without a mark, English UTF-16 is valid UTF-8 full of NULs: no decoder would complain.
                    raise UnicodeDecodeError("utf-8", head[:4], 0, 1, "UTF-16")
                if head.startswith(codecs.BOM_UTF8):
                    stream.read(len(codecs.BOM_UTF8))
                yield stream
        except UnicodeDecodeError:
            raise build_utf8_error(path, stored.packer, partial(open_bytes, stored, whole=whole)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        # Outermost: a damaged gzip file yields bytes that are not UTF-8 before the damage is detected.
        raise build_damaged_error(path, stored.packer or "text", error) from None
    except OSError as error:
        # bz2 and zstd raise OSError without an errno; errors of the system have one.
        if stored.packer is None or error.errno is not None:
            raise
        raise build_damaged_error(path, stored.packer, error) from None


def open_bytes(stored: StoredText, *, whole: bool = False) -> BufferedReader:
    """Open a file for reading: unpacked according to its suffix, and decoded unless it is UTF-8."""
    try:
        encoding = stored.encoding or _read_mark(stored)
        if whole and stored.packer is None and encoding is None:
            return stored.file.open()
        inner = _open_unpacked(stored)
    except OSError as error:
        if error.errno is None:
            raise
        raise build_unreadable_error(stored.path, error) from None
    if encoding is not None:
        inner = _DecodingStream(stored.path, inner, encoding)
    return BufferedReader(_BoundedStream(stored.path, inner, whole=whole), _BLOCK)


def find_marked_encoding(stored: StoredText) -> str | None:
    """Return the encoding of the byte order mark; None for UTF-8 or without a mark."""
    try:
        return None if stored.encoding is not None else _read_mark(stored)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile):
        return None  # `reading` reports what is wrong with the file.


def _read_mark(stored: StoredText) -> str | None:
    with _open_unpacked(stored) as stream:
        return find_byte_order_mark(stream.read(4) or b"")


def _open_unpacked(stored: StoredText) -> io.RawIOBase:
    stream = stored.file.open()
    opened: Any = stream
    if stored.member is not None:
        opened = zipfile.ZipFile(stream).open(stored.member)  # noqa: SIM115
    elif stored.packer == "gzip":
        opened = gzip.open(stream, "rb")  # noqa: SIM115
    elif stored.packer == "bzip2":
        opened = bz2.open(stream, "rb")  # noqa: SIM115
    elif stored.packer == "xz":
        opened = lzma.open(stream, "rb")  # noqa: SIM115
    elif stored.packer == "zstd":
        opened = open_zstd(stored.path, stream)
    # The unpackers leave `stream` to the garbage collector, which closes it.
    return cast(io.RawIOBase, opened)


class _DecodingStream(io.RawIOBase):
    """Bytes in another encoding, converted to UTF-8."""

    def __init__(self, path: str, inner: io.RawIOBase, encoding: str) -> None:
        self._path = path
        self._inner = inner
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._offset = 0
        self._ready = memoryview(b"")
        self._is_done = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._is_done:
            block = self._inner.read(_BLOCK) or b""
            self._is_done = not block
            try:
                text = self._decoder.decode(block, final=self._is_done)
            except UnicodeDecodeError as error:
                raise build_encoding_error(self._path, self._encoding, error, self._offset) from None
            self._offset += len(block)
            # Some decoders accept lone surrogates, which UTF-8 does not allow.
            self._ready = memoryview(text.encode("utf-8", errors="replace"))
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def close(self) -> None:
        self._inner.close()
        super().close()


class _BoundedStream(io.RawIOBase):
    """Bytes counted block by block, so that no reader collects more than the limit."""

    def __init__(self, path: str, inner: io.RawIOBase, *, whole: bool) -> None:
        self._path = path
        self._inner = inner
        self._is_whole = whole
        self._n = 0
        """Bytes since the last line break, or in the whole file."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._inner.readinto(buffer) or 0
        end = -1 if self._is_whole else bytes(buffer[:n]).rfind(b"\n")
        self._n = self._n + n if end < 0 else n - end - 1
        if self._n > (MOST_UNPACKED if self._is_whole else LONGEST_LINE):
            raise build_too_large_error(
                self._path, MOST_UNPACKED if self._is_whole else LONGEST_LINE, whole=self._is_whole
            )
        return n

    def close(self) -> None:
        self._inner.close()
        super().close()
