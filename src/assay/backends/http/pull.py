"""Runs a number of concurrent calls over jobs that are pulled one by one.

A backend's port is synchronous and pulls requests; sockets are best served by one event loop. The loop has
its own thread. So it continues while the caller scores and writes, and it also works if the caller's thread
already has a loop, as in a notebook. Jobs are pulled only in the caller's thread.

Knows neither prompts nor protocols: the caller defines the work on a job.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from itertools import chain, islice
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.backends.http.concurrency import Level

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new loop. uvloop does not exist for Windows."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


J = TypeVar("J")
R = TypeVar("R")
T = TypeVar("T")


LOOK_AHEAD = 10_000
LOOK_AHEAD_ROUNDS = 64
"""Limits on the jobs pulled since the oldest unfinished one: this many, or this many times the level."""


class CompletionState:
    """State of `run_concurrently`, for callers that read it while it runs."""

    has_more = False
    """Whether another job has already finished."""


def run_concurrently(
    jobs: Iterable[J],
    work: Callable[[HttpClient, J], Coroutine[Any, Any, R]],
    *,
    url: str,
    level: Level,
    ended: CompletionState | None = None,
) -> Iterator[R]:
    """Yield the result of each job as it finishes; the work runs on the loop's thread.

    Pulls a job only while fewer jobs than the level are in progress and the oldest of them is not far
    behind: a caller that orders results must keep all later ones in memory. Raises an error of the work,
    which cancels all other jobs, as does closing the iterator. Without jobs, nothing is started.
    """
    ended = ended or CompletionState()
    source = iter(jobs)
    if not (first := list(islice(source, 1))):
        return
    jobs_by_number = enumerate(chain(first, source))
    pending = _PendingNumbers()
    with _LoopThread(work, url) as crew:
        while True:
            # Yield all finished jobs before pulling more: each hand-over between the threads costs as much
            # as a call.
            begun = list(islice(jobs_by_number, _count_free_slots(pending, level.limit)))
            pending.begin(len(begun))
            if not len(pending):
                return
            crew.begin(begun)
            together = crew.wait_for_done()
            for place, (number, done) in enumerate(together, 1):
                pending.end(number)
                ended.has_more = place < len(together)
                yield done.result()


def _count_free_slots(pending: _PendingNumbers, limit: int) -> int:
    """Return how many jobs may be pulled."""
    ahead = max(LOOK_AHEAD, LOOK_AHEAD_ROUNDS * limit)
    return max(0, min(limit - len(pending), ahead - pending.reach))


class _PendingNumbers:
    """The numbers of the jobs in progress; they begin in order and end in any order."""

    def __init__(self) -> None:
        self._n_begun = 0
        self._oldest = 0
        self._ended: set[int] = set()
        """Finished numbers after the oldest one in progress."""

    def __len__(self) -> int:
        return self._n_begun - self._oldest - len(self._ended)

    @property
    def reach(self) -> int:
        """Return how many jobs have begun since the oldest one in progress, including it."""
        return self._n_begun - self._oldest

    def begin(self, n_jobs: int) -> None:
        """Add the next numbers."""
        self._n_begun += n_jobs

    def end(self, number: int) -> None:
        """Remove a number."""
        self._ended.add(number)
        while self._oldest in self._ended:
            self._ended.remove(self._oldest)
            self._oldest += 1


class _LoopThread(Generic[J, R]):
    """A thread with an event loop, an HTTP client, and the work that runs there."""

    def __init__(self, work: Callable[[HttpClient, J], Coroutine[Any, Any, R]], url: str) -> None:
        self._work = work
        self._url = url
        self._loop = new_event_loop()
        self._tasks: dict[asyncio.Future[R], int] = {}
        """Tasks in progress, with the numbers of their jobs."""
        self._done: list[tuple[int, asyncio.Future[R]]] = []
        self._handed_over: SimpleQueue[list[tuple[int, asyncio.Future[R]]]] = SimpleQueue()
        # A daemon thread: a process that is asked to end does not wait for a server.
        self._thread = threading.Thread(target=self._loop.run_forever, name="assay-http", daemon=True)

    def __enter__(self) -> _LoopThread[J, R]:
        from assay.backends.http.client import HttpClient

        self._thread.start()
        self._client = HttpClient(self._url)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if sys.is_finalizing():
            # The error that ends the process kept the calls alive, and their thread has stopped by now.
            return
        self._run_on_loop(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def begin(self, jobs: list[tuple[int, J]]) -> None:
        """Start the work on some jobs, each with its number."""
        if jobs:
            self._loop.call_soon_threadsafe(self._start, jobs)

    def wait_for_done(self) -> list[tuple[int, asyncio.Future[R]]]:
        """Wait until a job finishes, and return all finished ones with their numbers."""
        return self._handed_over.get()

    def _run_on_loop(self, doing: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop's thread and wait for it."""
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result()

    async def _close(self) -> None:
        # Errors that cancelled calls leave behind, such as in a name lookup, concern nobody.
        self._loop.set_exception_handler(lambda loop, context: None)
        pending = list(self._tasks)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        await self._client.__aexit__()

    def _start(self, jobs: list[tuple[int, J]]) -> None:
        for number, job in jobs:
            task = self._loop.create_task(self._work(self._client, job))
            self._tasks[task] = number
            task.add_done_callback(self._finish_task)

    def _finish_task(self, task: asyncio.Future[R]) -> None:
        number = self._tasks.pop(task)
        if task.cancelled():
            return
        task.exception()  # Retrieved here: one of several errors is raised, the others are not logged.
        if not self._done:
            # After everything else that this iteration of the loop completes.
            self._loop.call_soon(self._hand_over)
        self._done.append((number, task))

    def _hand_over(self) -> None:
        done, self._done = self._done, []
        self._handed_over.put(done)
