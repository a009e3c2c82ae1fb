"""A running server: one process, bounds on what clients may do to it, and an end without noise."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import h11
import uvicorn
from litestar.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.core.errors import Problem, UsageError

_HEAD_BYTES = 32 << 10
_HEAD_S = 10.0
"""How long a client may take to say what it wants."""
_UNREAD_S = 60.0
"""How long a client may leave an answer unread that does not fit into the buffers between."""
_KEEP_ALIVE_S = 15
_MOST_CONNECTIONS = 1000
_LAST_ANSWERS_S = 2


class BoundedProtocol(H11Protocol):
    """HTTP of clients that may be slow on purpose: who neither asks nor reads in time is let go."""

    _patience: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came; while it is no whole head, the time goes on that began with its first byte."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._cancel_head_timer()
        elif self._patience is None:
            self._wait()

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        self._unread = self.loop.call_later(_UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on, as the client reads."""
        self._cancel_unread_timer()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Let go of who was answered before all of the request had come: the rest could come for ever."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._cancel_head_timer()
        self._cancel_unread_timer()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._patience = self.loop.call_later(_HEAD_S, self.transport.close)

    def _cancel_head_timer(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _cancel_unread_timer(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


class Server(uvicorn.Server):
    """Uvicorn that tells when it is told to end, so that streams end by themselves."""

    def __init__(self, app: ASGIApp, ending: Callable[[], None]) -> None:
        bounds: dict[str, Any] = {
            "http": BoundedProtocol,
            "ws": "none",
            "lifespan": "on",
            "server_header": False,
            "date_header": False,
            # Addresses may hold what others should not see.
            "log_config": None,
            "access_log": False,
            # What a proxy says of its clients is not believed: hosts and origins are checked as they come.
            "proxy_headers": False,
            "h11_max_incomplete_event_size": _HEAD_BYTES,
            "limit_concurrency": _MOST_CONNECTIONS,
            "timeout_keep_alive": _KEEP_ALIVE_S,
            "timeout_graceful_shutdown": _LAST_ANSWERS_S,
        }
        super().__init__(uvicorn.Config(app, **bounds))
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        self._ending = ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take Ctrl-C: end the streams and then the server, which is no failure."""
        self.stop()

    def stop(self) -> None:
        """End, in the loop's own thread; it takes two seconds at most, so asking again hastens nothing."""
        self._ending()
        self.should_exit = True


def listen(host: str, port: int | None, usual: int) -> socket.socket:
    """Return a socket that listens; without a port the usual one, or another where that is taken."""
    try:
        return _bind_socket(host, usual if port is None else port)
    except OSError as error:
        if port is None:
            return listen(host, 0, usual)
        raise UsageError(
            Problem(
                "WEB-003",
                f"nothing can listen on {host}, port {port}: {error.strerror or error}",
                "choose another --host or --port; without --port a free one is taken",
            )
        ) from error


def _bind_socket(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener
