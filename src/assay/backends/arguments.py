"""Model arguments: `key=value` strings from the command line, converted to a backend's typed struct."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from assay.backends.problems import argument_error
from assay.core.errors import explain_type_error, format_allowed_values, listing, suggest_name
from assay.core.thinking import Thinking, read_thinking

T = TypeVar("T", bound=msgspec.Struct)


def read_arguments(backend: str, declared: type[T], given: Mapping[str, str]) -> T:
    """Convert `key=value` strings to the declared struct, or raise MODEL-002 naming the key."""
    fields = {field.name: field for field in msgspec.structs.fields(declared)}
    for key in given:
        if key not in fields:
            known = listing(sorted(fields)) or "no arguments"
            raise argument_error(
                f"{backend} has no argument {key!r}{suggest_name(key, fields)}", f"use one of: {known}"
            )
    for key, value in given.items():
        # One field at a time, so that the message names the argument and not a path inside a struct.
        try:
            msgspec.convert(value, fields[key].type, strict=False)
        except msgspec.ValidationError as trouble:
            why = f"{explain_type_error(trouble)}{format_allowed_values(fields[key].type)}"
            what = f"{backend} argument {key}={value!r}: {why}"
            raise argument_error(what, f"give {key} a value of that type") from None
    return msgspec.convert(dict(given), declared, strict=False)


def read_thinking_argument(given: str | None, backend: str) -> Thinking | None:
    """Return the meaning of the argument `thinking`, or raise MODEL-002; None if it is not given."""
    try:
        return None if given is None else read_thinking(given)
    except ValueError as trouble:
        raise argument_error(f"{backend} argument thinking={given!r:.60}", str(trouble)) from None
