"""One row of a dataset as written in the file."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.core.origin import Origin


class Record(msgspec.Struct, frozen=True, gc=False):
    """A row and its place. Excluded from garbage collection: values never refer to their record."""

    fields: dict[str, Any]
    """The values by column, in the order of the file. Only strings in csv and tsv; plain Python elsewhere."""
    origin: Origin
    """File, row and, in formats with lines, the line on which the record begins."""
