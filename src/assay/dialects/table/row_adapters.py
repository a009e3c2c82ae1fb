"""A source that rewrites the rows of another source, so that other shapes become plain columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from assay.core.errors import Problem
from assay.sources.record import Record
from assay.sources.source import Report, Source

RowAdapter: TypeAlias = Callable[[Record], dict[str, Any]]
"""Returns the new fields of a row; raises RowProblem if the row does not match the shape."""


class RowProblem(Exception):
    """A problem with one row. Reading continues with the next row, so that all problems are reported."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.what)
        self.problem = problem


class AdaptedSource(Source):
    """The rewritten rows of another source. A file that was checked is not checked again."""

    def __init__(self, source: Source, columns: tuple[str, ...], adapt: RowAdapter) -> None:
        super().__init__(source.path)
        self._source = source
        self._columns = columns
        self._adapt = adapt

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all fields, after rewriting."""
        return self._columns

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """The dataset's own names for integer labels."""
        return self._source.label_names

    def content_hash(self) -> str:
        """Return the hash of the original file."""
        return self._source.content_hash()

    def _finish(self) -> None:
        """Record that all rows were read, so that later passes need no checks."""

    def _read(self, report: Report) -> Iterator[Record]:
        inner = self._source
        for record in inner._read(report) if isinstance(inner, AdaptedSource) else inner.records():
            try:
                fields = self._adapt(record)
            except RowProblem as trouble:
                report(trouble.problem)
                continue
            yield Record(fields, record.origin)
        self._finish()
