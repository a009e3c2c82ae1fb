"""What a request may say at a place where it says something else: values of a choice, fields of an object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect as types

from assay.core.errors import listing, suggest_name

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`")
_WRONG = re.compile(r"Invalid enum value '?(?P<value>[^']*)'?")


def describe_expected(annotation: Any, place: str, message: str) -> str:
    """Return what is expected at a place of an annotated value; empty where the message says it already.

    `place` is written as msgspec writes it: `settings.method[0]`.
    """
    try:
        found = list(_find_types(types.type_info(annotation), _STEP.findall(place)))
    except (TypeError, msgspec.ValidationError):
        return ""
    if unknown := _UNKNOWN.search(message):
        names = [field.encode_name for one in found for field in getattr(one, "fields", ())]
        return (
            f"{suggest_name(unknown['name'], names)}; the fields are {listing(names, at_most=60)}"
            if names
            else ""
        )
    if wrong := _WRONG.search(message):
        values = [value for one in found for value in _choices(one)]
        return (
            f"{suggest_name(wrong['value'], values)}; expected {listing(values, at_most=30)}"
            if values
            else ""
        )
    return ""


def _find_types(info: types.Type, steps: list[tuple[str, str]]) -> Iterator[types.Type]:
    """Yield the types that a value may have at a place within another."""
    if isinstance(info, types.Metadata):
        yield from _find_types(info.type, steps)
    elif isinstance(info, types.UnionType):
        for one in info.types:
            yield from _find_types(one, steps)
    elif not steps:
        yield info
    else:
        (name, _), rest = steps[0], steps[1:]
        if name and isinstance(info, types.StructType):
            for field in info.fields:
                if field.encode_name == name:
                    yield from _find_types(field.type, rest)
        elif isinstance(info, types.ListType | types.VarTupleType | types.SetType):
            yield from _find_types(info.item_type, rest if not name else steps)
        elif isinstance(info, types.DictType):
            yield from _find_types(info.value_type, rest)


def _choices(info: types.Type) -> list[str]:
    if isinstance(info, types.LiteralType):
        return [str(value) for value in info.values]
    if isinstance(info, types.EnumType):
        return [str(one.value) for one in info.cls]
    if isinstance(info, types.ListType | types.VarTupleType | types.SetType):
        return _choices(info.item_type)
    if isinstance(info, types.Metadata):
        return _choices(info.type)
    return []
