"""The rows of a table as samples."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from assay.core.sample import Sample
from assay.dialects.shared.duplicate_numbers import DuplicateNumbers
from assay.dialects.shared.request_selection import AnswerLengths, order_samples
from assay.dialects.table.layout import Layout, hash_content, parse_content_id
from assay.dialects.table.survey import Table


class TableRows(NamedTuple):
    """Some rows of a table, and what is needed to read them."""

    table: Table
    layout: Layout
    twins: DuplicateNumbers | None = None
    """Ids that several rows would share, as their content is equal."""
    chosen: range | tuple[int, ...] | None = None
    """Which rows, by position: a range in the table's order, others in their own; None: all."""
    lengths: AnswerLengths | None = None
    """How long their answers may be, where an output config says so."""

    def samples(self) -> Iterator[Sample]:
        """Yield the samples as they are asked. Those in an order of their own are held in memory."""
        samples = self._chosen()
        return samples if self.lengths is None else self.lengths.add_lengths(samples)

    def _chosen(self) -> Iterator[Sample]:
        chosen = self.chosen
        if chosen is None:
            return (sample for _, sample in self._iterate_numbered())
        if isinstance(chosen, range):
            return (sample for at, sample in self._iterate_numbered() if at in chosen)
        wanted = frozenset(chosen)
        return order_samples({at: sample for at, sample in self._iterate_numbered() if at in wanted}, chosen)

    def _iterate_numbered(self) -> Iterator[tuple[int, Sample]]:
        """Yield all rows with their places; rows of equal content are told apart by a number."""
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
