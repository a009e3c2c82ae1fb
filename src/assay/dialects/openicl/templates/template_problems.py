"""What is wrong with a template, before it is known whose template it is."""

from __future__ import annotations

from typing import NamedTuple


class TemplateFault(NamedTuple):
    """Something wrong. Who knows the config makes a problem of it, with a code and a place."""

    what: str
    fix: str


def describe_value(value: object) -> str:
    """Return a value as errors show it: its type and its beginning."""
    return f"a {type(value).__name__} ({value!r:.60})"
