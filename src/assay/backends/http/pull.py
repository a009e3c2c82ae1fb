"""Keeps a number of calls under way over jobs that are pulled one by one.

The port of a backend is synchronous and pulls; sockets are best served by one event loop. The loop lives in a
thread of its own, so that it works on while the caller scores and writes, and so that it also works where
the caller's thread has a loop already, as in a notebook. Jobs are pulled in the caller's thread alone.

Knows neither prompts nor protocols: what is done with a job is the caller's.
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
from assay.backends.http.event_loop import new_event_loop

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient

J = TypeVar("J")
R = TypeVar("R")
T = TypeVar("T")


LOOK_AHEAD = 10_000
LOOK_AHEAD_ROUNDS = 64
"""Jobs pulled since the oldest one under way: so many, or so many times those that may be under way."""


class CompletionState:
    """What `in_flight` has at hand, for who wants to know while it goes on."""

    has_more = False
    """Whether another job is done already."""


def run_concurrently(
    jobs: Iterable[J],
    work: Callable[[HttpClient, J], Coroutine[Any, Any, R]],
    *,
    url: str,
    level: Level,
    ended: CompletionState | None = None,
) -> Iterator[R]:
    """Yield what comes of each job, as they are done; the work is done on the loop's thread.

    A job is pulled only while fewer are under way than the level says, and while the oldest of those is not
    far behind: who puts results in order holds all that came after it. An error of the work is raised here;
    it ends all others, and so does closing the iterator. Without jobs nothing is started.
    """
    ended = ended or CompletionState()
    source = iter(jobs)
    if not (first := list(islice(source, 1))):
        return
    jobs_by_number = enumerate(chain(first, source))
    under_way = _PendingNumbers()
    with _LoopThread(work, url) as crew:
        while True:
            # All that are done at once are given away before more is pulled: each hand-over between the
            # threads costs as much as a call.
            begun = list(islice(jobs_by_number, _count_free_places(under_way, level.limit)))
            under_way.begin(len(begun))
            if not len(under_way):
                return
            crew.begin(begun)
            together = crew.wait_for_done()
            for place, (number, done) in enumerate(together, 1):
                under_way.end(number)
                ended.has_more = place < len(together)
                yield done.result()


def _count_free_places(under_way: _PendingNumbers, limit: int) -> int:
    """Return how many jobs may be pulled."""
    ahead = max(LOOK_AHEAD, LOOK_AHEAD_ROUNDS * limit)
    return max(0, min(limit - len(under_way), ahead - under_way.reach))


class _PendingNumbers:
    """The numbers of the jobs under way; they begin in order and end in any."""

    def __init__(self) -> None:
        self._n_begun = 0
        self._oldest = 0
        self._ended: set[int] = set()
        """Those after the oldest under way."""

    def __len__(self) -> int:
        return self._n_begun - self._oldest - len(self._ended)

    @property
    def reach(self) -> int:
        """Return how many have begun since the oldest under way, itself with them."""
        return self._n_begun - self._oldest

    def begin(self, n_jobs: int) -> None:
        """Take the next numbers."""
        self._n_begun += n_jobs

    def end(self, number: int) -> None:
        """Let a number go."""
        self._ended.add(number)
        while self._oldest in self._ended:
            self._ended.remove(self._oldest)
            self._oldest += 1


class _LoopThread(Generic[J, R]):
    """A thread with an event loop, an HTTP client, and the work that goes on there."""

    def __init__(self, work: Callable[[HttpClient, J], Coroutine[Any, Any, R]], url: str) -> None:
        self._work = work
        self._url = url
        self._loop = new_event_loop()
        self._tasks: dict[asyncio.Future[R], int] = {}
        """What is under way, with the number of its job."""
        self._done: list[tuple[int, asyncio.Future[R]]] = []
        self._handed_over: SimpleQueue[list[tuple[int, asyncio.Future[R]]]] = SimpleQueue()
        # A daemon: a process that is told to end does not wait for a server.
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
            # The error that ends the process kept the calls alive, and their thread stands still by now.
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
        """Wait until something is done, and return all that is, by the numbers of the jobs."""
        return self._handed_over.get()

    def _run_on_loop(self, doing: Coroutine[Any, Any, T]) -> T:
        """Do something on the loop's thread and wait for it."""
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result()

    async def _close(self) -> None:
        # What calls that end here leave behind, as the look-up of a name, nobody needs to hear of.
        self._loop.set_exception_handler(lambda loop, context: None)
        under_way = list(self._tasks)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._client.__aexit__()

    def _start(self, jobs: list[tuple[int, J]]) -> None:
        for number, job in jobs:
            task = self._loop.create_task(self._work(self._client, job))
            self._tasks[task] = number
            task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Future[R]) -> None:
        number = self._tasks.pop(task)
        if task.cancelled():
            return
        task.exception()  # Looked at here: of several errors one is raised, the others are not logged.
        if not self._done:
            # Behind what else this round of the loop completes.
            self._loop.call_soon(self._hand_over)
        self._done.append((number, task))

    def _hand_over(self) -> None:
        done, self._done = self._done, []
        self._handed_over.put(done)
