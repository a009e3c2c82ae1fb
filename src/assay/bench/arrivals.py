"""Schedules of open loads: rates, bursts, ramps and traces, in seconds from the start of the load.

Pure arithmetic on a seed. The first call is due at 0. Every schedule starts from one sequence of gaps whose
mean is 1: all ones, or drawn from a gamma distribution. A rate scales the sequence. A ramp over time distorts
it so that the expected number of calls up to any time is the area below the ramp. A ramp over the
calls divides each gap by the rate of its call.

This module uses neither clocks nor servers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.bench.items import LoadItem
from assay.core.errors import AuthorError, Problem, UsageError
from assay.core.ids import rank

Moments: TypeAlias = NDArray[np.float64]

_AT_A_TIME = 4096
"""Gaps drawn at a time if the number of calls is not known."""


class Ramp(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rate that changes from one value to another and stays there."""

    start: float
    """Calls per second at the start."""
    end: float
    form: Literal["linear", "exponential"] = "linear"
    seconds: float | None = None
    """Duration. None: over all calls; call i of n has the rate at fraction i / (n - 1) of the ramp."""

    def __post_init__(self) -> None:
        # A ramp over the calls that starts at 0 would wait forever; an exponential ramp would stay at 0.
        may_be_zero = self.form == "linear" and self.seconds is not None
        least = "0 or more" if may_be_zero else "above 0"
        if not (math.isfinite(self.start) and (self.start > 0 or (may_be_zero and self.start == 0))):
            raise _build_value_error("the ramp's start", self.start, f"requests per second, {least}")
        if not (math.isfinite(self.end) and self.end > 0):
            raise _build_value_error("the ramp's end", self.end, "requests per second, above 0")
        if self.seconds is not None and not (math.isfinite(self.seconds) and self.seconds > 0):
            raise _build_value_error("the ramp's duration", self.seconds, "seconds, above 0")

    def rates(self, n: int) -> Moments:
        """Return the rate of each of n calls, for a ramp over the calls."""
        along = np.arange(n) / max(n - 1, 1)
        if self.form == "linear":
            return self.start + (self.end - self.start) * along
        return np.asarray(self.start * (self.end / self.start) ** along, dtype=np.float64)

    def moments(self, areas: Moments) -> Moments:
        """Return when the area below a ramp over time reaches each of these numbers of calls."""
        assert self.seconds is not None
        if self.start == self.end:
            return areas / self.end
        if self.form == "linear":
            slope = (self.end - self.start) / self.seconds
            whole = (self.start + self.end) / 2 * self.seconds
            # The root of start * t + slope * t^2 / 2 = area, without loss of digits for a small slope.
            below = np.sqrt(np.maximum(self.start**2 + 2 * slope * areas, 0.0)) + self.start
            inside = np.divide(2 * areas, below, out=np.zeros_like(areas), where=below > 0)
        else:
            growth = math.log(self.end / self.start) / self.seconds
            whole = (self.end - self.start) / growth
            # Beyond the end of a falling ramp there may be no such time; `np.where` ignores it.
            inside = np.log1p(np.maximum(areas * growth / self.start, -1 + 1e-12)) / growth
        return np.where(areas < whole, inside, self.seconds + (areas - whole) / self.end)


