"""Decoding JSON of documented types, with errors that name the place and the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from assay.core.errors import StoreError, explain_type_error
from assay.core.origin import Origin
from assay.results.damaged_files import DECODE_ERRORS
from assay.results.exchange.log_files import build_log_error, decode_json

T = TypeVar("T")


class TypedReader(Generic[T]):
    """Decodes JSON of one type. Fields that the type does not name are skipped."""

    def __init__(self, kind: type[T], program: str) -> None:
        self._kind = kind
        self._program = program
        self._decoder = msgspec.json.Decoder(kind)

    def read(self, content: bytes, place: Origin | Path) -> T:
        """Return the value of a JSON text. Also reads `NaN` and `Infinity`, which some programs write."""
        try:
            return self._decoder.decode(content)
        except msgspec.ValidationError as error:
            raise self._build_error(error, place) from error
        except DECODE_ERRORS:
            return self.convert(decode_json(content, place), place)

    def convert(self, value: Any, place: Origin | Path) -> T:
        """Return a decoded value as the type."""
        try:
            return msgspec.convert(value, self._kind)
        except msgspec.ValidationError as error:
            raise self._build_error(error, place) from error

    def _build_error(self, error: msgspec.ValidationError, place: Origin | Path) -> StoreError:
        return build_log_error(
            "LOG-003",
            f"the log does not have the form that {self._program} documents: {explain_type_error(error)}",
            f"write the log again with {self._program}, or correct this value",
            place,
        )
