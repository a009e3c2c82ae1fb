"""Keeps an engine full: jobs wait here, and the engine has as many at a time as it computes together.

A job may have others that follow it; they are next, while the engine still has what they begin with.
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
"""How many jobs the engine has, of those it computes together: who leaves is followed at once."""


_NUMBERS = count(1)
"""Never the same twice: an engine may outlive the flow that asked it."""


class Job(Protocol):
    """An ask, and what becomes of its answer."""

    @property
    def ask(self) -> EngineAsk:
        """Return what is asked."""

    def take(self, answer: EngineAnswer, seconds: float) -> Sequence[Job]:
        """Take the answer and the time it took; return the jobs that follow."""

    def reject(self, why: str) -> None:
        """Take that there will be no answer."""


class _Running(NamedTuple):
    job: Job
    began: float
    """What the clock of shares said."""


class EngineQueue:
    """Jobs on their way through an engine."""

    def __init__(self, engine: TokenEngine, counters: Counters) -> None:
        self._engine = engine
        self._counters = counters
        self._waiting: deque[Job] = deque()
        self._running: dict[int, _Running] = {}
        self._clock = 0.0
        """Counts the seconds of each step, shared by all jobs that were in the engine then."""

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is to be done."""
        return not self._waiting and not self._running

    @property
    def wants_more(self) -> bool:
        """Return whether fewer jobs wait than the engine could begin with."""
        return len(self._waiting) < self._engine.max_sequences

    def add(self, jobs: Iterable[Job]) -> None:
        """Let jobs wait behind the others."""
        self._waiting.extend(jobs)

    def step(self) -> list[Job]:
        """Let the engine compute once; return the jobs that are done."""
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
        """Let the engine drop what it still has: nobody waits for it."""
        if self._running:
            self._engine.drop(list(self._running))
        self._running.clear()
        self._waiting.clear()

    def _fill(self) -> list[Job]:
        """Give the engine what it has room for; return jobs that it refuses."""
        refused: list[Job] = []
        while self._waiting and len(self._running) < self._engine.max_sequences * AHEAD:
            job = self._waiting.popleft()
            number = next(_NUMBERS)
            try:
                self._engine.add(number, job.ask)
            except AskRejected as why:
                job.reject(str(why))
                refused.append(job)
            else:
                self._running[number] = _Running(job, self._clock)
        return refused

    def _count(self, ask: EngineAsk, answer: EngineAnswer) -> None:
        written = len(answer.ids) if isinstance(answer, WriteAnswer) else 0
        self._counters.generated_tokens += written
        # The last token that is written is not read any more.
        self._counters.forward_tokens += len(ask.prompt) - answer.n_cached + max(0, written - 1)
