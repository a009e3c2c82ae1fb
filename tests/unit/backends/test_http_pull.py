"""Calls under way over jobs that are pulled: how many, and how far ahead."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from assay.backends import http_pull
from assay.backends.concurrency import FixedLevel, Level
from assay.backends.http_pull import in_flight


class Pulled:
    """Endless jobs, counted."""

    def __init__(self) -> None:
        self.n = 0

    def __iter__(self) -> Iterator[int]:
        while True:
            self.n += 1
            yield self.n - 1


def test_a_job_that_is_stuck_does_not_let_the_others_run_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are put in order by who asked: it would hold all that comes after the one that is stuck."""
    monkeypatch.setattr(http_pull, "LOOK_AHEAD", 300)
    pulled, is_free = Pulled(), threading.Event()

    async def work(session: Any, job: int) -> int:
        if job == 5:
            await asyncio.to_thread(is_free.wait)
        return job

    results = in_flight(pulled, work, url="http://127.0.0.1:9", level=FixedLevel(4))
    before = [next(results) for _ in range(304)]
    assert 5 not in before
    assert pulled.n == 305, "five before the one that is stuck, itself, and 299 after it"
    is_free.set()
    assert next(results) == 5, "nothing else is under way"
    after = [next(results) for _ in range(1_000)]
    assert len({*before, 5, *after}) == 1_305
    results.close()  # type: ignore[attr-defined]


def test_the_level_decides_how_many_are_under_way() -> None:
    most = now = 0

    class Steps(Level):
        def done(self, now: float, seconds: float, n_tokens: int) -> None:
            raise AssertionError("whoever works tells the level")

    level = Steps(2)

    async def work(session: Any, job: int) -> int:
        nonlocal most, now
        now += 1
        most = max(most, now)
        for _ in range(3):
            await asyncio.sleep(0)
        now -= 1
        return job

    pulled = Pulled()
    results = in_flight(pulled, work, url="http://127.0.0.1:9", level=level)
    for _ in range(50):
        next(results)
    assert most == 2
    assert pulled.n <= 50 + 2
    level._limit = 9
    for _ in range(50):
        next(results)
    assert most == 9
    level._limit = 1
    for _ in range(9):
        next(results)
    n_before = pulled.n
    for _ in range(20):
        next(results)
    assert pulled.n - n_before <= 20, "those under way are let end before others begin"
    results.close()  # type: ignore[attr-defined]
