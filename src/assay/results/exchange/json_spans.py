"""The places of values in a JSON file of any size, found without decoding them."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

Buffer: TypeAlias = bytes | mmap.mmap

_SPACE = b" \t\r\n"
_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_SCALAR_END = re.compile(rb"[,\]}\s]")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MAX_DEPTH = 1_000


class Place(NamedTuple):
    """Where a value is: the positions of its first byte and of the byte after its last one."""

    start: int
    end: int


class SpanError(ValueError):
    """The text is not JSON."""


@contextmanager
def mapping_file(path: Path) -> Iterator[Buffer]:
    """Yield the content of a file without reading all of it into memory."""
    with open(path, "rb") as file:
        if path.stat().st_size == 0:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content


def find_members(buffer: Buffer) -> dict[str, Place]:
    """Return the places of the values of a JSON object, by name; the last one of each name."""
    at = _skip_space(buffer, 0)
    _expect(buffer, at, b"{")
    found: dict[str, Place] = {}
    at = _skip_space(buffer, at + 1)
    if buffer[at : at + 1] == b"}":
        return found
    while True:
        key = _STRING.match(buffer, at)
        if key is None:
            raise SpanError(f"a name in quotation marks is missing at byte {at:,}")
        at = _skip_space(buffer, key.end())
        _expect(buffer, at, b":")
        start = _skip_space(buffer, at + 1)
        end = _find_end(buffer, start)
        found[key[0][1:-1].decode("utf-8", "replace")] = Place(start, end)
        at = _skip_space(buffer, end)
        if buffer[at : at + 1] == b"}":
            return found
        _expect(buffer, at, b",")
        at = _skip_space(buffer, at + 1)


def iter_items(buffer: Buffer, place: Place) -> Iterator[Place]:
    """Yield the places of the items of a JSON array."""
    _expect(buffer, place.start, b"[")
    at = _skip_space(buffer, place.start + 1)
    if buffer[at : at + 1] == b"]":
        return
    while True:
        end = _find_end(buffer, at)
        yield Place(at, end)
        at = _skip_space(buffer, end)
        if buffer[at : at + 1] == b"]":
            return
        _expect(buffer, at, b",")
        at = _skip_space(buffer, at + 1)


def _find_end(buffer: Buffer, start: int) -> int:
    """Return the position after the value that begins at `start`."""
    first = buffer[start : start + 1]
    if first == b'"':
        text = _STRING.match(buffer, start)
        if text is None:
            raise SpanError(f"the text that begins at byte {start:,} does not end")
        return text.end()
    if first not in (b"{", b"["):
        end = _SCALAR_END.search(buffer, start)
        if not first or end is None or end.start() == start:
            raise SpanError(f"a value is missing at byte {start:,}")
        return end.start()
    depth = 0
    for mark in _MARK.finditer(buffer, start):
        kind = mark[0][:1]
        if kind in (b"{", b"["):
            depth += 1
            if depth > _MAX_DEPTH:
                raise SpanError(f"its brackets are nested too deeply at byte {mark.start():,}")
        elif kind in (b"}", b"]"):
            depth -= 1
            if not depth:
                return mark.end()
    raise SpanError(f"the value that begins at byte {start:,} does not end")


def _skip_space(buffer: Buffer, at: int) -> int:
    while (one := buffer[at : at + 1]) and one in _SPACE:
        at += 1
    return at


def _expect(buffer: Buffer, at: int, wanted: bytes) -> None:
    if buffer[at : at + 1] != wanted:
        found = buffer[at : at + 1].decode("utf-8", "replace")
        what = f"{found!r} is at" if found else "it ends at"
        raise SpanError(f"{what} byte {at:,}, where {wanted.decode()!r} must be")
