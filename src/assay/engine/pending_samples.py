"""Samples in progress, in the order of the dataset. They complete in that order, so one can delay others.

The number of samples that wait for one unanswered sample is limited: a hanging call, or one missing answer
among a million stored ones, must not fill memory with everything after it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from assay.core.prompt import count_chars
from assay.core.request import Request
from assay.core.response import Response
from assay.core.sample import Sample
from assay.core.task import Task

MOST_HELD = 65_536
MOST_HELD_CHARS = 64_000_000
"""Maximum samples that wait for others, and maximum characters of their prompts. Workers process at most half
of this concurrently, so workers of different speeds do not block each other."""


class PendingSample(msgspec.Struct):
    """A sample in progress."""

    task: Task
    sample: Sample
    requests: Sequence[Request]
    answers: list[Response | None]
    n_owed: int
    n_held_chars: int | None = None
    """The characters of its prompts, if it is complete while an earlier sample is not."""


class PendingSamples:
    """All samples in progress."""

    def __init__(self) -> None:
        self._under_way: deque[PendingSample] = deque()
        self._n_held = 0
        self._n_held_chars = 0

    def begin(self, task: Task, sample: Sample, requests: Sequence[Request]) -> PendingSample:
        """Add a sample after all others."""
        flight = PendingSample(task, sample, requests, [None] * len(requests), len(requests))
        self._under_way.append(flight)
        return flight

    def answered(self, flight: PendingSample, index: int, response: Response) -> bool:
        """Add an answer; return whether it was the last one of its sample."""
        flight.answers[index] = response
        flight.n_owed -= 1
        if flight.n_owed:
            return False
        if flight is not self._under_way[0]:
            flight.n_held_chars = sum([count_chars(request.ask.prompt) for request in flight.requests])
            self._n_held += 1
            self._n_held_chars += flight.n_held_chars
        return True

    @property
    def is_backlog_full(self) -> bool:
        """Whether too many samples wait for the first one to start another."""
        return self._n_held >= MOST_HELD or self._n_held_chars >= MOST_HELD_CHARS

    @property
    def has_completed(self) -> bool:
        """Whether the first sample is complete."""
        return bool(self._under_way) and not self._under_way[0].n_owed

    def landed(self) -> Iterator[PendingSample]:
        """Yield the completed samples up to the first incomplete one."""
        under_way = self._under_way
        while under_way and not under_way[0].n_owed:
            flight = under_way.popleft()
            if flight.n_held_chars is not None:
                self._n_held -= 1
                self._n_held_chars -= flight.n_held_chars
            yield flight
