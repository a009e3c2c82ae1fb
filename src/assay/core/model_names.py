"""Names that people give to models and prompts on the command line: `NAME=SPEC`."""

from __future__ import annotations

import re
from typing import NamedTuple

_ADDRESS = re.compile(r"(?:@|(?<=:))https?://")
_LONGEST_LABEL = 80


class NamedChoice(NamedTuple):
    """A model or a prompt, and the name it was given."""

    label: str | None
    spec: str


def split_model_label(text: str) -> NamedChoice:
    """Split `NAME=SPEC`. A specification may contain `=` too, but only after a colon, a slash or an `@`.

    `openai:m@http://host/v1?a=b` and `hf:/models/a=b` have no name; `small=hf:/models/a=b` has one.
    """
    label, equals, spec = text.partition("=")
    if not equals or not {*":/@"}.isdisjoint(label):
        return NamedChoice(None, text)
    return NamedChoice(label.strip(), spec.strip())


def find_label_fault(label: str) -> str | None:
    """Return what is wrong with a label; None if it can name a row of a table."""
    if not label.strip():
        return "it is empty"
    if len(label) > _LONGEST_LABEL:
        return f"it has {len(label)} characters, of {_LONGEST_LABEL} allowed"
    if not label.isprintable():
        return "it contains a character that cannot be printed"
    if "://" in label:
        return "it is an address"
    return None


def title_of_spec(spec: str) -> str:
    """Return a model's specification without the address of a server, as a name."""
    named = _ADDRESS.split(spec, maxsplit=1)[0]
    return spec if named == spec else named.rstrip(":")
