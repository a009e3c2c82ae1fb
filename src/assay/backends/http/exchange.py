"""Types of one HTTP call: its reply, the consumer of its bytes, its time limits and its errors.

Separate from the client, so that no network code is loaded before a call is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol


class HttpTrouble(Exception):
    """A call that got no complete reply."""


class ServerUnreachable(HttpTrouble):
    """No connection could be opened."""


class ConnectionBroken(HttpTrouble):
    """The connection ended before the reply did, or the reply is not HTTP."""


class ReplyTimeout(HttpTrouble):
    """The reply was not complete within its time limit."""


class ReplyStalled(HttpTrouble):
    """A reply had begun, and then no data arrived for too long."""


class HttpReply(NamedTuple):
    """A reply."""

    status: int
    headers: Mapping[str, str]
    """By lowercase name; if a name occurs several times, the last value."""
    content: bytes
    """Empty if a consumer took the pieces as they arrived."""
    ended: float
    """When its last byte was read (`time.perf_counter`)."""


ChunkConsumer = Callable[[bytes, float], None]
"""Takes the next bytes of a reply, and when they were read (`time.perf_counter`). An exception that it raises
ends the call and closes the connection."""


class OnHead(Protocol):
    """Chooses the consumer of a reply's bytes by its status and headers; None: collect them."""

    def __call__(self, status: int, headers: Mapping[str, str]) -> ChunkConsumer | None:
        """Return the consumer."""


class TimeLimits(NamedTuple):
    """Time limits of a call."""

    total_s: float
    idle_s: float | None = None
    """Between two pieces of a reply that has begun."""
