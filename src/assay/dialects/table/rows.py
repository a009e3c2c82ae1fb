"""The rows of a table as samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay.core.sample import Sample
from assay.dialects.table.layout import Layout, content_id
from assay.dialects.table.survey import Table


class Rows(NamedTuple):
    """Some rows of a table, and what is needed to read them."""

    table: Table
    layout: Layout
    twins: frozenset[str] = frozenset()
    """Ids that several rows would share, as their content is equal."""
    kept: slice = slice(None)
    """Which rows, by position."""

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the table's order; rows of equal content are told apart by a number."""
        occurrences: dict[str, int] = {}
        kept = range(self.kept.stop if self.kept.stop is not None else 2**62)[self.kept]
        for position, record in enumerate(self.table.records()):
            sample_id = self.layout.own_id(record.fields)
            if sample_id is None:
                sample_id = content_id(record.fields)
                if sample_id in self.twins:
                    occurrences[sample_id] = occurrences.get(sample_id, 0) + 1
                    sample_id = f"{sample_id}-{occurrences[sample_id]}"
            if position in kept:
                yield self.layout.sample(record.fields, record.origin, sample_id)
