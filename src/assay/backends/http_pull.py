"""Keeps a number of calls under way over jobs that are pulled one by one.

The port of a backend is synchronous and pulls; sockets are best served by one event loop. The loop lives in a
thread of its own, so that it works on while the caller scores and writes, and so that it also works where
the caller's thread has a loop already, as in a notebook. Jobs are pulled in the caller's thread alone.

Knows neither prompts nor protocols: what is done with a job is the caller's.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from itertools import chain, islice
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.backends.concurrency import Level

if TYPE_CHECKING:
    from aiohttp import ClientSession

J = TypeVar("J")
R = TypeVar("R")
T = TypeVar("T")


LOOK_AHEAD = 10_000
LOOK_AHEAD_ROUNDS = 64
"""Jobs pulled since the oldest one under way: so many, or so many times those that may be under way."""


SPARE_FILES = 128
"""What a process opens beside connections."""


def most_connections() -> int:
    """Return how many connections this process may have open."""
    n_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if n_files == resource.RLIM_INFINITY else max(1, n_files - SPARE_FILES)


def in_flight(
    jobs: Iterable[J], work: Callable[[ClientSession, J], Awaitable[R]], *, level: Level
) -> Iterator[R]:
    """Yield what comes of each job, as they are done; the work is done on the loop's thread.

    A job is pulled only while fewer are under way than the level says, and while the oldest of those is not
    far behind: who puts results in order holds all that came after it. An error of the work is raised here;
    it ends all others, and so does closing the iterator. Without jobs nothing is started.
    """
    source = iter(jobs)
    if not (first := list(islice(source, 1))):
        return
    numbered_jobs = enumerate(chain(first, source))

    async def numbered(session: ClientSession, job: tuple[int, J]) -> tuple[int, R]:
        return job[0], await work(session, job[1])

    under_way = _Numbers()
    with _Crew(numbered) as crew:
        while True:
            for job in islice(numbered_jobs, _room(under_way, level.limit)):
                crew.begin(job)
                under_way.begin()
            if not len(under_way):
                return
            number, result = crew.next_done()
            under_way.end(number)
            yield result


def _room(under_way: _Numbers, limit: int) -> int:
    """Return how many jobs may be pulled."""
    ahead = max(LOOK_AHEAD, LOOK_AHEAD_ROUNDS * limit)
    return max(0, min(limit - len(under_way), ahead - under_way.reach))


class _Numbers:
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

    def begin(self) -> None:
        """Take the next number."""
        self._n_begun += 1

    def end(self, number: int) -> None:
        """Let a number go."""
        self._ended.add(number)
        while self._oldest in self._ended:
            self._ended.remove(self._oldest)
            self._oldest += 1


class _Crew(Generic[J, R]):
    """A thread with an event loop, an HTTP session, and the work that goes on there."""

    def __init__(self, work: Callable[[ClientSession, J], Awaitable[R]]) -> None:
        self._work = work
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Future[R]] = set()
        self._done: SimpleQueue[asyncio.Future[R]] = SimpleQueue()
        # A daemon: a process that is told to end does not wait for a server.
        self._thread = threading.Thread(target=self._loop.run_forever, name="assay-http", daemon=True)

    def __enter__(self) -> _Crew[J, R]:
        self._thread.start()
        self._session = self._there(self._open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._there(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def begin(self, job: J) -> None:
        """Start the work on a job."""
        self._loop.call_soon_threadsafe(self._start, job)

    def next_done(self) -> R:
        """Wait for the next job that is done, and return or raise what came of it."""
        return self._done.get().result()

    def _there(self, doing: Coroutine[Any, Any, T]) -> T:
        """Do something on the loop's thread and wait for it."""
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result()

    async def _open(self) -> ClientSession:
        import aiohttp

        # As many connections as calls: who begins them keeps count.
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def _close(self) -> None:
        under_way = list(self._tasks)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._session.close()

    def _start(self, job: J) -> None:
        task = asyncio.ensure_future(self._work(self._session, job), loop=self._loop)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Future[R]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # Looked at here: of several errors one is raised, the others are not logged.
            self._done.put(task)
