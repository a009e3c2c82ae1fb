"""A limit on slow work, such as checking a dataset, so that fast requests do not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from assay.core.errors import Problem, UsageError

_AT_A_TIME = 2
_MOST = 32

T = TypeVar("T")


class SlowWork:
    """Runs slow work with limited concurrency; rejects requests if too many wait."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_A_TIME)
        self._n = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Run a function in a thread when its turn comes; return its result."""
        if self._n >= _MOST:
            what = f"{self._n} requests are already waiting for checks of datasets or models"
            raise UsageError(Problem("TEAM-065", what, "try again later"))
        self._n += 1
        try:
            async with self._turns:
                return await asyncio.to_thread(work)
        finally:
            self._n -= 1
