"""Evaluating a part of a dataset: a seeded sample that only grows when the limit does, or the first N."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from assay.core.errors import Problem, UsageError
from assay.core.ids import rank
from assay.core.request import Kind, Request
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, Scorer, Task, TaskSpec


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


class LimitedTask:
    """A task cut down to some of its samples."""

    def __init__(self, task: Task, limit: Limit, seed: int) -> None:
        self._task = task
        self._limit = limit
        self._ids: frozenset[str] | None = None
        if not limit.is_first:
            # Samples are ranked by (seed, id): which ones are in does not depend on order, and a larger
            # limit keeps all of a smaller one.
            ranked = ((rank(seed, sample.id), sample.id) for sample in task.samples())
            self._ids = frozenset(sample_id for _, sample_id in heapq.nsmallest(limit.n, ranked))
        spec = task.spec
        self._spec = msgspec.structs.replace(
            spec,
            n_samples=min(spec.n_samples, limit.n),
            settings={**spec.settings, "limit": msgspec.to_builtins(limit), "limit_seed": seed},
        )

    @property
    def spec(self) -> TaskSpec:
        """Return what the manifest records, the limit included."""
        return self._spec

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the kinds of ask it will make."""
        return self._task.kinds

    def samples(self) -> Iterator[Sample]:
        """Yield the chosen samples in the dataset's order."""
        if self._ids is None:
            return islice(self._task.samples(), self._limit.n)
        chosen = self._ids
        return (sample for sample in self._task.samples() if sample.id in chosen)

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return what to ask about a sample."""
        return self._task.requests(sample, shots=shots)

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Return how its tracks are scored."""
        return self._task.scorers()
