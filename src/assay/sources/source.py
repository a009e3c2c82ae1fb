"""What every file of records can do, whatever its format. Knows no format."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from assay.core.errors import AuthorError, Problem, Problems
from assay.core.media import Medium
from assay.sources.faults import build_unreadable_error
from assay.sources.file_settings import UndecidedFile
from assay.sources.record import Record

HASH_BYTES = 16
MOST_PROBLEMS = 10_000
"""Bad rows of a file that are counted."""

T = TypeVar("T")

Report: TypeAlias = Callable[[Problem], None]
"""Takes the problem of one row. It may raise; when it returns, reading goes on with the next row."""


class Source(ABC):
    """A file of records: cheap to make, read as it is walked, walked as often as needed."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        """The file, as the person named it."""

    @abstractmethod
    def _read(self, report: Report) -> Iterator[Record]:
        """Walk the file once. A row's problem goes to `report`, a problem of the whole file is raised."""

    def _scan_rows(self, report: Report) -> Iterator[object]:
        """Walk the file once for the problems of its rows; a format may spare itself the records."""
        return self._read(report)

    def records(self) -> Iterator[Record]:
        """Walk the file; raise an AuthorError at the first bad row."""
        return self._read(raise_problem)

    def check(self) -> None:
        """Walk the whole file; raise one AuthorError that holds the problems of all rows."""
        if type(self).columns is Source.columns:
            # Looking for the names walks all of it as well: once is enough.
            _ = self.columns
            return
        for _ in _collect_problems(self._scan_rows):
            pass

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of all fields, in the order in which they first appear.

        A format that writes its names down overrides this; here the whole file is walked, once.
        """
        names: dict[str, None] = {}
        for record in _collect_problems(self._read):
            if not record.fields.keys() <= names.keys():
                names.update(dict.fromkeys(record.fields))
        return tuple(names)

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """Names that the data itself gives to integer labels, by column; empty where it gives none."""
        return {}

    @property
    def media_columns(self) -> Mapping[str, Medium]:
        """Columns that the data declares to be media: a value is a path, or base64 with `data:` before it."""
        return {}

    @property
    def has_decimal_comma(self) -> bool:
        """Whether a text such as `3,5` in this file is the number 3.5."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """What was inferred about how the file is written, in words."""
        return ()

    def content_hash(self) -> str:
        """Return a hex hash of the file's bytes as they lie on the disk."""
        try:
            with open(self.path, "rb") as stream:
                new = partial(hashlib.blake2b, digest_size=HASH_BYTES)
                return hashlib.file_digest(stream, new).hexdigest()
        except OSError as error:
            raise build_unreadable_error(self.path, error) from None


class _TooManyProblems(Exception):
    """So many rows are wrong that the file is another than it should be; the rest is not read."""


def _collect_problems(walk: Callable[[Report], Iterator[T]]) -> Iterator[T]:
    """Walk a file to its end; raise one AuthorError that holds the problems of all rows."""
    problems = Problems()

    def report(problem: Problem) -> None:
        problems.add(problem)
        if problems.total == MOST_PROBLEMS:
            raise _TooManyProblems

    try:
        yield from walk(report)
    except _TooManyProblems:
        pass
    except UndecidedFile:
        # No row was read yet, and whoever asks the person needs the readings.
        raise
    except AuthorError as error:
        # The file could not be read to its end: say so after what was found up to there.
        for problem in error.problems:
            problems.add(problem)
    problems.raise_if_any()


def raise_problem(problem: Problem) -> None:
    """Raise the problem of a row: nothing is gathered."""
    raise AuthorError(problem)
