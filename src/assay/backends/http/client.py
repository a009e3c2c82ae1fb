"""HTTP/1.1 client for one server: persistent connections, concurrent calls, replies as their bytes arrive.

A call costs an eighth of what it costs through a general client, and bytes are seen when they arrive, not
when a task wakes up. Both fast evaluation and exact timing need this (decision 009). Deliberately missing:
redirects, cookies, compression, proxies. A call sends one document and reads one reply.

Used on one event loop. Knows no protocol above HTTP and never retries, with one exception: it replaces a
connection that the server closed while it was idle, because no byte of a reply arrived on it.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import cast
from urllib.parse import urlsplit

import httptools

from assay.backends.http.exchange import (
    ChunkConsumer,
    ConnectionBroken,
    HttpReply,
    OnHead,
    ReplyStalled,
    ReplyTimeout,
    ServerUnreachable,
    TimeLimits,
)

JSON = "application/json"
CONNECT_S = 10.0
"""A server that takes longer to accept a connection counts as not reachable."""
_LONGEST_CHECK_S = 1.0
_CHECKS_IN_A_TIMEOUT = 10
_WITHOUT_BODY = {204, 304}
_OPENED_TOGETHER = 64
"""Connections opened at the same time: servers drop those that they cannot queue."""


class HttpClient:
    """A server's connections. `async with` closes them all."""

    def __init__(self, url: str) -> None:
        """Take an address; each call has its own path. Opens no connection."""
        parts = urlsplit(url)
        self._is_secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._is_secure else 80)
        self._authority = parts.netloc.rpartition("@")[2]
        self._heads: dict[tuple[str, str, str], bytes] = {}
        """Cached first lines of requests: nearly all requests of an evaluation share them."""
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()
        self._busy: set[_Connection] = set()
        self._shortest_s = float("inf")
        self._check: asyncio.TimerHandle | None = None
        self._context: ssl.SSLContext | None = None

    async def __aenter__(self) -> HttpClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._check is not None:
            self._check.cancel()
        connections = list(self._open)
        for connection in connections:
            connection.close()
        for connection in connections:
            await connection.closed

    async def connect(self, n: int, limits: TimeLimits) -> None:
        """Open connections until `n` are idle; raise ServerUnreachable if the server accepts no more."""
        missing = n - len(self._idle)
        for begin in range(0, missing, _OPENED_TOGETHER):
            opening = (self._open_connection(limits) for _ in range(min(_OPENED_TOGETHER, missing - begin)))
            self._idle += await asyncio.gather(*opening)

    async def call(
        self,
        method: str,
        path: str,
        body: bytes | None,
        limits: TimeLimits,
        *,
        headers: str = "",
        on_head: OnHead | None = None,
        content_type: str = JSON,
    ) -> HttpReply:
        """Send a document and return the complete reply, or raise HttpTrouble.

        `headers`: further header lines, each with its line end.
        """
        sent = self._request(method, path, body, headers, content_type)
        while True:
            is_used = bool(self._idle)
            connection = self._idle.pop() if is_used else await self._open_connection(limits)
            try:
                return await self._exchange(connection, sent, limits, on_head)
            except ConnectionBroken:
                if not (is_used and connection.n_received == 0):
                    raise

    async def _exchange(
        self, connection: _Connection, sent: bytes, limits: TimeLimits, on_head: OnHead | None
    ) -> HttpReply:
        waiting = connection.begin(sent, limits, on_head)
        self._busy.add(connection)
        self._watch(limits)
        try:
            reply = await waiting
        except BaseException:
            # Also if cancelled: the rest of this reply must not be read as the next one.
            connection.close()
            raise
        finally:
            self._busy.discard(connection)
        if connection.is_reusable:
            self._idle.append(connection)
        else:
            connection.close()
        return reply

    def _request(self, method: str, path: str, body: bytes | None, headers: str, content_type: str) -> bytes:
        named = (method, path, headers)
        if (head := self._heads.get(named)) is None:
            head = self._heads[named] = (
                f"{method} {path} HTTP/1.1\r\nHost: {self._authority}\r\nAccept: */*\r\n"
                "Accept-Encoding: identity\r\n"
                f"User-Agent: assay\r\n{headers}"
            ).encode("latin-1")
        if body is None:
            return head + b"\r\n"
        kind = content_type.encode("latin-1")
        return b"%bContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (head, kind, len(body), body)

    async def _open_connection(self, limits: TimeLimits) -> _Connection:
        loop = asyncio.get_running_loop()
        patience_s = min(CONNECT_S, limits.total_s)
        if self._is_secure and self._context is None:
            self._context = ssl.create_default_context()
        try:
            async with asyncio.timeout(patience_s):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self._forget), self._host, self._port, ssl=self._context
                )
        except TimeoutError:
            raise ServerUnreachable(f"no connection to {self._authority} within {patience_s:g} s") from None
        except ssl.SSLCertVerificationError as trouble:
            raise ServerUnreachable(
                f"the certificate of {self._authority} is not valid: {trouble.verify_message}"
            ) from None
        except OSError as trouble:
            raise ServerUnreachable(
                f"no connection to {self._authority}: {trouble.strerror or trouble}"
            ) from None
        self._open.add(connection)
        return connection

    def _forget(self, connection: _Connection) -> None:
        self._open.discard(connection)
        with suppress(ValueError):
            self._idle.remove(connection)

    # --- timeouts: checking all calls now and then is cheaper than one timer per call ---

    def _watch(self, limits: TimeLimits) -> None:
        self._shortest_s = min(self._shortest_s, limits.total_s, limits.idle_s or limits.total_s)
        if self._check is None:
            self._look_again()

    def _look_again(self) -> None:
        every_s = min(_LONGEST_CHECK_S, self._shortest_s / _CHECKS_IN_A_TIMEOUT)
        self._check = asyncio.get_running_loop().call_later(every_s, self._look)

    def _look(self) -> None:
        now = time.perf_counter()
        for connection in list(self._busy):
            connection.end_if_late(now)
        if self._busy:
            self._look_again()
        else:
            self._check = None


