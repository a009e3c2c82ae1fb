"""Servers and a client in simulated time: what a level of concurrency brings, at no cost of time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from random import Random
from typing import NamedTuple

from assay.backends.http.concurrency import Level
from assay.backends.http.post import LONGEST_WAIT_S

Server = Callable[[float, int], float | None]
"""(now, calls under way with this one) -> seconds that it takes; None: refused."""


def slots(n_slots: int, each_s: float, stretch: Callable[[], float] = lambda: 1.0) -> Server:
    """Serve so many calls at a time; the others wait their turn."""
    free = [0.0] * n_slots

    def server(now: float, n_under_way: int) -> float:
        ends = max(now, heapq.heappop(free)) + each_s * stretch()
        heapq.heappush(free, ends)
        return ends - now

    return server


def shared(half_at: int, alone_s: float, stretch: Callable[[], float] = lambda: 1.0) -> Server:
    """Serve all calls at once, each the slower the more there are: `half_at` calls bring half of the most."""
    return lambda now, n_under_way: alone_s * (1 + (n_under_way - 1) / half_at) * stretch()


def refusing(
    beyond: Callable[[float], int], each_s: float, stretch: Callable[[], float] = lambda: 1.0
) -> Server:
    """Refuse calls beyond a number, which may depend on the time."""
    return lambda now, n_under_way: each_s * stretch() if n_under_way <= beyond(now) else None


class Course(NamedTuple):
    """How a run went."""

    at: list[float]
    """When each call was answered."""
    limits: list[int]
    """The level then."""
    n_refused: int

    def rate(self, first: int = 0, last: int = -1) -> float:
        """Return calls per second from one answer to another."""
        return len(self.at[first:last]) / (self.at[last] - self.at[first])


def course(
    level: Level, server: Server, n_calls: int, *, tokens: Callable[[float], int] = lambda seconds: 0
) -> Course:
    """Make calls as a client does: as many as the level allows; a refused one keeps its place and waits."""
    jitter = Random(0)
    number = count()
    events: list[tuple[float, int, float | None, int]] = []
    now, n_under_way, n_served, n_refused = 0.0, 0, 0, 0
    at: list[float] = []
    limits: list[int] = []

    def ask(attempt: int = 0) -> None:
        nonlocal n_served, n_refused
        seconds = server(now, n_served + 1)
        if seconds is None:
            n_refused += 1
            level.record_rejection(now)
            wait_s = min(2**attempt, LONGEST_WAIT_S) * jitter.uniform(0.5, 1)
            heapq.heappush(events, (now + wait_s, next(number), None, attempt + 1))
        else:
            n_served += 1
            heapq.heappush(events, (now + seconds, next(number), seconds, attempt))

    while len(at) < n_calls:
        while n_under_way < level.limit:
            n_under_way += 1
            ask()
        now, _, seconds, attempt = heapq.heappop(events)
        if seconds is None:
            ask(attempt)
            continue
        n_served -= 1
        n_under_way -= 1
        at.append(now)
        level.record_answer(now, seconds, tokens(seconds))
        limits.append(level.limit)
    return Course(at, limits, n_refused)
