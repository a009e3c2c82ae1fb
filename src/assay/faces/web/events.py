"""Server-sent events: a page is told that what it shows has changed, and asks for it itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from litestar.response import Stream

from assay.core.errors import AssayError
from assay.faces.web.error_responses import HttpError, stream_limit_error

_LOOK_EVERY_S = 0.5
_SIGN_EVERY_S = 15.0
"""A connection that says nothing for long is cut by what lies between."""
_MOST = 128
GONE = b"event: gone\ndata: \n\n"
"""Tells that what was watched is not there any more."""


class StreamUpdate(NamedTuple):
    """What a stream has to tell now."""

    message: bytes | None
    """A whole event; None: nothing."""
    is_last: bool = False


class Streams:
    """The streams that are open. They end with their clients, and all of them with the server."""

    def __init__(self) -> None:
        self._ending = asyncio.Event()
        self._n = 0

    def end(self) -> None:
        """End every stream; called in the loop's own thread."""
        self._ending.set()

    def open(self, stamp: Callable[[], object]) -> Stream:
        """Return a stream with an event `changed` whenever the stamp changes, at most twice a second.

        `stamp` is called in a thread; where it raises a refusal, the stream ends with the event `gone`.
        """
        if self._n >= _MOST:
            raise stream_limit_error(_MOST)
        return Stream(self._events(stamp), media_type="text/event-stream")

    def follow(self, look: Callable[[], StreamUpdate]) -> Stream:
        """Return a stream of what `look` has to tell, asked in a thread, until nothing more will come."""
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
            # Such as a database that is away: the stream ends, and the browser asks for it again.
            return
        finally:
            self._n -= 1

    async def _events(self, stamp: Callable[[], object]) -> AsyncIterator[bytes]:
        self._n += 1
        try:
            seen = await asyncio.to_thread(stamp)
            # Sent after the first look: what a page fetches from now on is not older than that.
            # The number says how soon the browser tries again when the server is gone.
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
            # As above: the stream ends, and the browser asks for it again.
            return
        finally:
            self._n -= 1

    async def _ends_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._ending.wait(), seconds)
        except TimeoutError:
            return False
        return True
