"""How often something may be done beside a run, so that the run hardly notices."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

SHARE = 0.004
"""Of the run's time, what looking at it may take, and drawing as much again: less than a hundredth in all."""


class Budget:
    """When a thing may be done again: so often at most, and for a small share of the time at most.

    What it takes is this thread's own computing, since a thread also waits for others.
    """

    def __init__(
        self,
        every_s: float,
        clock: Callable[[], float] = time.monotonic,
        computed: Callable[[], float] = time.thread_time,
    ) -> None:
        self.pause_s = every_s
        """How long to wait until it is done again."""
        self.next = clock()
        """When it is done again; at once, at first."""
        self._every_s = every_s
        self._clock = clock
        self._computed = computed
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = self._computed()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pause_s = max(self._every_s, (self._computed() - self._began) / SHARE)
        self.next = self._clock() + self.pause_s
