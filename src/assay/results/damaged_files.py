"""What cannot be read in a run folder, told in one way. Must not know what the files mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from assay.core.errors import Problem, StoreError
from assay.core.origin import Origin

T = TypeVar("T")

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises: the second for bytes that are no UTF-8, the third for brackets nested too deeply."""


def build_damage_error(path: Path, error: Exception, place: int | None = None) -> StoreError:
    """Return the error of a file that cannot be read; `place` is the byte at which a line of it begins."""
    where = "" if place is None else f"the line at byte {place:,} of "
    return StoreError(
        Problem(
            "STORE-008",
            f"{where}{path.name} cannot be read: {error}",
            "the same `assay run` writes it again from the answers that are kept; or remove the folder",
            Origin(str(path)),
        )
    )


def make_skipping_reader(kind: type[T]) -> Callable[[bytes], T | None]:
    """Return what decodes lines of a journal, and returns None for those that it cannot read.

    A journal is appended to and never written again, so one damaged line must not hide the others.
    """
    decode = msgspec.json.Decoder(kind).decode

    def read(line: bytes) -> T | None:
        try:
            line.decode()  # Fields that `kind` does not name are not looked at.
            return decode(line)
        except DECODE_ERRORS:
            return None

    return read


def make_line_reader(path: Path, kind: type[T]) -> Callable[[int, bytes], T]:
    """Return what decodes lines of a file, given the place of each, and tells which it cannot read."""
    decode = msgspec.json.Decoder(kind).decode

    def read(place: int, line: bytes) -> T:
        try:
            return decode(line)
        except DECODE_ERRORS as error:
            raise build_damage_error(path, error, place) from error

    return read
