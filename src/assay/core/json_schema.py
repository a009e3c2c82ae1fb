"""The part of JSON Schema that datasets use to describe a reply.

An unsupported keyword is an error when the schema is read. It is never silently ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.core.errors import listing, suggest_name

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: _is_number(value),
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
}
_ANNOTATIONS = frozenset({"$schema", "$id", "$comment", "title", "description", "default", "examples"})


def check_schema(schema: Any) -> None:
    """Raise ValueError if a schema uses keywords that Assay does not support."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        raise ValueError(f"a JSON schema must be an object, found {schema!r:.60}")
    known = (*_CHECKS, *_ANNOTATIONS)
    for keyword, value in schema.items():
        if keyword not in known:
            raise ValueError(
                f"the JSON schema uses {keyword!r}{suggest_name(keyword, known)}, which is not supported"
            )
        for inner in _inner(keyword, value):
            check_schema(inner)
    types = schema.get("type", [])
    for name in [types] if isinstance(types, str) else types:
        if name not in _TYPES:
            raise ValueError(
                f"the JSON schema has the unknown type {name!r}; known types are {listing(_TYPES)}"
            )


def conforms(value: Any, schema: Any) -> bool:
    """Return whether a JSON value conforms to a schema."""
    if isinstance(schema, bool):
        return schema
    return all(
        _CHECKS[keyword](value, wanted, schema) for keyword, wanted in schema.items() if keyword in _CHECKS
    )


def _inner(keyword: str, value: Any) -> list[Any]:
    """Return the schemas inside a keyword's value."""
    if keyword in ("properties", "patternProperties"):
        return list(value.values())
    if keyword in ("anyOf", "allOf", "oneOf"):
        return list(value)
    return [value] if keyword in ("items", "not", "additionalProperties") else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type(value: Any, wanted: Any, _: Any) -> bool:
    return any(_TYPES[name](value) for name in ([wanted] if isinstance(wanted, str) else wanted))


def _properties(value: Any, wanted: Mapping[str, Any], _: Any) -> bool:
    return not isinstance(value, Mapping) or all(
        conforms(value[name], inner) for name, inner in wanted.items() if name in value
    )


def _pattern_properties(value: Any, wanted: Mapping[str, Any], _: Any) -> bool:
    return not isinstance(value, Mapping) or all(
        conforms(field, inner)
        for pattern, inner in wanted.items()
        for name, field in value.items()
        if re.search(pattern, name)
    )


def _check_additional_properties(value: Any, wanted: Any, schema: Mapping[str, Any]) -> bool:
    if not isinstance(value, Mapping):
        return True
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    others = [
        field
        for name, field in value.items()
        if name not in known and not any(re.search(pattern, name) for pattern in patterns)
    ]
    return all(conforms(field, wanted) for field in others)


def _build_length_check(
    kind: type[dict[str, Any]] | type[list[Any]] | type[str], fits: Callable[[int, Any], bool]
) -> Callable[[Any, Any, Any], bool]:
    return lambda value, wanted, _: not isinstance(value, kind) or fits(len(value), wanted)


def _build_number_check(fits: Callable[[Any, Any], bool]) -> Callable[[Any, Any, Any], bool]:
    return lambda value, wanted, _: not _is_number(value) or fits(value, wanted)


def is_same_json(value: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; true is not equal to 1."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(is_same_json(value[key], other[key]) for key in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(is_same_json, value, other))
    return bool(value == other)


def _check_unique_items(value: Any, wanted: Any, _: Any) -> bool:
    if not wanted or not isinstance(value, list):
        return True
    return not any(is_same_json(item, other) for at, item in enumerate(value) for other in value[:at])


def _items(value: Any, wanted: Any, _: Any) -> bool:
    return not isinstance(value, list) or all(conforms(item, wanted) for item in value)


def _check_required(value: Any, wanted: Sequence[str], _: Any) -> bool:
    return not isinstance(value, Mapping) or all(name in value for name in wanted)


_CHECKS: Mapping[str, Callable[[Any, Any, Any], bool]] = {
    "type": _type,
    "enum": lambda value, wanted, _: any(is_same_json(value, allowed) for allowed in wanted),
    "const": lambda value, wanted, _: is_same_json(value, wanted),
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _check_additional_properties,
    "required": _check_required,
    "minProperties": _build_length_check(dict, lambda n, wanted: n >= wanted),
    "maxProperties": _build_length_check(dict, lambda n, wanted: n <= wanted),
    "items": _items,
    "minItems": _build_length_check(list, lambda n, wanted: n >= wanted),
    "maxItems": _build_length_check(list, lambda n, wanted: n <= wanted),
    "uniqueItems": _check_unique_items,
    "minLength": _build_length_check(str, lambda n, wanted: n >= wanted),
    "maxLength": _build_length_check(str, lambda n, wanted: n <= wanted),
    "pattern": lambda value, wanted, _: not isinstance(value, str) or bool(re.search(wanted, value)),
    "minimum": _build_number_check(lambda value, wanted: value >= wanted),
    "maximum": _build_number_check(lambda value, wanted: value <= wanted),
    "exclusiveMinimum": _build_number_check(lambda value, wanted: value > wanted),
    "exclusiveMaximum": _build_number_check(lambda value, wanted: value < wanted),
    "multipleOf": _build_number_check(lambda value, wanted: (value / wanted).is_integer()),
    "anyOf": lambda value, wanted, _: any(conforms(value, inner) for inner in wanted),
    "allOf": lambda value, wanted, _: all(conforms(value, inner) for inner in wanted),
    "oneOf": lambda value, wanted, _: sum(conforms(value, inner) for inner in wanted) == 1,
    "not": lambda value, wanted, _: not conforms(value, wanted),
}
