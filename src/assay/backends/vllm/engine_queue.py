"""Keeps an engine full: jobs wait here, and the engine gets as many at a time as it computes together.

Jobs that follow a finished job come next, while the engine still has their shared prefix in its cache.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple, Protocol

from assay.backends.hf.work_counters import Counters
from assay.backends.vllm.token_engine import AskRejected, EngineAnswer, EngineAsk, TokenEngine, WriteAnswer

AHEAD = 1.25
"""Jobs in the engine, relative to those it computes together: a finished job is replaced at once."""


_NUMBERS = count(1)
"""Never used twice: an engine may outlive the queue that used it."""


class Job(Protocol):
    """A request to the engine, and the code that takes its answer."""

    @property
    def ask(self) -> EngineAsk:
        """Return the request."""

    def take(self, answer: EngineAnswer, seconds: float) -> Sequence[Job]:
        """Take the answer and its duration; return the jobs that follow."""

    def reject(self, why: str) -> None:
        """Record that there will be no answer."""


class _Running(NamedTuple):
    job: Job
    began: float
    """Value of the shared clock at its start."""


class EngineQueue:
    """Jobs in an engine, and jobs that wait for it."""

    def __init__(self, engine: TokenEngine, counters: Counters) -> None:
        self._engine = engine
        self._counters = counters
        self._waiting: deque[Job] = deque()
        self._running: dict[int, _Running] = {}
        self._clock = 0.0
        """Adds up the seconds of each step, divided by the number of jobs in the engine at the time."""

    @property
    def is_idle(self) -> bool:
        """Return whether there are no jobs left."""
        return not self._waiting and not self._running

    @property
    def wants_more(self) -> bool:
        """Return whether fewer jobs wait than the engine could start."""
        return len(self._waiting) < self._engine.max_sequences

    def add(self, jobs: Iterable[Job]) -> None:
        """Append jobs to the queue."""
        self._waiting.extend(jobs)

    def step(self) -> list[Job]:
        """Compute one step of the engine; return the finished jobs."""
        done = self._fill()
        if not self._running:
            return done
        began = time.perf_counter()
        answers = self._engine.step()
        self._clock += (time.perf_counter() - began) / len(self._running)
        self._counters.batches += 1
        following: list[Job] = []
        for number, answer in answers:
            job, entered = self._running.pop(number)
            self._count(job.ask, answer)
            following.extend(job.take(answer, self._clock - entered))
            done.append(job)
        self._waiting.extendleft(reversed(following))
        return done

    def close(self) -> None:
        """Cancel all jobs in the engine: nobody waits for them."""
        if self._running:
            self._engine.drop(list(self._running))
        self._running.clear()
        self._waiting.clear()

    def _fill(self) -> list[Job]:
        """Fill the engine up to its capacity; return jobs that it rejects."""
        rejected: list[Job] = []
        while self._waiting and len(self._running) < self._engine.max_sequences * AHEAD:
            job = self._waiting.popleft()
            number = next(_NUMBERS)
            try:
                self._engine.add(number, job.ask)
            except AskRejected as why:
                job.reject(str(why))
                rejected.append(job)
            else:
                self._running[number] = _Running(job, self._clock)
        return rejected

    def _count(self, ask: EngineAsk, answer: EngineAnswer) -> None:
        written = len(answer.ids) if isinstance(answer, WriteAnswer) else 0
        self._counters.generated_tokens += written
        # The last generated token is not read.
        self._counters.forward_tokens += len(ask.prompt) - answer.n_cached + max(0, written - 1)
