"""The rows of a table as samples."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from assay.core.sample import Sample
from assay.dialects.shared.duplicate_numbers import DuplicateNumbers
from assay.dialects.shared.request_selection import AnswerLengths, order_samples
from assay.dialects.table.layout import Layout, hash_content, parse_content_id
from assay.dialects.table.layout_choice import Table


class TableRows(NamedTuple):
    """A selection of rows of a table."""

    table: Table
    layout: Layout
    twins: DuplicateNumbers | None = None
    """Content hashes that several rows share."""
    chosen: range | tuple[int, ...] | None = None
    """Positions of the rows: a range keeps the table's order, a tuple has its own; None: all rows."""
    lengths: AnswerLengths | None = None
    """Maximum answer lengths from an output config, or None."""

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in order. Samples in another order than the table's are kept in memory."""
        samples = self._iterate_selected()
        return samples if self.lengths is None else self.lengths.add_lengths(samples)

    def _iterate_selected(self) -> Iterator[Sample]:
        chosen = self.chosen
        if chosen is None:
            return (sample for _, sample in self._iterate_numbered())
        if isinstance(chosen, range):
            return (sample for at, sample in self._iterate_numbered() if at in chosen)
        wanted = frozenset(chosen)
        return order_samples({at: sample for at, sample in self._iterate_numbered() if at in wanted}, chosen)

    def _iterate_numbered(self) -> Iterator[tuple[int, Sample]]:
        """Yield all rows with their positions; rows of equal content get numbered ids."""
        layout = self.layout
        twins = self.twins or DuplicateNumbers()
        has_twins = len(twins) > 0
        n_before = array("L", bytes(array("L").itemsize * len(twins)))
        for position, record in enumerate(self.table.records()):
            fields = record.fields
            sample_id = layout.get_own_id(fields)
            if sample_id is None:
                sample_id = hash_content(fields)
                if has_twins and (twin := twins.place(parse_content_id(sample_id))) is not None:
                    n_before[twin] += 1
                    sample_id = f"{sample_id}-{n_before[twin]}"
            yield position, layout.sample(fields, record.origin, sample_id)
