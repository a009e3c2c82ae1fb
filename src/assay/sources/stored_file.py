"""A file on disk, read as bytes: opened as rarely as possible, hashed as it is read."""

from __future__ import annotations

import hashlib
import io
import os
from functools import partial
from typing import Any, BinaryIO, NamedTuple

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.sources.faults import build_unreadable_error

HASH_BYTES = 16
KEPT_BYTES = 1 << 19
"""Bytes at the beginning of a file that stay in memory."""

_new_hash = partial(hashlib.blake2b, digest_size=HASH_BYTES)


class _Beginning(NamedTuple):
    data: bytes
    is_whole: bool
    version: tuple[int, ...]


class StoredFile:
    """A file whose beginning stays in memory.

    A file of up to 512 KiB is opened once, so a run uses exactly the bytes that were checked. Of a larger
    file, the first rows are read from memory, and every pass over all rows opens it. A file that changes
    between or during these passes is an error.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._beginning: _Beginning | None = None
        self._hash: str | None = None

    def open(self) -> io.BufferedReader:
        """Return the bytes of the file as a seekable stream, at its beginning."""
        return io.BufferedReader(_FileStream(self, self._read_beginning()))

    def content_hash(self) -> str:
        """Return a hex hash of the bytes. Reads the file only if no pass has read it to its end."""
        if self._hash is None:
            try:
                with self.open() as stream:
                    while stream.read(KEPT_BYTES):
                        pass
            except OSError as error:
                raise build_unreadable_error(self.path, error) from None
        assert self._hash is not None
        return self._hash

    def _read_beginning(self) -> _Beginning:
        if self._beginning is None:
            with open(self.path, "rb") as file:
                version = _read_version(file)
                self._beginning = _Beginning(file.read(KEPT_BYTES), not file.read(1), version)
        return self._beginning

    def _open_rest(self, at: int) -> BinaryIO:
        file = open(self.path, "rb", buffering=0)  # noqa: SIM115
        try:
            self._require_unchanged(file)
            file.seek(at)
        except BaseException:
            file.close()
            raise
        return file

    def _require_unchanged(self, file: BinaryIO) -> None:
        if _read_version(file) != self._read_beginning().version:
            what = "the file was changed while Assay read it"
            fix = "wait until nothing writes to the file, then run the command again"
            raise AuthorError(Problem("SOURCE-020", what, fix, Origin(self.path)))


class _FileStream(io.RawIOBase):
    """The bytes of a stored file: its beginning from memory, the rest from disk."""

    def __init__(self, stored: StoredFile, beginning: _Beginning) -> None:
        self._stored = stored
        self._beginning = beginning
        self._at = 0
        self._rest: BinaryIO | None = None
        self._hash = _new_hash() if stored._hash is None else None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._hash = None  # Only a pass in order can compute the hash.
        if whence == os.SEEK_END:
            offset += len(self._beginning.data) if self._beginning.is_whole else self._open_rest().seek(0, 2)
        elif whence == os.SEEK_CUR:
            offset += self._at
        if offset < 0:
            raise ValueError(f"cannot seek to offset {offset}")
        self._at = offset
        return offset

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._beginning.data
        if self._at < len(data):
            block = data[self._at : self._at + len(buffer)]
            n = len(block)
            buffer[:n] = block
        elif self._beginning.is_whole:
            n = 0
        else:
            rest = self._open_rest()
            rest.seek(self._at)
            n = rest.readinto(buffer)  # type: ignore[attr-defined]
            if not n:
                self._stored._require_unchanged(rest)
        self._at += n
        if self._hash is not None:
            self._hash.update(buffer[:n])
            if not n and len(buffer):
                self._stored._hash = self._hash.hexdigest()
        return n

    def readall(self) -> bytes:
        blocks = []
        while block := self.read(KEPT_BYTES):
            blocks.append(block)
        return b"".join(blocks)

    def close(self) -> None:
        if self._rest is not None:
            self._rest.close()
        super().close()

    def _open_rest(self) -> BinaryIO:
        if self._rest is None:
            self._rest = self._stored._open_rest(self._at)
        return self._rest


def _read_version(file: BinaryIO) -> tuple[int, ...]:
    """Return numbers that change whenever the file is replaced or written to."""
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