@lru_cache(maxsize=256)
def _header_name(name: bytes) -> str:
    return name.decode("latin-1").lower()


class _Connection(asyncio.Protocol):
    """One connection, and the call in progress on it."""

    def __init__(self, on_lost: Callable[[_Connection], None]) -> None:
        self._on_lost = on_lost
        self._parser = httptools.HttpResponseParser(self)
        self._waiting: asyncio.Future[HttpReply] | None = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_reusable = False
        """Whether the connection can be used for another call after the last reply."""
        self.n_received = 0
        """Bytes received in reply to the current call."""
        self._has_begun = False
        """Whether any of them belong to the body: a busy server may send the headers long before."""
        self._headers: dict[str, str] = {}
        self._content: list[bytes] = []
        self._taker: ChunkConsumer | None = None
        self._is_until_close = False

    # --- for the client ---

    def begin(self, sent: bytes, limits: TimeLimits, on_head: OnHead | None) -> asyncio.Future[HttpReply]:
        """Send a request; the future receives the reply or the error."""
        waiting = self._waiting = asyncio.get_running_loop().create_future()
        self._limits = limits
        self._on_head = on_head
        self._began = self._heard = time.perf_counter()
        self.n_received = 0
        self.is_reusable = False
        self._fresh()
        if self._transport.is_closing():
            self._fail(ConnectionBroken("the connection was closed"))
        else:
            self._transport.write(sent)
        return waiting

    def end_if_late(self, now: float) -> None:
        """End the call if it exceeds a time limit."""
        total_s, idle_s = self._limits
        if now - self._began > total_s:
            self._fail(ReplyTimeout(f"no reply within {total_s:g} s"))
        elif idle_s is not None and self._has_begun and now - self._heard > idle_s:
            self._fail(ReplyStalled(f"the reply stalled: no data for {idle_s:g} s"))

    def close(self) -> None:
        """Close at once, without sending what is still buffered."""
        self._transport.abort()

    # --- from the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's class only has the same methods.

    def data_received(self, data: bytes) -> None:
        """Parse the received bytes."""
        if self._waiting is None:
            self.close()  # No call is in progress.
            return
        self.n_received += len(data)
        self._heard = time.perf_counter()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as trouble:
            cause = trouble.__context__
            self._fail(cause if isinstance(cause, Exception) else trouble)
        except httptools.HttpParserError as trouble:
            self._fail(ConnectionBroken(f"the reply is not HTTP: {trouble}"))
        except httptools.HttpParserUpgrade:
            self._fail(ConnectionBroken("the server tries to switch to another protocol"))

    def connection_lost(self, error: Exception | None) -> None:
        """Record the end; it completes a reply without a content length."""
        if self._waiting is not None:
            if error is None and self._is_until_close:
                self._complete()
            else:
                why = f": {error}" if error is not None and str(error) else ""
                self._fail(
                    ConnectionBroken(f"the server closed the connection before the reply was complete{why}")
                )
        if not self.closed.done():
            self.closed.set_result(None)
        self._on_lost(self)

    # --- from the parser ---

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header."""
        self._headers[_header_name(name)] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Choose the consumer of the body."""
        status = self._parser.get_status_code()
        if status < 200:
            return
        has_length = "content-length" in self._headers or "transfer-encoding" in self._headers
        self._is_until_close = not has_length and status not in _WITHOUT_BODY
        self._taker = None if self._on_head is None else self._on_head(status, self._headers)

    def on_body(self, body: bytes) -> None:
        """Pass on or collect some bytes."""
        self._has_begun = True
        if self._taker is not None:
            self._taker(body, self._heard)
        else:
            self._content.append(body)

    def on_message_complete(self) -> None:
        """Complete the reply; skip informational responses (1xx)."""
        if self._parser.get_status_code() < 200:
            self._headers = {}
            return
        self.is_reusable = self._parser.should_keep_alive()
        self._complete()

    def _fresh(self) -> None:
        self._headers = {}
        self._content = []
        self._taker = None
        self._is_until_close = False
        self._has_begun = False

    def _complete(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            content = b"".join(self._content)
            status = self._parser.get_status_code()
            waiting.set_result(HttpReply(status, self._headers, content, self._heard))

    def _fail(self, trouble: Exception) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(trouble)
        self.close()
