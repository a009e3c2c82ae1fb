"""What the token server really sent, and when: one JSON line for each request, written once it has ended.

Moments are `time.perf_counter` of the server's process. On Linux that is the machine's monotonic clock, so
they can be subtracted from those of a client on the same machine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

MICRO = 1e6


class Sent(NamedTuple):
    """One request, as the server saw it."""

    number: int
    """In the order of arrival, from 1."""
    name: str
    """What the client called it in the header `x-request-id`; empty when it did not."""
    connected: float
    """When its connection was accepted; long before `arrived` where the connection was used again."""
    arrived: float
    """When the whole request was there."""
    planned: tuple[float, ...]
    """When each token was due."""
    sent: tuple[float, ...]
    """When each token was handed to the kernel. Shorter than `planned` when the client left."""
    is_stream: bool = True

    @property
    def is_whole(self) -> bool:
        """Return whether every token was sent."""
        return len(self.sent) == len(self.planned)

    @property
    def worst_lag(self) -> float:
        """Return how late the latest token was, in seconds; a whole reply is due with its last token."""
        if not self.is_stream:
            return self.sent[-1] - self.planned[-1] if self.sent else 0.0
        return max((sent - due for due, sent in zip(self.planned, self.sent, strict=False)), default=0.0)


def line_of(one: Sent) -> str:
    """Return one request as a line; moments of tokens are microseconds after the arrival."""
    return json.dumps(
        {
            "number": one.number,
            "name": one.name,
            "connected": one.connected,
            "arrived": one.arrived,
            "stream": one.is_stream,
            "planned_us": _after(one.arrived, one.planned),
            "sent_us": _after(one.arrived, one.sent),
        },
        separators=(",", ":"),
    )


def read_log(path: Path) -> list[Sent]:
    """Return all requests of a log, in the order in which they ended."""
    return [read_line(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_line(line: str) -> Sent:
    """Return the request that a line tells of."""
    told = json.loads(line)
    arrived = told["arrived"]
    planned, sent = (tuple(arrived + us / MICRO for us in told[key]) for key in ("planned_us", "sent_us"))
    return Sent(told["number"], told["name"], told["connected"], arrived, planned, sent, told["stream"])


def _after(arrived: float, moments: Sequence[float]) -> list[int]:
    return [round((moment - arrived) * MICRO) for moment in moments]
