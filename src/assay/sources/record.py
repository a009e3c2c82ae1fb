"""One row of a dataset as it was written, before any dialect gives it a meaning."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.core.origin import Origin


class Record(msgspec.Struct, frozen=True, gc=False):
    """A row and its place. Not tracked by the collector: parsed values never point back at their record."""

    fields: dict[str, Any]
    """The values by column, in the file's order. Strings alone in csv and tsv; plain Python elsewhere."""
    origin: Origin
    """File, row and, in formats that have lines, the physical line on which the record begins."""
