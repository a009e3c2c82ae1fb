"""Errors of damaged files in a run folder. Must not know what the files mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from assay.core.errors import Problem, StoreError
from assay.core.origin import Origin

T = TypeVar("T")

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises: the second for invalid UTF-8, the third for brackets nested too deeply."""


def build_damage_error(path: Path, error: Exception, place: int | None = None) -> StoreError:
    """Return the error of a file that cannot be read; `place` is the byte offset of the damaged line."""
    where = "" if place is None else f"the line at byte {place:,} of "
    return StoreError(
        Problem(
            "STORE-008",
            f"{where}{path.name} cannot be read: {error}",
            "repeat the `assay run` command to write it again from the stored answers, or remove the folder",
            Origin(str(path)),
        )
    )


def make_skipping_reader(kind: type[T]) -> Callable[[bytes], T | None]:
    """Return a function that decodes lines of a journal, and returns None for unreadable lines.

    A journal is only ever appended to, so one damaged line must not hide the others.
    """
    decode = msgspec.json.Decoder(kind).decode

    def read(line: bytes) -> T | None:
        try:
            line.decode()  # msgspec does not validate fields that `kind` does not name.
            return decode(line)
        except DECODE_ERRORS:
            return None

    return read


def make_line_reader(path: Path, kind: type[T]) -> Callable[[int, bytes], T]:
    """Return a function that decodes a line, given its offset; it raises STORE-008 for an unreadable line."""
    decode = msgspec.json.Decoder(kind).decode

    def read(place: int, line: bytes) -> T:
        try:
            return decode(line)
        except DECODE_ERRORS as error:
            raise build_damage_error(path, error, place) from error

    return read
