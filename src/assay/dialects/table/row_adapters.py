"""A source whose rows are rewritten on the way: shapes that are not plain columns become columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from assay.core.errors import Problem
from assay.sources.record import Record
from assay.sources.source import Report, Source

RowAdapter: TypeAlias = Callable[[Record], dict[str, Any]]
"""Returns the fields that a row becomes; raises RowProblem where the row does not fit the shape."""


class RowProblem(Exception):
    """What is wrong with a row; reading continues with the next one, so that all are reported."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.what)
        self.problem = problem


class AdaptedSource(Source):
    """The rows of another source, each rewritten; a file that was checked is not checked again."""

    def __init__(self, source: Source, columns: tuple[str, ...], adapt: RowAdapter) -> None:
        super().__init__(source.path)
        self._source = source
        self._columns = columns
        self._adapt = adapt

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all fields after rewriting."""
        return self._columns

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """Names that the data itself gives to integer labels."""
        return self._source.label_names

    def content_hash(self) -> str:
        """Return the hash of the file that the rows come from."""
        return self._source.content_hash()

    def _finish(self) -> None:
        """Note that a walk has read all rows: what it checked need not be checked again."""

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
