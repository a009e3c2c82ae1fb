"""Serving on the loopback from a thread of its own, as long as a block lasts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aiohttp import web


class Loopback:
    """A server that can go and come back at the same port."""

    def __init__(self, make_app: Callable[[], web.Application]) -> None:
        self._make_app = make_app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._runner: web.AppRunner | None = None
        self._port = 0

    @property
    def address(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Listen: at first at a free port, later at that one again."""
        self._runner = asyncio.run_coroutine_threadsafe(self._listening(), self._loop).result()
        self._port = self._runner.addresses[0][1]

    def stop(self) -> None:
        """Break all connections, and take none any more."""
        if self._runner is not None:
            asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
            self._runner = None

    def close(self) -> None:
        """Stop for good."""
        self.stop()
        asyncio.run_coroutine_threadsafe(self._end_all(), self._loop).result()
        asyncio.run_coroutine_threadsafe(self._loop.shutdown_default_executor(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end_all(self) -> None:
        """End what still works for clients that are gone."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _listening(self) -> web.AppRunner:
        runner = web.AppRunner(self._make_app(), shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self._port).start()
        return runner


@contextmanager
def on_loopback(app: web.Application) -> Iterator[str]:
    """Serve at a free port; yield the address without a path."""
    loopback = Loopback(lambda: app)
    try:
        loopback.start()
        yield loopback.address
    finally:
        loopback.close()
