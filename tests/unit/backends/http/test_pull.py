"""Concurrent requests over pulled jobs: their number and lookahead."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from assay.backends.http import pull
from assay.backends.http.concurrency import FixedLevel, Level
from assay.backends.http.pull import run_concurrently
from fakes.openai_server import serving, small_model


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
    monkeypatch.setattr(pull, "LOOK_AHEAD", 300)
    pulled, is_free = Pulled(), threading.Event()

    async def work(session: Any, job: int) -> int:
        if job == 5:
            await asyncio.to_thread(is_free.wait)
        return job

    results = run_concurrently(pulled, work, url="http://127.0.0.1:9", level=FixedLevel(4))
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
    results = run_concurrently(pulled, work, url="http://127.0.0.1:9", level=level)
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


def test_an_error_of_the_caller_ends_the_process_though_calls_are_under_way() -> None:
    """Its traceback holds the calls until the very end, when no other thread moves any more."""
    program = (
        "import sys\n"
        "from assay.backends.openai.backend import OpenAIBackend\n"
        "from assay.core.request import Generate, Sampling, make_request\n"
        "backend = OpenAIBackend(f'm@{sys.argv[1]}', {'concurrency': '4'})\n"
        "asks = [Generate(f'text {n}', Sampling(max_tokens=8)) for n in range(50)]\n"
        "wanted = [make_request('t', str(n), 'gen', 'a', 0, ask) for n, ask in enumerate(asks)]\n"
        "def main():\n"
        "    responses = backend.run(wanted)\n"
        "    for one in responses:\n"
        "        raise OSError('no space left')\n"
        "main()\n"
    )
    with serving(small_model) as server:
        ended = subprocess.run(
            [sys.executable, "-c", program, server.url],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert "no space left" in ended.stderr
