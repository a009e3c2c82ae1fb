"""One question of a dataset, in the form that every dialect compiles to."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.core.origin import Origin


class Sample(msgspec.Struct, frozen=True, omit_defaults=True):
    """A state: made by a dialect from one record, stored with the run."""

    id: str
    """The dataset's own id, or else a hash of the record's content."""
    fields: dict[str, Any]
    """The record as it was read."""
    origin: Origin
    """The place the record came from."""
    choices: tuple[str, ...] = ()
    """The texts of the options; empty for a free answer."""
    labels: tuple[str, ...] = ()
    """The names of the options (`A`, `B`, ...), one per choice."""
    gold: tuple[int, ...] = ()
    """Indexes of the right options; empty without options or without a known answer."""
    targets: tuple[str, ...] = ()
    """Acceptable free answers; empty if no answer is known."""
    group: str | None = None
    """The part of the dataset this sample is reported under."""
    cluster: str | None = None
    """Samples of one cluster are not independent (same passage, same author), which widens the interval."""

    @property
    def is_graded(self) -> bool:
        """Whether the right answer is known."""
        return bool(self.gold or self.targets)
