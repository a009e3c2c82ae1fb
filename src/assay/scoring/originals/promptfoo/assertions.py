"""What each assertion accepts, and how several are combined. The rules are promptfoo's.

A reply is compared without surrounding white space, which promptfoo keeps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.assertion import SET, Assertion, base_type, is_negated
from assay.core.javascript_regex import compile_javascript
from assay.core.json_schema import conforms, is_same_json


class AssertionResult(NamedTuple):
    """The result of the assertions about one reply."""

    is_passed: bool
    score: float
    """The weighted share of the assertions that hold."""
    failed: tuple[Assertion, ...]
    """The assertions that do not hold, whatever their weight."""


def decide(
    assertions: Sequence[Assertion], threshold: float | None, holds: Callable[[Assertion], bool]
) -> AssertionResult:
    """Return whether a reply passes: all assertions hold, or their weighted share reaches the threshold.

    An assertion of weight 0 never fails a reply. `holds` decides a single assertion.
    """
    total = reached = 0.0
    failed: list[Assertion] = []
    is_passed = True
    for assertion in assertions:
        weight = float(assertion.get("weight", 1))
        if assertion["type"] == SET:
            inner = decide(assertion["assert"], assertion.get("threshold"), holds)
            score, holding = inner.score, inner.is_passed
            failed += inner.failed
        else:
            holding = holds(assertion)
            score = float(holding)
            failed += [] if holding else [assertion]
        total += weight
        reached += weight * score
        is_passed = is_passed and (holding or weight == 0)
    share = reached / total if total else 0.0
    return AssertionResult(share >= threshold if threshold is not None else is_passed, share, tuple(failed))


def is_assertion_met(assertion: Assertion, reply: str) -> bool:
    """Whether an assertion that needs no judge holds; ValueError for an unknown one."""
    base = base_type(assertion)
    if base not in _CHECKS:
        raise ValueError(f"unknown assertion {assertion['type']!r}")
    return _CHECKS[base](reply, assertion.get("value")) != is_negated(assertion)


def score_named_metrics(
    assertions: Sequence[Assertion], holds: Callable[[Assertion], bool]
) -> dict[str, float]:
    """Return the weighted share of the assertions of each metric that rows name."""
    metrics: dict[str, list[Assertion]] = {}
    for assertion in assertions:
        if metric := assertion.get("metric"):
            metrics.setdefault(str(metric), []).append(assertion)
    return {metric: decide(some, None, holds).score for metric, some in metrics.items()}


def _equals(reply: str, value: Any) -> bool:
    if isinstance(value, str):
        return reply == value
    if isinstance(value, Mapping | list):
        found = _json(reply)
        return found is not None and is_same_json(found[0], value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return reply == json.dumps(value)


def _json(reply: str) -> tuple[Any] | None:
    """Return a reply's JSON value; None if it is not JSON."""
    try:
        return (json.loads(reply, parse_constant=_no_json),)
    except (ValueError, RecursionError):
        return None


def _no_json(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _is_json(reply: str, schema: Any) -> bool:
    found = _json(reply)
    return found is not None and (schema is None or conforms(found[0], schema))


def _contains_json(reply: str, schema: Any) -> bool:
    decoder = json.JSONDecoder(parse_constant=_no_json)
    at = reply.find("{")
    while at != -1:
        try:
            value, _ = decoder.raw_decode(reply, at)
        except (ValueError, RecursionError):
            value = None
        if value is not None and (schema is None or conforms(value, schema)):
            return True
        at = reply.find("{", at + 1)
    return False


def _contains_any(reply: str, values: Sequence[str]) -> bool:
    return any(value in reply for value in values)


def _contains_all(reply: str, values: Sequence[str]) -> bool:
    return all(value in reply for value in values)


def _lower(values: Sequence[str]) -> list[str]:
    return [value.lower() for value in values]


_CHECKS: Mapping[str, Callable[[str, Any], bool]] = {
    "equals": _equals,
    "contains": lambda reply, value: value in reply,
    "icontains": lambda reply, value: value.lower() in reply.lower(),
    "contains-any": _contains_any,
    "contains-all": _contains_all,
    "icontains-any": lambda reply, values: _contains_any(reply.lower(), _lower(values)),
    "icontains-all": lambda reply, values: _contains_all(reply.lower(), _lower(values)),
    "starts-with": lambda reply, value: reply.startswith(value),
    "regex": lambda reply, value: compile_javascript(value).search(reply) is not None,
    "is-json": _is_json,
    "contains-json": _contains_json,
}
"""The assertions that need no judge."""
