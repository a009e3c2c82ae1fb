"""The limit on the samples to evaluate: a seeded sample, the first N or the last N."""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Literal, cast

import msgspec

from assay.core.errors import Problem, UsageError
from assay.core.ids import rank


class Limit(msgspec.Struct, frozen=True):
    """How many samples, and which."""

    n: int
    which: Literal["drawn", "first", "last"] = "drawn"

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Read `100` (a seeded sample), `first:100` or `last:100`."""
        match = re.fullmatch(r"(?:(first|last):)?(\d+)", text.strip())
        if match is None or int(match[2]) == 0:
            raise UsageError(
                Problem(
                    "USAGE-002",
                    f"--limit: found {text!r}, expected a number of samples above 0",
                    "write --limit 100 for a seeded sample, or --limit first:100, or --limit last:100",
                )
            )
        return cls(int(match[2]), cast(Literal["first", "last"], match[1]) if match[1] else "drawn")

    def is_below(self, n_samples: int) -> bool:
        """Return whether the limit excludes samples out of `n_samples`."""
        return self.n < n_samples

    def chosen(self, ids: Iterable[str], seed: int) -> frozenset[str]:
        """Return the selected samples; keeps only those in memory.

        A seeded sample is selected by rank, so it does not depend on order, and a larger limit includes all
        samples of a smaller one.
        """
        if self.which == "first":
            return frozenset(islice(ids, self.n))
        if self.which == "last":
            return frozenset(deque(ids, maxlen=self.n))
        ranked = ((rank(seed, sample_id), sample_id) for sample_id in ids)
        return frozenset(sample_id for _, sample_id in heapq.nsmallest(self.n, ranked))
