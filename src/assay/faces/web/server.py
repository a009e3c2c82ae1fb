"""The HTTP server: one process, limits against slow clients, and a clean shutdown."""

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
"""Maximum time for a client to send the head of a request."""
_UNREAD_S = 60.0
"""Maximum time for a client to leave a response unread."""
_KEEP_ALIVE_S = 15
_MOST_CONNECTIONS = 1000
_LAST_ANSWERS_S = 2


class BoundedProtocol(H11Protocol):
    """HTTP with timeouts against slow clients: it closes connections that do not send or read in time."""

    _patience: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Process data; until the head is complete, the timer of its first byte continues."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._cancel_head_timer()
        elif self._patience is None:
            self._wait()

    def pause_writing(self) -> None:
        """Start the timer for the client to read."""
        super().pause_writing()
        self._unread = self.loop.call_later(_UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer: the client reads again."""
        self._cancel_unread_timer()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Close the connection if the response was sent before the whole request arrived."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
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
    """Uvicorn with a callback at shutdown, so that streams can end."""

    def __init__(self, app: ASGIApp, ending: Callable[[], None]) -> None:
        bounds: dict[str, Any] = {
            "http": BoundedProtocol,
            "ws": "none",
            "lifespan": "on",
            "server_header": False,
            "date_header": False,
            # Addresses may contain secrets.
            "log_config": None,
            "access_log": False,
            # Do not trust headers of proxies: hosts and origins are checked as they arrive.
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
        """Handle Ctrl-C: end the streams and then the server, which is not a failure."""
        self.stop()

    def stop(self) -> None:
        """Stop the server within two seconds; call it in the thread of the event loop."""
        self._ending()
        self.should_exit = True


def listen(host: str, port: int | None, usual: int) -> socket.socket:
    """Return a listening socket; without a port, use the usual one, or a free one if that is taken."""
    try:
        return _bind_socket(host, usual if port is None else port)
    except OSError as error:
        if port is None:
            return listen(host, 0, usual)
        raise UsageError(
            Problem(
                "WEB-003",
                f"cannot listen on {host}, port {port}: {error.strerror or error}",
                "choose another --host or --port, or omit --port to use a free one",
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
