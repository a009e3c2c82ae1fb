"""Create a table's meta file step by step: read the file, let a person choose, write the result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.app.benchmarks import get_source
from assay.app.dialects import TABLE, detect_dialect
from assay.app.offline.watch import offline_watch
from assay.app.run import compile_with_settings
from assay.app.settings import Settings
from assay.core.errors import AuthorError, Problem, UsageError
from assay.core.origin import Origin
from assay.core.setting_names import naming_settings
from assay.dialects.table.compile import CompiledTable
from assay.dialects.table.meta import TableMeta, meta_path, read_meta, to_meta
from assay.dialects.table.readings import AmbiguousTableError
from assay.sources.file_settings import FileSettings, UndecidedFile
from assay.sources.files import open_source

_PLACEHOLDER = re.compile(r"NAME\d+")
"""Placeholder in a reading for a label name that only a person knows."""
_LISTS = ("input_columns", "context_columns", "distractors")
_TITLES = {
    "input_columns": "question columns",
    "context_columns": "context columns",
    "options": "option columns, or the one column that lists them",
    "distractors": "columns of wrong options",
    "output_column": "answer column",
    "answer_is": "form of the answer",
    "label_names": "names of labels, such as 0=no,1=yes",
    "category_column": "group column",
}
"""The parts of a reading that a person may change: the meta file's keys, with titles."""


class Choice(NamedTuple):
    """One possible answer to a question."""

    what: str
    given: TableMeta
    """The settings that express it."""

    @property
    def unnamed_labels(self) -> tuple[str, ...]:
        """Return the label values whose names only the person knows."""
        names = self.given.label_names
        pairs = names.items() if isinstance(names, Mapping) else ()
        return tuple(value for value, name in pairs if _PLACEHOLDER.fullmatch(name))


class MetaQuestion(NamedTuple):
    """A question that the file does not answer."""

    what: str
    choices: tuple[Choice, ...]
    error: AuthorError
    """The same question as an error with commands, for non-interactive use."""


class MetaReading(NamedTuple):
    """How Assay reads the table with the settings so far."""

    table: CompiledTable


class WrittenMeta(NamedTuple):
    """A meta file, and the settings in it."""

    path: Path
    settings: TableMeta


class MetaPart(NamedTuple):
    """A part of the reading that a person may change."""

    key: str
    """The meta file's key."""
    title: str
    value: str
    """Its current value."""


