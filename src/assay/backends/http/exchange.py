"""One call over HTTP: what comes back, who takes it, how long it may take, what goes wrong.

Apart from the client that makes it, so that nothing of the network is loaded before a server is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol


class HttpTrouble(Exception):
    """A call that brought no whole reply."""


class ServerUnreachable(HttpTrouble):
    """No connection could be made."""


class ConnectionBroken(HttpTrouble):
    """The connection ended before the reply did, or what came over it is no HTTP."""


class ReplyTimeout(HttpTrouble):
    """The reply was not whole when the time for it was over."""


class ReplyStalled(HttpTrouble):
    """A reply had begun, and then nothing came for too long."""


class HttpReply(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """By their names in small letters; of several with one name the last."""
    content: bytes
    """Empty where the pieces were taken as they came."""
    ended: float
    """When its last byte was read, as `time.perf_counter` tells it."""


ChunkConsumer = Callable[[bytes, float], None]
"""Takes the next bytes of a reply, and when they were read (`time.perf_counter`). What it raises ends the
call, and the connection with it."""


class OnHead(Protocol):
    """Decides, once status and headers are there, who takes the reply's bytes; None: they are gathered."""

    def __call__(self, status: int, headers: Mapping[str, str]) -> ChunkConsumer | None:
        """Return who takes the bytes."""


class TimeLimits(NamedTuple):
    """How long a call may take."""

    total_s: float
    idle_s: float | None = None
    """Between two pieces of a reply that has begun."""
