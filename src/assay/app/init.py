"""A table's meta file, settled step by step: what the file shows, what a person chooses, what is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.app.dialects import TABLE, detect_dialect
from assay.app.offline.watch import offline_watch
from assay.app.run import compile_with_settings
from assay.app.settings import RunSettings
from assay.core.errors import AuthorError, Problem, UsageError
from assay.core.origin import Origin
from assay.dialects.table.compile import CompiledTable
from assay.dialects.table.meta import TableMeta, meta_path, read_meta, to_meta
from assay.dialects.table.readings import AmbiguousTableError
from assay.sources.file_settings import FileSettings, UndecidedFile
from assay.sources.files import open_source

_PLACEHOLDER = re.compile(r"NAME\d+")
"""What a reading has where only a person knows the name of a label."""
_LISTS = ("input_columns", "context_columns", "distractors")


class Choice(NamedTuple):
    """One answer to a question."""

    what: str
    said: TableMeta
    """The settings that state it."""

    @property
    def unnamed_labels(self) -> tuple[str, ...]:
        """Return the values whose names only the person knows."""
        names = self.said.label_names
        pairs = names.items() if isinstance(names, Mapping) else ()
        return tuple(value for value, name in pairs if _PLACEHOLDER.fullmatch(name))


class MetaQuestion(NamedTuple):
    """What the file does not say."""

    what: str
    choices: tuple[Choice, ...]
    error: AuthorError
    """The same question as commands, for whoever cannot be asked."""


class MetaPart(NamedTuple):
    """A part of the reading that a person may change."""

    key: str
    """The meta file's key."""
    title: str
    value: str
    """As it is now."""


class MetaDraft:
    """The settings of one table while they are settled."""

    def __init__(self, path: str, values: RunSettings) -> None:
        if not Path(path).is_file():
            open_source(path)  # Raises, and names the files that are there.
        is_table = detect_dialect(path, values.dialect, values.dataset_args) == TABLE
        if not is_table or Path(path).suffix == ".py":
            what = "assay init describes a table, and this is a dataset with code or a config of its own"
            raise UsageError(Problem("USAGE-022", what, f"assay check {path}", Origin(path)))
        self.path = path
        self._values = values
        self.said = to_meta(dict(values.table), Origin("(command line)"))
        """What the person said so far. What the meta file beside the table says counts below it."""
        self._before: list[TableMeta] = []

    @property
    def meta_file(self) -> Path:
        """Where the settings are written."""
        return meta_path(Path(self.path))

    def read(self) -> CompiledTable | MetaQuestion:
        """Read the table with what is settled so far; return how it was understood, or what is not clear."""
        try:
            return self._compile(self.said)
        except AmbiguousTableError as error:
            return MetaQuestion(
                error.what, tuple(Choice(one.what, one.meta) for one in error.readings), error
            )
        except UndecidedFile as error:
            choices = tuple(Choice(one.what, _to_table_meta(one.settings)) for one in error.readings)
            return MetaQuestion(error.what, choices, error)

    def _compile(self, said: TableMeta) -> CompiledTable:
        values = msgspec.structs.replace(self._values, table=msgspec.to_builtins(said))
        with offline_watch(values) as watch:
            watch.seal()
            (compiled,) = compile_with_settings((self.path,), values, None)
        assert isinstance(compiled, CompiledTable), "a table compiles to one"
        return compiled

    def statement(self, compiled: CompiledTable) -> TableMeta:
        """Return the settings that state a reading: what was said and what was inferred.

        Rows of another tool's shape are recognised as a whole, and not once their columns are named: of
        those, only what the person said is kept.
        """
        whole = compiled.survey.meta
        again = self._compile(whole)
        if again.survey.layout == compiled.survey.layout and _first_fields(again) == _first_fields(compiled):
            return whole
        file = self.meta_file
        return self.said.over(read_meta(file, [])) if file.exists() else self.said

    def columns(self) -> tuple[str, ...]:
        """Return the columns of the table; raises what is wrong with the file."""
        return open_source(self.path, self.said.file_settings).columns

    def choose(self, choice: Choice, names: Mapping[str, str]) -> None:
        """Settle a question; `names`: of the labels that only the person can name."""
        said = choice.said
        if isinstance(said.label_names, dict):
            said = msgspec.structs.replace(said, label_names={**said.label_names, **names})
        self._settle(said.over(self.said))

    def change(self, key: str, text: str) -> None:
        """Settle a part as a person writes it; an empty text lets Assay infer it."""
        value = self._parsed(key, text)
        self._settle(msgspec.structs.replace(self.said, **{key: value}))

    def undo(self) -> bool:
        """Take back what was settled last; return whether there was something."""
        if not self._before:
            return False
        self.said = self._before.pop()
        return True

    def _settle(self, said: TableMeta) -> None:
        self._before.append(self.said)
        self.said = said

    def _parsed(self, key: str, text: str) -> Any:
        names = [name.strip() for name in text.split(",") if name.strip()]
        if not names:
            return None
        said: Any = text.strip()
        if key in _LISTS or (key == "options" and len(names) > 1):
            said = names
        elif key == "label_names":
            pairs = [name.partition("=") for name in names]
            said = {value.strip(): name.strip() for value, _, name in pairs} if "=" in text else names
        return getattr(to_meta({key: said}, Origin(self.path)), key)

    def write(self, statement: TableMeta, *, overwrites: bool) -> Path:
        """Write the meta file."""
        file = self.meta_file
        text = msgspec.json.format(msgspec.json.encode(statement), indent=2)
        try:
            with file.open("wb" if overwrites else "xb") as stream:
                stream.write(text + b"\n")
        except FileExistsError:
            what = "the file has a meta file already, which assay init does not overwrite"
            fix = "add --force to overwrite it"
            raise UsageError(Problem("USAGE-022", what, fix, Origin(str(file)))) from None
        return file


def list_meta_parts(reading: CompiledTable | MetaQuestion, said: TableMeta) -> tuple[MetaPart, ...]:
    """Return the parts of a reading that a person may change."""
    now = said if isinstance(reading, MetaQuestion) else reading.survey.meta
    titles = {
        "input_columns": "question columns",
        "context_columns": "context columns",
        "options": "option columns, or the one column that lists them",
        "distractors": "columns of wrong options",
        "output_column": "answer column",
        "answer_is": "form of the answer",
        "label_names": "names of labels, such as 0=no,1=yes",
        "category_column": "group column",
    }
    return tuple(MetaPart(key, title, _format_meta_value(getattr(now, key))) for key, title in titles.items())


def _format_meta_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={name}" for key, name in value.items())
    return "" if value is None else value if isinstance(value, str) else ",".join(map(str, value))


def _first_fields(compiled: CompiledTable) -> Mapping[str, Any] | None:
    first = next(iter(compiled.task.samples()), None)
    return None if first is None else first.fields


def _to_table_meta(settings: FileSettings) -> TableMeta:
    return TableMeta(**{name: getattr(settings, name) for name in settings.given()})
