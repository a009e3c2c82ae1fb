"""Keeps a number of calls under way over jobs that are pulled one by one.

The port of a backend is synchronous and pulls; sockets are best served by one event loop. The loop lives in a
thread of its own, so that it works on while the caller scores and writes, and so that it also works where
the caller's thread has a loop already, as in a notebook. Jobs are pulled in the caller's thread alone.

Knows neither prompts nor protocols: what is done with a job is the caller's.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from itertools import chain, islice
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from aiohttp import ClientSession

J = TypeVar("J")
R = TypeVar("R")
T = TypeVar("T")


def in_flight(
    jobs: Iterable[J], work: Callable[[ClientSession, J], Awaitable[R]], *, at_most: int
) -> Iterator[R]:
    """Yield what comes of each job, as they are done; the work is done on the loop's thread.

    A job is pulled only while fewer than `at_most` are under way. An error of the work is raised here; it
    ends all others, and so does closing the iterator. Without jobs nothing is started.
    """
    source = iter(jobs)
    if not (first := list(islice(source, 1))):
        return
    source = chain(first, source)
    n_under_way = 0
    with _Crew(work, at_most) as crew:
        while True:
            for job in islice(source, at_most - n_under_way):
                crew.begin(job)
                n_under_way += 1
            if not n_under_way:
                return
            yield crew.next_done()
            n_under_way -= 1


class _Crew(Generic[J, R]):
    """A thread with an event loop, an HTTP session, and the work that goes on there."""

    def __init__(self, work: Callable[[ClientSession, J], Awaitable[R]], n_connections: int) -> None:
        self._work = work
        self._n_connections = n_connections
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

        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=self._n_connections))

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
