"""Readings of a table as commands a person can paste, and the error that asks which one is meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.dialects.table.meta import TableMeta

_FLAGS = {
    "data_type": "--data-type",
    "input_columns": "--input-columns",
    "context_columns": "--context-columns",
    "options": "--options",
    "distractors": "--distractors",
    "output_column": "--answer-column",
    "answer_is": "--answer-is",
    "label_names": "--label-names",
    "human_prompt": "--human-prompt",
    "match": "--match",
    "messages_column": "--messages-column",
}
"""Flags that state a reading, by the meta file's key."""


PLACEHOLDER = re.compile(r"NAME-?\d+")
"""The name of a label that the person still has to write."""


class Reading(NamedTuple):
    """One way to read a table."""

    what: str
    """In a few words, for a person who chooses."""
    meta: TableMeta
    """The settings that state it."""
    also: str = ""
    """Flags that are no setting of the table."""

    def command(self, path: str) -> str:
        """Return the command that reads the table so."""
        return " ".join(filter(None, ("assay run", shlex.quote(path), format_flags(self.meta), self.also)))


def format_flags(meta: TableMeta) -> str:
    """Return settings of a table as flags."""
    flags = []
    if meta.no_answers:
        flags.append("--no-answers")
    for key, value in msgspec.to_builtins(meta).items():
        if key in _FLAGS:
            flags += [_FLAGS[key], shlex.quote(_format_flag(value))]
    return " ".join(flags)


def _format_flag(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={name}" for key, name in value.items())
    return value if isinstance(value, str) else ",".join(map(str, value))


class AmbiguousTableError(AuthorError):
    """A table can be read in several ways; the person chooses."""

    def __init__(
        self,
        path: str,
        what: str,
        readings: Sequence[Reading],
        *,
        column: str | None = None,
        code: str = "TABLE-018",
    ) -> None:
        self.what = what
        self.readings = tuple(readings)
        choices = "".join(f"\n    {one.command(path)}\n        {one.what}" for one in readings)
        fix = f"run one of these commands, or answer the questions of assay init {shlex.quote(path)}{choices}"
        super().__init__(Problem(code, what, fix, Origin(path, column=column)))
