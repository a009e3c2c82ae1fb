"""Possible readings of a table as commands to paste, and the error that lists them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.core.python_objects import is_python_name
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
"""The flags for a reading, by meta file key."""


PLACEHOLDER = re.compile(r"NAME-?\d+")
"""A placeholder for a label name."""


class TableReading(NamedTuple):
    """One possible reading of a table."""

    what: str
    """A short description."""
    meta: TableMeta
    """The settings that select this reading."""
    also: str = ""
    """Additional flags that are not table settings."""

    def command(self, path: str) -> str:
        """Return the command for this reading, or the call if the table is an object of a Python program."""
        if is_python_name(path):
            return f"assay.run(data, {format_arguments(self.meta)})"
        return " ".join(filter(None, ("assay run", shlex.quote(path), format_flags(self.meta), self.also)))


def format_flags(meta: TableMeta) -> str:
    """Return table settings as flags."""
    flags = []
    if meta.no_answers:
        flags.append("--no-answers")
    for key, value in msgspec.to_builtins(meta).items():
        if key in _FLAGS:
            flags += [_FLAGS[key], shlex.quote(_format_flag(value))]
    return " ".join(flags)


def format_arguments(meta: TableMeta) -> str:
    """Return table settings as arguments of `assay.run`."""
    arguments = ["no_answers=True"] if meta.no_answers else []
    for key, value in msgspec.to_builtins(meta).items():
        if key in _FLAGS:
            plain = list(value) if isinstance(value, (list, tuple)) else value
            arguments.append(f"{_FLAGS[key].removeprefix('--').replace('-', '_')}={plain!r}")
    return ", ".join(arguments)


def _format_flag(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={name}" for key, name in value.items())
    return value if isinstance(value, str) else ",".join(map(str, value))


class AmbiguousTableError(AuthorError):
    """Raised if a table has several possible readings; lists a command for each."""

    def __init__(
        self,
        path: str,
        what: str,
        readings: Sequence[TableReading],
        *,
        column: str | None = None,
        code: str = "TABLE-018",
    ) -> None:
        self.what = what
        self.readings = tuple(readings)
        choices = "".join(f"\n    {one.command(path)}\n        {one.what}" for one in readings)
        fix = f"run one of these commands, or answer the questions of assay init {shlex.quote(path)}{choices}"
        if is_python_name(path):
            fix = f"add the arguments of one of these calls{choices}"
        super().__init__(Problem(code, what, fix, Origin(path, column=column)))
