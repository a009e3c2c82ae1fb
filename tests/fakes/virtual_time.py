"""An event loop on which waiting takes no time: its clock jumps to the next timer when nothing is ready."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """Looks at sockets without waiting for them; the time that it was to wait is over at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None and not (found := super().select(0)):
            raise AssertionError("every task waits for something that will never come")
        if timeout is not None:
            self.now += max(timeout, 0.0)
            found = super().select(0)
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time is 0 at first, and goes on only while everybody waits."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run_virtually(doing: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a loop of its own, at once, however long it waits."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(doing)


def now() -> float:
    """Return the time of the loop that runs."""
    return asyncio.get_running_loop().time()
