"""Samples on their way, in the dataset's order. They land in that order too, so that one may hold up others.

How much is held behind one sample that waits for its answer is bounded: a call that hangs, or one answer that
is owed among a million that are known, must not fill memory with all that came after it.
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
"""Samples that wait for others to land, and the characters of their prompts. Workers have at most half of it
under way at once, so that some are quicker than others holds up nobody."""


class PendingSample(msgspec.Struct):
    """A sample on its way."""

    task: Task
    sample: Sample
    requests: Sequence[Request]
    answers: list[Response | None]
    n_owed: int
    n_held_chars: int | None = None
    """The characters of its prompts, if it is complete and one before it was not."""


class PendingSamples:
    """All samples that are on their way."""

    def __init__(self) -> None:
        self._under_way: deque[PendingSample] = deque()
        self._n_held = 0
        self._n_held_chars = 0

    def begin(self, task: Task, sample: Sample, requests: Sequence[Request]) -> PendingSample:
        """Take a sample, behind all others."""
        flight = PendingSample(task, sample, requests, [None] * len(requests), len(requests))
        self._under_way.append(flight)
        return flight

    def answered(self, flight: PendingSample, index: int, response: Response) -> bool:
        """Take an answer; return whether it was the last of its sample."""
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
        """Whether so much waits for the first of them that nothing should be begun before it lands."""
        return self._n_held >= MOST_HELD or self._n_held_chars >= MOST_HELD_CHARS

    @property
    def has_completed(self) -> bool:
        """Whether the first of them is complete."""
        return bool(self._under_way) and not self._under_way[0].n_owed

    def landed(self) -> Iterator[PendingSample]:
        """Yield the samples that are complete, up to the first that is not."""
        under_way = self._under_way
        while under_way and not under_way[0].n_owed:
            flight = under_way.popleft()
            if flight.n_held_chars is not None:
                self._n_held -= 1
                self._n_held_chars -= flight.n_held_chars
            yield flight
