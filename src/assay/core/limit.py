"""The limit on the samples to evaluate: a seeded sample, the first N or the last N."""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Literal, TypeVar, cast

import msgspec

from assay.core.errors import Problem, UsageError
from assay.core.ids import rank

T = TypeVar("T")


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

    def select_ids(self, ids: Iterable[str], seed: int) -> frozenset[str]:
        """Return the ids of the selected samples."""
        return frozenset(self.draw(ids, seed, lambda sample_id: sample_id))

    def draw(self, items: Iterable[T], seed: int, get_id: Callable[[T], str]) -> tuple[T, ...]:
        """Return the selected items in their order; keep only those in memory.

        A seeded sample is selected by rank, so it does not depend on order, and a larger limit includes all
        items of a smaller one.
        """
        if self.which == "first":
            return tuple(islice(items, self.n))
        if self.which == "last":
            return tuple(deque(items, maxlen=self.n))
        ranked = ((rank(seed, get_id(item)), get_id(item), at, item) for at, item in enumerate(items))
        drawn = heapq.nsmallest(self.n, ranked)
        return tuple(item for *_, item in sorted(drawn, key=lambda one: one[2]))
