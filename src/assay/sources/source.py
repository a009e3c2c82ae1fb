"""The interface of every file of records, independent of its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

from assay.core.errors import AuthorError, Problem, Problems
from assay.core.media import Medium
from assay.sources.file_settings import UndecidedFile
from assay.sources.record import Record
from assay.sources.stored_file import StoredFile

MOST_PROBLEMS = 10_000
"""Maximum number of bad rows that are counted."""

T = TypeVar("T")

Report: TypeAlias = Callable[[Problem], None]
"""Receives the problem of one row. May raise; if it returns, reading continues with the next row."""


class Source(ABC):
    """A file of records: cheap to create, read lazily, and readable several times."""

    def __init__(self, path: str | Path | StoredFile) -> None:
        self.file = path if isinstance(path, StoredFile) else StoredFile(str(path))
        self.path = self.file.path
        """The file as the user named it."""

    @abstractmethod
    def _read(self, report: Report) -> Iterator[Record]:
        """Read the file once. Pass a row's problem to `report`; raise a problem of the whole file."""

    def _scan_rows(self, report: Report) -> Iterator[object]:
        """Read the file once to find the problems of its rows. A format may skip creating the records."""
        return self._read(report)

    def records(self) -> Iterator[Record]:
        """Read the file; raise an AuthorError at the first bad row."""
        return self._read(raise_problem)

    def check(self) -> None:
        """Read the whole file; raise one AuthorError with the problems of all rows."""
        if type(self).columns is Source.columns:
            # Collecting the column names already reads the whole file.
            _ = self.columns
            return
        for _ in _collect_problems(self._scan_rows):
            pass

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of all fields, in order of first appearance.

        Reads the whole file once. A format with declared column names overrides this.
        """
        names: dict[str, None] = {}
        for record in _collect_problems(self._read):
            if not record.fields.keys() <= names.keys():
                names.update(dict.fromkeys(record.fields))
        return tuple(names)

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """Names that the data itself declares for integer labels, by column; empty without any."""
        return {}

    @property
    def media_columns(self) -> Mapping[str, Medium]:
        """Columns that the data declares as media: a value is a path, or base64 prefixed with `data:`."""
        return {}

    @property
    def has_decimal_comma(self) -> bool:
        """Whether a text such as `3,5` in this file is the number 3.5."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """What was inferred about how the file is written."""
        return ()

    def content_hash(self) -> str:
        """Return a hex hash of the file's bytes on disk."""
        return self.file.content_hash()


class _TooManyProblems(Exception):
    """Too many rows are wrong, so the file is probably not what it should be; stop reading."""


def _collect_problems(read: Callable[[Report], Iterator[T]]) -> Iterator[T]:
    """Read a file to its end; raise one AuthorError with the problems of all rows."""
    problems = Problems()

    def report(problem: Problem) -> None:
        problems.add(problem)
        if problems.total == MOST_PROBLEMS:
            raise _TooManyProblems

    try:
        yield from read(report)
    except _TooManyProblems:
        pass
    except UndecidedFile:
        # No row was read yet, and the caller that asks the user needs the readings.
        raise
    except AuthorError as error:
        # The file could not be read to its end: report that after the problems found so far.
        for problem in error.problems:
            problems.add(problem)
    problems.raise_if_any()


def raise_problem(problem: Problem) -> None:
    """Raise the problem of a row immediately instead of collecting it."""
    raise AuthorError(problem)
