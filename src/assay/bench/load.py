"""The specification of a load: its shape, size and duration. `drive.py` runs it."""

from __future__ import annotations

import math

import msgspec

from assay.bench.arrivals import Arrivals, TraceArrivals
from assay.core.errors import Problem, UsageError
from assay.core.request import Sampling


class ClosedLoad(msgspec.Struct, frozen=True, omit_defaults=True, tag="closed"):
    """A number of clients, each of which sends its next item after the response to its last one."""

    concurrency: int
    starts_per_s: float | None = None
    """Clients started per second. None: all at once."""
    at_most_per_s: float | None = None
    """Maximum calls per second of all clients together, evenly spaced; unused slots are lost."""
    least_seconds: float = 0.0
    """Minimum duration, even if the number of items is reached earlier."""

    def __post_init__(self) -> None:
        _require(self.concurrency >= 1, "the concurrency", self.concurrency, "a number of clients, 1 or more")
        _require_positive("the client starts per second", self.starts_per_s)
        _require_positive("the maximum rate", self.at_most_per_s)


class OpenLoad(msgspec.Struct, frozen=True, omit_defaults=True, tag="open"):
    """Items that are sent when they are due, regardless of the concurrency."""

    arrivals: Arrivals | TraceArrivals
    at_most_under_way: int | None = None
    """Maximum concurrent items; items that are due meanwhile are sent late and counted in `n_held`."""

    def __post_init__(self) -> None:
        n = self.at_most_under_way
        _require(n is None or n >= 1, "the maximum number of concurrent items", n or 0, "1 or more")


class Load(msgspec.Struct, frozen=True, omit_defaults=True):
    """One load."""

    shape: ClosedLoad | OpenLoad
    sampling: Sampling = Sampling()
    """Sampling settings; the maximum length of an item takes precedence."""
    n: int | None = None
    """Maximum number of items. None: all."""
    seconds: float | None = None
    """No call is sent after this time; running calls may finish."""
    grace_s: float | None = None
    """How long they may take; then they are cancelled and counted. None: no limit."""
    goes_round: bool = False
    """Whether the items are repeated after the last one."""
    think_s: float = 0.0
    """Seconds between a response and the next turn."""

    def __post_init__(self) -> None:
        _require(self.n is None or self.n >= 1, "the number of requests", self.n or 0, "1 or more")
        _require_positive("the duration of the load in seconds", self.seconds)
        _require(
            math.isfinite(self.think_s) and self.think_s >= 0, "the think time", self.think_s, "0 or more"
        )
        _require(
            self.grace_s is None or self.grace_s >= 0, "the grace period", self.grace_s or 0, "0 or more"
        )
        temperature = self.sampling.temperature
        _require(math.isfinite(temperature) and temperature >= 0, "the temperature", temperature, "0 or more")
        _require(self.sampling.n == 1, "the number of responses per request", self.sampling.n, "1")
        if (
            self.goes_round
            and isinstance(self.shape, OpenLoad)
            and isinstance(self.shape.arrivals, TraceArrivals)
        ):
            raise UsageError(
                Problem(
                    "LOAD-002",
                    "a trace cannot be repeated, because it is finite",
                    "set a rate, or fewer requests",
                )
            )
        if self.goes_round and self.n is None and self.seconds is None:
            raise UsageError(
                Problem(
                    "LOAD-002",
                    "a load that repeats its items has no end",
                    "set --requests, or a duration in seconds",
                )
            )
        if self.n is None and isinstance(self.shape, OpenLoad) and isinstance(self.shape.arrivals, Arrivals):
            self.shape.arrivals.moments()  # Raises now if the schedule needs the number of items.

    @property
    def n_expected(self) -> int | None:
        """Return the approximate number of items; None if it depends on the server."""
        if self.n is not None or self.seconds is None or not isinstance(self.shape, OpenLoad):
            return self.n
        if isinstance(self.shape.arrivals, TraceArrivals):
            return None
        return math.ceil(self.shape.arrivals.highest_rate * self.seconds)


def _require_positive(what: str, seen: float | None) -> None:
    _require(seen is None or (math.isfinite(seen) and seen > 0), what, seen or 0, "above 0")


def _require(holds: bool, what: str, seen: float, expected: str) -> None:
    if not holds:
        raise UsageError(Problem("LOAD-001", f"{what} is {seen:g}; expected {expected}", "correct the value"))
