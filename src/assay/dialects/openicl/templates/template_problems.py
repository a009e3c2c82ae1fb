"""Faults of a template, without the config's name and location."""

from __future__ import annotations

from typing import NamedTuple


class TemplateFault(NamedTuple):
    """One fault. The caller that knows the config converts it to a problem with code and origin."""

    what: str
    fix: str


def describe_value(value: object) -> str:
    """Return a value for messages: its type and its beginning."""
    return f"a {type(value).__name__} ({value!r:.60})"
