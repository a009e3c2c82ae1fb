"""A timed client on virtual time: it answers after a delay that the test chooses, and remembers its asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from assay.core.ports import TimedClient
from assay.core.prompt import Prompt
from assay.core.request import Generate
from assay.core.response import Completion, Failure, Finish, Output
from assay.core.timing import CallTimes, TimedCall
from fakes.virtual_time import now


class FakeTimedClient:
    """Call i takes `seconds(i)`; one whose prompt ends in `!` fails."""

    def __init__(
        self, seconds: Callable[[int], float] = lambda number: 1.0, *, before_s: float = 0.0
    ) -> None:
        self._seconds = seconds
        self._before_s = before_s
        """What the client itself wastes before it sends."""
        self.sent: list[tuple[float, Prompt]] = []
        self.asks: list[Generate] = []
        self.left_at: float | None = None
        """When nobody wanted it any longer."""
        self.n_under_way = 0
        self.levels: list[tuple[float, int]] = []
        """How many were under way, whenever that changed."""

    async def __aenter__(self) -> TimedClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self.n_under_way == 0, "left while calls were under way"
        self.left_at = now()

    async def connect(self, n: int) -> None:
        self.n_connected = n

    async def call(self, ask: Generate) -> TimedCall:
        number = len(self.sent)
        self.sent.append((now(), ask.prompt))
        self.asks.append(ask)
        self._changed(+1)
        try:
            if self._before_s:
                await asyncio.sleep(self._before_s)
            began = now()
            await asyncio.sleep(self._seconds(number))
        finally:
            self._changed(-1)
        text = ask.prompt if isinstance(ask.prompt, str) else ask.prompt[-1].text
        times = CallTimes(began, now(), text_at=(now(),))
        if text.endswith("!"):
            return TimedCall(times, Failure("injected", "asked to fail"))
        return TimedCall(times, Completion((Output(f"re:{text}", Finish.END, 3),), 7))

    def _changed(self, by: int) -> None:
        self.n_under_way += by
        self.levels.append((now(), self.n_under_way))
