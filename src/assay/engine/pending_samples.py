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

MOST_WAITING = 65_536
MOST_WAITING_CHARS = 64_000_000
"""Maximum samples that wait for others, and maximum characters of their prompts. Workers process at most half
of this concurrently, so workers of different speeds do not block each other."""


class PendingSample(msgspec.Struct):
    """A sample in progress."""

    task: Task
    sample: Sample
    requests: Sequence[Request]
    answers: list[Response | None]
    n_missing: int
    n_waiting_chars: int | None = None
    """The characters of its prompts, if it is complete while an earlier sample is not."""


class PendingSamples:
    """All samples in progress."""

    def __init__(self) -> None:
        self._in_progress: deque[PendingSample] = deque()
        self._n_waiting = 0
        self._n_waiting_chars = 0

    def begin(self, task: Task, sample: Sample, requests: Sequence[Request]) -> PendingSample:
        """Add a sample after all others."""
        pending = PendingSample(task, sample, requests, [None] * len(requests), len(requests))
        self._in_progress.append(pending)
        return pending

    def add_answer(self, pending: PendingSample, index: int, response: Response) -> bool:
        """Add an answer; return whether it was the last one of its sample."""
        pending.answers[index] = response
        pending.n_missing -= 1
        if pending.n_missing:
            return False
        if pending is not self._in_progress[0]:
            pending.n_waiting_chars = sum([count_chars(request.ask.prompt) for request in pending.requests])
            self._n_waiting += 1
            self._n_waiting_chars += pending.n_waiting_chars
        return True

    @property
    def is_backlog_full(self) -> bool:
        """Whether too many samples wait for the first one to start another."""
        return self._n_waiting >= MOST_WAITING or self._n_waiting_chars >= MOST_WAITING_CHARS

    @property
    def has_completed(self) -> bool:
        """Whether the first sample is complete."""
        return bool(self._in_progress) and not self._in_progress[0].n_missing

    def pop_completed(self) -> Iterator[PendingSample]:
        """Yield the completed samples up to the first incomplete one."""
        under_way = self._in_progress
        while under_way and not under_way[0].n_missing:
            pending = under_way.popleft()
            if pending.n_waiting_chars is not None:
                self._n_waiting -= 1
                self._n_waiting_chars -= pending.n_waiting_chars
            yield pending
