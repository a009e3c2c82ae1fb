"""The steady window: the part of a load with the intended number of concurrent calls.

A load ramps up from zero and down to zero; these phases say little about a server under load.
"""

from __future__ import annotations

import math

import msgspec

from assay.bench.concurrent_requests import ConcurrencyCurve

TOLERANCE = 0.05
"""The fraction of the level that may be missing."""
_SHARE_AT_LEVEL = 0.5
_DRIFT = 1.2


class SteadyWindow(msgspec.Struct, frozen=True):
    """Start and end of the steady window, in seconds on the clock of the calls."""

    start: float
    end: float
    level: int
    """The number of concurrent calls of a steady load."""
    at_least: int
    """The window starts when this many calls are concurrent for the first time; it ends after the last."""

    @property
    def seconds(self) -> float:
        """Return its duration."""
        return self.end - self.start


class NoSteadyWindow(msgspec.Struct, frozen=True):
    """Why there is no steady window."""

    reason: str


def find_steady_window(
    under_way: ConcurrencyCurve, *, level: int | None = None
) -> SteadyWindow | NoSteadyWindow:
    """Find the steady window of a load.

    `level` is the intended number of concurrent calls. Without one (calls sent by a schedule) it is
    the median over the time in which calls were sent. The window then ends with that time, and from its first
    third to its last the number must not have risen or fallen by more than chance would have it.
    """
    if not under_way.n_calls:
        return NoSteadyWindow("no request finished")
    if under_way.end == under_way.start:
        return NoSteadyWindow("the requests took no time")
    if level is not None:
        return _find_window_at_level(under_way, level, under_way.end)
    last_sent = under_way.last_began
    if last_sent == under_way.start:
        return NoSteadyWindow("all requests were sent at the same time")
    level = under_way.median(under_way.start, last_sent)
    if level < 1:
        return NoSteadyWindow("no request was in progress for more than half of the time")
    window = _find_window_at_level(under_way, level, last_sent)
    return window if isinstance(window, NoSteadyWindow) else _reject_drift(window, under_way)


def _find_window_at_level(
    under_way: ConcurrencyCurve, level: int, no_later_than: float
) -> SteadyWindow | NoSteadyWindow:
    at_least = max(1, math.ceil(level * (1 - TOLERANCE)))
    is_early = under_way.times < no_later_than
    (reached,) = ((under_way.levels >= at_least) & is_early).nonzero()
    if not len(reached):
        peak = under_way.peak(under_way.start, under_way.end)
        return NoSteadyWindow(
            f"the peak was {peak:,} concurrent requests; a steady load has at least {at_least:,} of {level:,}"
        )
    start, end = (float(under_way.times[at]) for at in (reached[0], reached[-1] + 1))
    window = SteadyWindow(start, min(end, no_later_than), level, at_least)
    share = under_way.share(at_least, window.start, window.end)
    if share < _SHARE_AT_LEVEL:
        return NoSteadyWindow(
            f"{at_least:,} or more requests were concurrent for only {100 * share:.0f} % of the time between "
            "the first and the last time this number was reached"
        )
    return window


def _reject_drift(window: SteadyWindow, under_way: ConcurrencyCurve) -> SteadyWindow | NoSteadyWindow:
    third = window.seconds / 3
    first = under_way.mean(window.start, window.start + third)
    last = under_way.mean(window.end - third, window.end)
    # For random arrivals, the number of concurrent calls has a variance equal to its level, and samples
    # are independent if they are the duration of a call apart.
    call_s = (
        under_way.mean(under_way.start, under_way.end) * (under_way.end - under_way.start) / under_way.n_calls
    )
    variance = window.level * min(1.0, 2 * call_s / third)
    by_chance = 3 * math.sqrt(2 * variance)
    if abs(last - first) > by_chance and max(first, last) > _DRIFT * min(first, last):
        moved = "rising" if last > first else "falling"
        return NoSteadyWindow(
            f"the number of concurrent requests kept {moved}: {first:.1f} in the first third of the time, "
            f"{last:.1f} in the last"
        )
    return window
