"""Assertions about a reply, as stored in a sample: dialects write them and scorers evaluate them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

ASSERTIONS = "__assert"
"""The field of a sample that holds `{"assert": [...], "threshold": ...}`."""
RUBRIC = "llm-rubric"
"""The assertion type that a judge evaluates."""
SET = "assert-set"
"""The assertion type that contains other assertions."""
_NOT = "not-"

Assertion: TypeAlias = Mapping[str, Any]
"""`type` and, where given, `value`, `weight` and `metric`; a set also has `assert` and `threshold`."""


def base_type(assertion: Assertion) -> str:
    """Return the type without `not-`."""
    return str(assertion["type"]).removeprefix(_NOT)


def is_negated(assertion: Assertion) -> bool:
    """Return whether an assertion is negated."""
    return str(assertion["type"]).startswith(_NOT)


def iter_rubrics(assertions: Iterable[Assertion]) -> Iterator[Assertion]:
    """Yield the assertions that a judge evaluates, including those in sets."""
    for assertion in assertions:
        if assertion["type"] == SET:
            yield from iter_rubrics(assertion["assert"])
        elif base_type(assertion) == RUBRIC:
            yield assertion


def format_assertion(assertion: Assertion) -> str:
    """Return an assertion as written in a cell."""
    if assertion["type"] == SET:
        return f"{SET}({', '.join(map(format_assertion, assertion['assert']))})"
    if "value" not in assertion:
        return str(assertion["type"])
    value = assertion["value"]
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return (
        f"{assertion['type']}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
    )
