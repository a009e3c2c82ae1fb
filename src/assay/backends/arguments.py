"""Model arguments: strings from the command line become the typed struct that a backend declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from assay.backends.problems import argument_error
from assay.core.errors import format_allowed_values, listing, suggest_name

T = TypeVar("T", bound=msgspec.Struct)


def read_arguments(backend: str, declared: type[T], given: Mapping[str, str]) -> T:
    """Convert `key=value` strings to the declared struct, or raise MODEL-002 naming the key."""
    fields = {field.name: field for field in msgspec.structs.fields(declared)}
    for key in given:
        if key not in fields:
            known = listing(sorted(fields)) or "none"
            raise argument_error(
                f"{backend} has no argument {key!r}{suggest_name(key, fields)}", f"use one of: {known}"
            )
    for key, value in given.items():
        # Field by field first, so that the message can name the key rather than a path into a struct.
        try:
            msgspec.convert(value, fields[key].type, strict=False)
        except msgspec.ValidationError as trouble:
            raise argument_error(
                f"{backend} argument {key}={value!r}: {_format_validation_error(trouble)}{format_allowed_values(fields[key].type)}",
                f"give {key} a value of that kind",
            ) from None
    return msgspec.convert(dict(given), declared, strict=False)


def _format_validation_error(trouble: msgspec.ValidationError) -> str:
    """Return msgspec's message as half a sentence."""
    text = str(trouble)
    return text[:1].lower() + text[1:]
