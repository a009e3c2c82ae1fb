"""Reading the files of a log with bounds on memory, and errors that name the place of the damage."""

from __future__ import annotations

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from assay.core.errors import Problem, StoreError, listing
from assay.core.origin import Origin
from assay.results.damaged_files import DECODE_ERRORS

MAX_DOCUMENT_BYTES = 1 << 30
"""The longest file that is read as a whole; longer logs must have one line or one member per sample."""
MAX_LINE_BYTES = 1 << 28
MAX_MEMBERS = 2_000_000
MAX_RATIO = 1_000
"""How many bytes of a member one byte of an archive may hold; a bomb has more."""
_CHUNK = 1 << 20
ZSTANDARD = 93
"""The number of this compression in a zip archive."""
_LOCAL_HEADER = struct.Struct("<26xHH")


def build_log_error(code: str, what: str, fix: str, place: Origin | Path) -> StoreError:
    """Return the error of a log that cannot be imported."""
    where = place if isinstance(place, Origin) else Origin(str(place))
    return StoreError(Problem(code, what, fix, where))


def build_damaged_log_error(error: Exception, place: Origin | Path) -> StoreError:
    """Return the error of a file of a log that cannot be decoded."""
    if isinstance(error, UnicodeDecodeError):
        why = f"it is not UTF-8: {error.reason} at byte {error.start:,}"
    elif isinstance(error, RecursionError):
        why = "its brackets are nested too deeply"
    else:
        why = str(error)
    return build_log_error(
        "LOG-003",
        f"the log cannot be read: {why}",
        "copy the file again, or write the log again: the program may have been stopped while it wrote",
        place,
    )


def build_too_long_error(what: str, n_bytes: int, most: int, place: Origin | Path) -> StoreError:
    """Return the error of a file, line or member that would not fit into memory."""
    return build_log_error(
        "LOG-006",
        f"{what} has {n_bytes:,} bytes, more than the {most:,} that Assay reads as a whole",
        "split the log, or export it with one sample per line",
        place,
    )


def read_json_document(path: Path) -> Any:
    """Return the content of a JSON file. Also reads `NaN` and `Infinity`, which other programs write."""
    size = path.stat().st_size
    if size > MAX_DOCUMENT_BYTES:
        raise build_too_long_error("the file", size, MAX_DOCUMENT_BYTES, path)
    return decode_json(path.read_bytes(), path)


def decode_json(content: bytes, place: Origin | Path) -> Any:
    """Return the value of a JSON text; raise LOG-003 if it is damaged."""
    try:
        return msgspec.json.decode(content)
    except DECODE_ERRORS as error:
        if not isinstance(error, RecursionError):
            import json  # Only this one reads NaN.

            try:
                return json.loads(content)
            except (ValueError, RecursionError):
                pass
        raise build_damaged_log_error(error, place) from error


def iter_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the value of each line of a JSON lines file with its number, counted from 1."""
    with open(path, "rb") as file:
        for number, line in enumerate(iter_bounded_lines(file, path), 1):
            if line.strip():
                yield number, decode_json(line, Origin(str(path), line=number))


def iter_bounded_lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
    """Yield the lines of a file; raise LOG-006 for one that would not fit into memory."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise build_too_long_error("the line", len(line), MAX_LINE_BYTES, Origin(str(path), line=number))
        yield line


def decompress_zstandard(packed: bytes, most: int, path: Path) -> bytes:
    """Return up to `most` bytes of a text that is compressed with Zstandard, in one or several frames."""
    try:
        import pyarrow
    except ImportError as error:
        raise build_log_error(
            "LOG-007",
            "the log is compressed with Zstandard, which needs the package pyarrow",
            "install it: pip install 'assay-eval[datasets]'",
            path,
        ) from error
    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as stream:
            return bytes(stream.read(most))
    except OSError as error:
        raise zipfile.BadZipFile(str(error)) from error


class LogArchive:
    """A zip file of JSON members. Reads no more of a member than its declared and allowed size."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        self._members = {one.filename: one for one in archive.infolist()}

    @property
    def names(self) -> Sequence[str]:
        """Return the names of the members, in the archive's order."""
        return list(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """Return the content of a member."""
        place = self._place(name)
        member = self._members[name]
        if member.file_size > MAX_DOCUMENT_BYTES:
            raise build_too_long_error(f"the member {name!r}", member.file_size, MAX_DOCUMENT_BYTES, place)
        if member.file_size > _CHUNK and member.file_size > MAX_RATIO * max(member.compress_size, 1):
            raise build_log_error(
                "LOG-006",
                f"the member {name!r} expands to {member.file_size:,} bytes from {member.compress_size:,}, "
                "like an archive that is made to fill a disk",
                "import only logs from programs that you trust",
                place,
            )
        try:
            if member.compress_type == ZSTANDARD:
                content = self._read_zstandard(member)
            else:
                with self._archive.open(member) as opened:
                    content = opened.read(member.file_size + 1)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
            raise build_damaged_log_error(error, place) from error
        except Exception as error:
            # Decompressors raise errors of their own, such as zlib.error.
            if type(error).__module__ in ("zlib", "lzma", "_lzma", "bz2", "zstandard", "_zstd"):
                raise build_damaged_log_error(error, place) from error
            raise
        if len(content) != member.file_size:
            why = ValueError(f"{len(content):,} bytes, but the archive declares {member.file_size:,}")
            raise build_damaged_log_error(why, place)
        return content

    def _read_zstandard(self, member: zipfile.ZipInfo) -> bytes:
        """Return the content of a member that the standard library cannot decompress before Python 3.14."""
        content = decompress_zstandard(self._read_packed(member), member.file_size + 1, self.path)
        if zlib.crc32(content) != member.CRC:
            raise zipfile.BadZipFile(f"bad CRC-32 for the member {member.filename!r}")
        return content

    def _read_packed(self, member: zipfile.ZipInfo) -> bytes:
        """Return the compressed bytes of a member."""
        with open(self.path, "rb") as file:
            file.seek(member.header_offset)
            header = file.read(_LOCAL_HEADER.size)
            if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
                raise zipfile.BadZipFile(f"no member begins at byte {member.header_offset:,}")
            file.seek(sum(_LOCAL_HEADER.unpack(header)[-2:]), 1)
            return file.read(member.compress_size)

    def read_json(self, name: str) -> Any:
        """Return the value of a JSON member."""
        return decode_json(self.read(name), self._place(name))

    def _place(self, name: str) -> Origin:
        return Origin(f"{self.path}!{name}")


@contextmanager
def opening_archive(path: Path) -> Iterator[LogArchive]:
    """Yield the members of a zip file."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise build_damaged_log_error(error, path) from error
    with archive:
        if len(archive.infolist()) > MAX_MEMBERS:
            raise build_too_long_error(
                "the archive's list of members", len(archive.infolist()), MAX_MEMBERS, path
            )
        yield LogArchive(path, archive)


def hash_files(files: Sequence[Path]) -> str:
    """Return a hash of the content of files, wherever they are."""
    hashed = hashlib.blake2b(digest_size=16)
    for path in sorted(files, key=lambda one: one.name):
        hashed.update(path.name.encode() + b"\0")
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                hashed.update(chunk)
    return hashed.hexdigest()


def require_one_run(names: Sequence[str], folder: Path, example: str) -> None:
    """Raise LOG-004 if a folder has the logs of several runs."""
    if len(names) > 1:
        raise build_log_error(
            "LOG-004",
            f"the folder has the logs of {len(names)} runs: {listing(names, at_most=6)}",
            f"import one of them: assay import {example}",
            folder,
        )
