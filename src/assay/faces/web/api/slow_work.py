"""What takes long, such as a look at a whole dataset: a few at a time, so that quick answers do not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from assay.core.errors import Problem, UsageError

_AT_A_TIME = 2
_MOST = 32

T = TypeVar("T")


class SlowWork:
    """The slow work of a server. Bounded: who comes when too many wait is sent away."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_A_TIME)
        self._n = 0

    async def done(self, work: Callable[[], T]) -> T:
        """Do something in a thread when its turn comes, and return what came out."""
        if self._n >= _MOST:
            what = f"{self._n} requests wait already for looks at datasets or models"
            raise UsageError(Problem("TEAM-065", what, "ask again in a while"))
        self._n += 1
        try:
            async with self._turns:
                return await asyncio.to_thread(work)
        finally:
            self._n -= 1
