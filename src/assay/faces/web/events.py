"""Server-sent events: they notify a page of changes, and the page fetches the data itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from litestar.response import Stream

from assay.core.errors import AssayError
from assay.faces.web.error_responses import HttpError, stream_limit_error

_LOOK_EVERY_S = 0.5
_SIGN_EVERY_S = 15.0
"""Proxies close connections that are silent for long."""
_MOST = 128
GONE = b"event: gone\ndata: \n\n"
"""The watched resource no longer exists."""


class StreamUpdate(NamedTuple):
    """The next message of a stream."""

    message: bytes | None
    """A complete event; None without news."""
    is_last: bool = False


class Streams:
    """The open streams. They end with their clients, and all of them with the server."""

    def __init__(self) -> None:
        self._ending = asyncio.Event()
        self._n = 0

    def end(self) -> None:
        """End every stream; call it in the thread of the event loop."""
        self._ending.set()

    def open(self, stamp: Callable[[], object]) -> Stream:
        """Return a stream with an event `changed` whenever the stamp changes, at most twice a second.

        `stamp` is called in a thread; if it raises HttpError, the stream ends with the event `gone`.
        """
        if self._n >= _MOST:
            raise stream_limit_error(_MOST)
        return Stream(self._events(stamp), media_type="text/event-stream")

    def follow(self, look: Callable[[], StreamUpdate]) -> Stream:
        """Return a stream of the updates of `look`, called in a thread, until the last one."""
        if self._n >= _MOST:
            raise stream_limit_error(_MOST)
        return Stream(self._news(look), media_type="text/event-stream")

    async def _news(self, look: Callable[[], StreamUpdate]) -> AsyncIterator[bytes]:
        self._n += 1
        try:
            yield b"retry: 2000\n\n"
            silent_s = 0.0
            while True:
                news = await asyncio.to_thread(look)
                if news.message is not None:
                    yield news.message
                    silent_s = 0.0
                elif silent_s >= _SIGN_EVERY_S:
                    yield b": still here\n\n"
                    silent_s = 0.0
                if news.is_last or await self._ends_within(_LOOK_EVERY_S):
                    return
                silent_s += _LOOK_EVERY_S
        except AssayError:
            # For example the database is not available: the stream ends, and the browser reconnects.
            return
        finally:
            self._n -= 1

    async def _events(self, stamp: Callable[[], object]) -> AsyncIterator[bytes]:
        self._n += 1
        try:
            seen = await asyncio.to_thread(stamp)
            # Sent after the first stamp, so that a page fetches nothing older from now on. The number is
            # the delay in ms before the browser reconnects.
            yield b"retry: 2000\n\n"
            silent_s = 0.0
            while not await self._ends_within(_LOOK_EVERY_S):
                now = await asyncio.to_thread(stamp)
                silent_s += _LOOK_EVERY_S
                if now != seen:
                    yield b"event: changed\ndata: \n\n"
                elif silent_s >= _SIGN_EVERY_S:
                    yield b": still here\n\n"
                else:
                    continue
                seen, silent_s = now, 0.0
        except HttpError:
            yield GONE
        except AssayError:
            # As above: the stream ends, and the browser reconnects.
            return
        finally:
            self._n -= 1

    async def _ends_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._ending.wait(), seconds)
        except TimeoutError:
            return False
        return True
