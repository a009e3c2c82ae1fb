"""Settings for reading a file, such as its separator and encoding, and the choice between readings."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.core.setting_names import name_setting

WORKBOOK_SETTINGS = frozenset({"sheet", "has_header", "header_row", "columns"})
"""The settings that workbooks support. Defined here so that their reader is imported only when needed."""
_FLAGS = {"has_header": "--header"}
"""Settings whose flag on the command line has another name."""


class FileSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """Settings for reading a file. None: infer the value from the file, or stop if it is ambiguous."""

    sheet: str | None = None
    """The table to read: a sheet of a workbook, a list in a JSON document, a file in an archive."""
    has_header: bool | None = None
    """Whether the first row holds the column names."""
    header_row: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The line of a text file, or row of a sheet, that holds the column names."""
    columns: tuple[str, ...] | None = None
    """Column names for a file without a header."""
    separator: str | None = None
    """The character between columns."""
    quotes: bool | None = None
    """Whether a value in double quotes may contain separators and line breaks."""
    encoding: str | None = None
    """Text encoding, by its Python name."""
    decimal_comma: bool | None = None
    """Whether numbers are written with a decimal comma."""

    @property
    def says_header(self) -> bool:
        """Whether the settings determine where the column names come from."""
        return not (self.has_header is None and self.header_row is None and self.columns is None)

    @property
    def is_headerless(self) -> bool:
        """Whether the first row is data."""
        return self.has_header is False or (self.columns is not None and self.has_header is None)

    def list_given(self) -> tuple[str, ...]:
        """Return the names of the settings that have a value."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name) is not None)

    def only(self, names: frozenset[str]) -> FileSettings:
        """Return these settings without those that a format does not support."""
        others = {name: None for name in self.list_given() if name not in names}
        return msgspec.structs.replace(self, **others)

    def require_known(self, path: str, kind: str, names: frozenset[str]) -> None:
        """Raise SOURCE-019 for settings that have no effect on a format or contradict each other."""
        where = Origin(path)
        problems = [
            Problem("SOURCE-019", f"{given} has no effect on {kind}", f"omit {given}", where)
            for given in [name_setting(name) for name in self.list_given() if name not in names]
        ]
        if self.is_headerless and self.header_row is not None:
            given = name_setting("header_row")
            what = f"{given} is {self.header_row}, but the other settings say that the file has no header"
            fix = f"omit {given}, or --no-header and --columns"
            problems.append(Problem("SOURCE-019", what, fix, where))
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            what = f"the separator is {self.separator!r}, expected a single character other than a quote"
            problems.append(Problem("SOURCE-019", what, "write for example --separator ';'", where))
        if problems:
            raise AuthorError(problems)


def format_flag(name: str) -> str:
    """Return the command-line option for a setting."""
    return _FLAGS.get(name, "--" + name.replace("_", "-"))


class FileReading(NamedTuple):
    """One way to read a file, for the user to choose from."""

    what: str
    """A short description."""
    settings: FileSettings
    """The settings that select this reading."""

    def command(self, path: str) -> str:
        """Return the command that reads the file this way."""
        return f"assay run {shlex.quote(path)} {_format_options(self.settings)}"


class UndecidedFile(AuthorError):
    """A file can be read in several ways, or needs a setting. The user has to choose."""

    def __init__(self, code: str, what: str, readings: Sequence[FileReading], where: Origin) -> None:
        self.what = what
        self.readings = tuple(readings)
        # The description gets its own line: after a command, zsh would pass it as arguments.
        choices = "".join(
            f"\n    {reading.command(where.path)}\n        {reading.what}" for reading in readings
        )
        questions = f"or answer the questions of assay init {shlex.quote(where.path)}"
        super().__init__(Problem(code, what, f"run one of these commands, {questions}{choices}", where))


def _format_options(settings: FileSettings) -> str:
    options = []
    for name in settings.list_given():
        value = getattr(settings, name)
        if isinstance(value, bool):
            options.append(format_flag(name) if value else "--no-" + format_flag(name).removeprefix("--"))
        else:
            options += [format_flag(name), _quote_value(value)]
    return " ".join(options)


def _quote_value(value: object) -> str:
    """Return a value as written on a command line."""
    if isinstance(value, tuple):
        listed = io.StringIO()
        csv.writer(listed, lineterminator="").writerow(value)
        return shlex.quote(listed.getvalue())
    return "tab" if value == "\t" else shlex.quote(str(value))