class Arrivals(msgspec.Struct, frozen=True, omit_defaults=True, tag="arrivals"):
    """Calls that arrive at a rate or along a ramp."""

    rate: float | None = None
    """Calls per second; None with a ramp."""
    ramp: Ramp | None = None
    burstiness: float = 0.0
    """Shape of the gamma distribution of the gaps: 1 is a Poisson process, below 1 is bursty, above 1
    is more even. 0 and infinity are even gaps."""
    seed: int = 0
    is_rescaled: bool = False
    """As in AISBench: there is a gap before the first call as well, and without a ramp all times are scaled
    so that the last of n calls is due at n / rate exactly."""

    def __post_init__(self) -> None:
        if (self.rate is None) == (self.ramp is None):
            raise UsageError(
                Problem(
                    "LOAD-001",
                    "an open load needs either a rate or a ramp; found both or neither",
                    "set --rate, or the start and end of the ramp",
                )
            )
        if self.rate is not None and not (math.isfinite(self.rate) and self.rate > 0):
            raise _build_value_error("the rate", self.rate, "requests per second, above 0")
        if math.isnan(self.burstiness) or self.burstiness < 0:
            raise _build_value_error(
                "the burstiness", self.burstiness, "0 for even gaps, 1 for Poisson, or a shape above 0"
            )
        if math.isinf(self.burstiness):
            # One representation of even gaps, and one that JSON supports.
            msgspec.structs.force_setattr(self, "burstiness", 0.0)

    @property
    def needs_n(self) -> bool:
        """Whether the schedule depends on the number of calls."""
        return self.is_rescaled or (self.ramp is not None and self.ramp.seconds is None)

    @property
    def highest_rate(self) -> float:
        """Return the highest expected number of calls per second."""
        if self.ramp is not None:
            return max(self.ramp.start, self.ramp.end)
        assert self.rate is not None
        return self.rate

    def moments(self, n: int | None = None) -> Iterator[float]:
        """Return when each of n calls is due; None: endless."""
        if not self.needs_n:
            return islice(self._iter_moments(), n)
        if n is None:
            raise UsageError(
                Problem(
                    "LOAD-002",
                    "the ramp spans all requests, but their number is not known",
                    "set --requests, or the duration of the ramp in seconds",
                )
            )
        return iter(self._compute_moments(n).tolist())

    def _compute_moments(self, n: int) -> Moments:
        gaps = next(self._gaps(n)) if n else np.empty(0)
        if self.ramp is not None and self.ramp.seconds is None:
            reached = np.cumsum(gaps / self.ramp.rates(n))
        else:
            reached = self._at(np.cumsum(gaps))
        if not self.is_rescaled:
            return reached - reached[:1]
        if self.rate is None:
            return reached
        # Gaps of a very small shape may all be 0.
        return reached * (n / self.rate / np.maximum(reached[-1:], np.finfo(np.float64).tiny))

    def _iter_moments(self) -> Iterator[float]:
        before = first = 0.0
        for number, gaps in enumerate(self._gaps(_AT_A_TIME)):
            reached = before + np.cumsum(gaps)
            before = float(reached[-1])
            first = first if number else float(reached[0])
            yield from self._at(reached - first).tolist()

    def _at(self, areas: Moments) -> Moments:
        """Return when these numbers of calls are due, at the rate or along the ramp over time."""
        if self.ramp is not None:
            return self.ramp.moments(areas)
        assert self.rate is not None
        return areas / self.rate

    def _gaps(self, at_a_time: int) -> Iterator[Moments]:
        """Yield the endless sequence of gaps with mean 1."""
        generator = np.random.default_rng(rank(self.seed, "arrivals"))
        while True:
            if self.burstiness == 0:
                yield np.ones(at_a_time)
            else:
                yield generator.gamma(self.burstiness, 1 / self.burstiness, at_a_time)


class TraceArrivals(msgspec.Struct, frozen=True, omit_defaults=True, tag="trace"):
    """Calls that arrive at the times of a trace."""

    speed: float = 1.0
    """Seconds of the trace per second of the load."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.speed) and self.speed > 0):
            raise _build_value_error("the trace's speed", self.speed, "a number above 0; 2 is twice as fast")

    def moment(self, item: LoadItem, before: float) -> float:
        """Return when an item is due, after one that was due at `before`."""
        due = None if item.at_s is None else item.at_s / self.speed
        if due is None or not math.isfinite(due) or due < before:
            seen = (
                "no timestamp"
                if due is None
                else f"timestamp {item.at_s:g} s, before that of the previous item"
            )
            raise AuthorError(
                Problem(
                    "LOAD-003",
                    f"item {item.id!r} of the trace has {seen}; expected ascending timestamps",
                    "sort the trace by timestamp, or set a rate instead",
                )
            )
        return due


def _build_value_error(what: str, seen: float, expected: str) -> UsageError:
    return UsageError(Problem("LOAD-001", f"{what} is {seen:g}; expected {expected}", "correct the value"))