class MetaDraft:
    """The settings of one table while a person edits them."""

    def __init__(self, path: str, settings: Settings) -> None:
        values = settings.values
        if (source := get_source(path)) is not None:
            what = f"assay init describes tables, but {path!r} is a benchmark of {source.title}"
            raise UsageError(Problem("USAGE-022", what, f"it needs no description: assay run {path}"))
        if not Path(path).is_file():
            open_source(path)  # Raises and suggests existing files.
        is_table = detect_dialect(path, values.dialect, values.dataset_args) == TABLE
        if not is_table or Path(path).suffix == ".py":
            what = "assay init describes tables, but this dataset is code or a config"
            raise UsageError(Problem("USAGE-022", what, f"check it with: assay check {path}", Origin(path)))
        self.path = path
        self._values = values
        self._names = settings.names
        self.given = to_meta(dict(values.table))
        """The person's settings so far. They override the existing meta file."""
        self._before: list[TableMeta] = []

    @property
    def meta_file(self) -> Path:
        """Return the path of the meta file."""
        return meta_path(Path(self.path))

    def read(self) -> MetaReading | MetaQuestion:
        """Read the table with the settings so far; return the reading, or the question that remains."""
        try:
            return MetaReading(self._compile(self.given))
        except AmbiguousTableError as error:
            return MetaQuestion(
                error.what, tuple(Choice(one.what, one.meta) for one in error.readings), error
            )
        except UndecidedFile as error:
            choices = tuple(Choice(one.what, _to_table_meta(one.settings)) for one in error.readings)
            return MetaQuestion(error.what, choices, error)

    def _compile(self, given: TableMeta) -> CompiledTable:
        values = msgspec.structs.replace(self._values, table=msgspec.to_builtins(given))
        with naming_settings(self._names), offline_watch(values) as watch:
            watch.seal()
            (compiled,) = compile_with_settings((self.path,), values, None)
        assert isinstance(compiled, CompiledTable), "a table compiles to one"
        return compiled

    def _find_settings(self, compiled: CompiledTable) -> TableMeta:
        """Return the settings that reproduce a reading: the person's and the inferred ones.

        Rows in another tool's format are recognised as a whole, but no longer once their columns are named.
        For these, return only the person's settings.
        """
        whole = compiled.survey.meta
        again = self._compile(whole)
        if again.survey.layout == compiled.survey.layout and _first_fields(again) == _first_fields(compiled):
            return whole
        file = self.meta_file
        return self.given.merge_over(read_meta(file, [])) if file.exists() else self.given

    def columns(self) -> tuple[str, ...]:
        """Return the columns of the table; raise if the file is invalid."""
        return open_source(self.path, self.given.file_settings).columns

    def choose(self, choice: Choice, names: Mapping[str, str]) -> None:
        """Answer a question; `names`: names of labels that only the person knows."""
        settings = choice.given
        if isinstance(settings.label_names, dict):
            settings = msgspec.structs.replace(settings, label_names={**settings.label_names, **names})
        self._settle(settings.merge_over(self.given))

    def change(self, key: str, text: str) -> None:
        """Set one part as a person writes it; an empty text lets Assay infer it."""
        value = self._parse_value(key, text)
        self._settle(msgspec.structs.replace(self.given, **{key: value}))

    def undo(self) -> bool:
        """Revert the last change; return whether there was one."""
        if not self._before:
            return False
        self.given = self._before.pop()
        return True

    def _settle(self, given: TableMeta) -> None:
        self._before.append(self.given)
        self.given = given

    def _parse_value(self, key: str, text: str) -> Any:
        names = [name.strip() for name in text.split(",") if name.strip()]
        if not names:
            return None
        value: Any = text.strip()
        if key in _LISTS or (key == "options" and len(names) > 1):
            value = names
        elif key == "label_names":
            pairs = [name.partition("=") for name in names]
            value = {label.strip(): name.strip() for label, _, name in pairs} if "=" in text else names
        return getattr(to_meta({key: value}, Origin(self.path)), key)

    def list_parts(self, reading: MetaReading | MetaQuestion) -> tuple[MetaPart, ...]:
        """Return the parts of a reading that a person may change."""
        now = self.given if isinstance(reading, MetaQuestion) else reading.table.survey.meta
        return tuple(
            MetaPart(key, title, _format_meta_value(getattr(now, key))) for key, title in _TITLES.items()
        )

    def write(self, reading: MetaReading, *, overwrites: bool) -> WrittenMeta:
        """Write the meta file that reproduces a reading."""
        settings = self._find_settings(reading.table)
        file = self.meta_file
        text = msgspec.json.format(msgspec.json.encode(settings), indent=2)
        try:
            with file.open("wb" if overwrites else "xb") as stream:
                stream.write(text + b"\n")
        except FileExistsError:
            what = "the meta file already exists, and assay init does not overwrite it"
            fix = "add --force to overwrite it"
            raise UsageError(Problem("USAGE-022", what, fix, Origin(str(file)))) from None
        return WrittenMeta(file, settings)


def _format_meta_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={name}" for key, name in value.items())
    return "" if value is None else value if isinstance(value, str) else ",".join(map(str, value))


def _first_fields(compiled: CompiledTable) -> Mapping[str, Any] | None:
    first = next(iter(compiled.task.samples()), None)
    return None if first is None else first.fields


def _to_table_meta(settings: FileSettings) -> TableMeta:
    return TableMeta(**{name: getattr(settings, name) for name in settings.list_given()})
