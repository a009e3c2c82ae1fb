"""How much of a dataset is evaluated: a seeded sample that only grows when the limit does, or the first N."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable

import msgspec

from assay.core.errors import Problem, UsageError
from assay.core.ids import rank


class Limit(msgspec.Struct, frozen=True):
    """How many samples, and which."""

    n: int
    is_first: bool = False

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Read `100` (a seeded sample) or `first:100`."""
        match = re.fullmatch(r"(first:)?(\d+)", text.strip())
        if match is None or int(match[2]) == 0:
            raise UsageError(
                Problem(
                    "USAGE-002",
                    f"--limit: found {text!r}, expected a number of samples above 0",
                    "write --limit 100 for a seeded sample, or --limit first:100",
                )
            )
        return cls(int(match[2]), match[1] is not None)

    def chosen(self, ids: Iterable[str], seed: int) -> frozenset[str]:
        """Return which samples are in, by rank: it does not depend on order, and a larger limit keeps all
        of a smaller one.
        """
        ranked = ((rank(seed, sample_id), sample_id) for sample_id in ids)
        return frozenset(sample_id for _, sample_id in heapq.nsmallest(self.n, ranked))
